"""tensor_copy_predicated, select_reduce and range_select against the scalar tier, and their rules."""

from itertools import product

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.trainium3 import range_select, select_reduce, tensor_copy_predicated
from bitpath.golden.trainium3.declarations.dtypes import FORMATS
from bitpath.golden.trainium3.declarations.engines import RANGE_SELECT_COMPARISONS
from bitpath.golden.trainium3.exact import copy_row_predicated, select_range, select_row
from bitpath.golden.trainium3.exact.conversions import from_fp32, to_fp32
from bitpath.verif.trainium3.engines.codes import bits, destination, draw, tile

NAMES = tuple(FORMATS)
FLAT = [name for name in NAMES if name != "tf32"]
NARROW = [name for name in FLAT if name not in ("int32", "uint32")]
FLOATS = [name for name in FLAT if "int" not in name]
SHAPE = (6, 9)
LOWEST = -3.4028234663852886e38
BF16 = ml_dtypes.bfloat16


def predicate_of(rng, name):
    """Half zeros, and among the others one of only the upper bits."""
    return np.where(rng.random(SHAPE) < 0.5, 0, draw(rng, name, SHAPE))


@pytest.mark.parametrize("kind", ["uint8", "uint16", "uint32"])
@pytest.mark.parametrize("name", FLAT)
def test_tensor_copy_predicated(name, kind):
    rng = np.random.default_rng([FLAT.index(name), len(kind)])
    old, new, number = draw(rng, name, SHAPE), draw(rng, name, SHAPE), int(draw(rng, "fp32", ()))
    predicate, code = predicate_of(rng, kind), from_fp32(number, name)
    for reverse in (False, True):
        tiles = tile(name, old), tile(name, new), tile(kind, predicate)
        got = tensor_copy_predicated(*tiles, reverse_pred=reverse)
        filled = tensor_copy_predicated(tiles[0], tile("fp32", number)[()], tiles[2], reverse_pred=reverse)
        assert got.dtype == filled.dtype == tiles[0].dtype
        assert bits(tiles[0]) == old.tolist()
        for p in range(SHAPE[0]):
            row, holds = old[p].tolist(), predicate[p].tolist()
            assert bits(got)[p] == copy_row_predicated(row, new[p].tolist(), holds, reverse_pred=reverse)
            assert bits(filled)[p] == copy_row_predicated(row, [code] * 9, holds, reverse_pred=reverse)


def test_a_predicated_copy_moves_bits():
    """The payload of a NaN stays, and a number is rounded to FP32 first."""
    nan = np.array([[0x7F800001, 0x7F800002]], np.uint32).view(np.float32)
    yes = np.array([[1, 0]], np.uint8)
    assert bits(tensor_copy_predicated(nan[:, ::-1], nan, yes)) == [[0x7F800001, 0x7F800001]]
    words = np.zeros((1, 2), np.int32)
    assert tensor_copy_predicated(words, (1 << 24) + 1, yes).tolist() == [[1 << 24, 0]]
    assert tensor_copy_predicated(words, 2.5, yes, reverse_pred=True).tolist() == [[0, 2]]


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16"])
@pytest.mark.parametrize("name", NARROW)
def test_select_reduce(name, kind):
    rng = np.random.default_rng([NARROW.index(name), len(kind), "u" in kind])
    result, other = NAMES[int(rng.integers(13))], FLAT[int(rng.integers(12))]
    data, scalars, registers = draw(rng, name, SHAPE), draw(rng, other, (6, 1)), draw(rng, "fp32", (6,))
    predicate = predicate_of(rng, kind)
    for command, reverse in product(("idle", "reset_reduce", "reduce"), (False, True)):
        given = {"accumulators": tile("fp32", registers)} if command == "reduce" else {}
        got, most = select_reduce(
            tile(kind, predicate), tile(name, data), tile(other, scalars),
            reverse_pred=reverse, reduce_cmd=command, dtype=destination(result), **given,
        )  # fmt: skip
        for p, row in enumerate(data.tolist()):
            start = {"register": int(registers[p])} if given else {}
            codes, register = select_row(
                predicate[p].tolist(),
                row,
                name,
                to_fp32(int(scalars[p, 0]), other),
                reverse_pred=reverse,
                destination=result,
                **start,
            )
            assert bits(got)[p] == codes
            assert most is None if command == "idle" else bits(most)[p] == [register]


@pytest.mark.parametrize("comparisons", list(product(RANGE_SELECT_COMPARISONS, RANGE_SELECT_COMPARISONS)), ids="-".join)
def test_range_select(comparisons):
    places = [RANGE_SELECT_COMPARISONS.index(op) for op in comparisons]
    rng = np.random.default_rng(places)
    name, result = FLOATS[sum(places) % len(FLOATS)], NAMES[(places[0] * 5 + places[1]) % 13]
    first = int(rng.integers(-4, 5))
    data, registers = draw(rng, name, SHAPE), draw(rng, "fp32", (6,))
    bounds = rng.integers(first - 1, first + 10, (2, 6, 1)).astype(np.float32) + np.float32([[[0]] * 5 + [[0.5]]])
    bounds[0, 0], bounds[1, 1] = np.nan, np.inf
    for command in ("idle", "reset_reduce", "reduce"):
        given = {"accumulators": tile("fp32", registers)} if command == "reduce" else {}
        got, most = range_select(
            tile(name, data), *comparisons, *bounds,
            range_start=first, reduce_cmd=command, dtype=destination(result), **given,
        )  # fmt: skip
        for p, row in enumerate(data.tolist()):
            ends = tuple(bits(bounds)[side][p][0] for side in range(2))
            start = {"register": int(registers[p])} if given else {}
            codes, register = select_range(row, name, comparisons, ends, range_start=first, destination=result, **start)
            assert bits(got)[p] == codes
            assert most is None if command == "idle" else bits(most)[p] == [register]


def test_a_causal_mask():
    """Elements up to the row's own index; the lowest number is -infinity in BF16, and the maximum stays FP32."""
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    zero, row = np.zeros((4, 1), np.float32), np.arange(4, dtype=np.float32)[:, np.newaxis]
    got, most = range_select(x, "greater_equal", "less_equal", zero, row)
    assert got.tolist() == np.where(np.tri(4, dtype=bool), x, LOWEST).tolist()
    assert most.tolist() == np.diag(x)[:, np.newaxis].tolist()
    none, most = range_select(x, "less", "less", zero, zero, dtype=BF16)
    assert (none == -np.inf).all()
    assert (most == LOWEST).all()


def test_indices_are_exact():
    """The last index below 2**24, and the first one above -2**24."""
    x, last = np.ones((1, 3), np.float32), np.full((1, 1), 2.0**24 - 1, np.float32)
    assert range_select(x, "equal", "equal", last, last, range_start=2**24 - 3)[0].tolist() == [[LOWEST, LOWEST, 1]]
    assert range_select(x, "equal", "equal", -last, -last, range_start=1 - 2**24)[0].tolist() == [[1, LOWEST, LOWEST]]


X, Y = np.ones((4, 3), np.float32), np.ones((4, 3), np.uint8)
B = np.ones((4, 1), np.float32)
BAD = [
    (lambda: tensor_copy_predicated(X, X.astype(BF16), Y), TypeError, "src must be float32, not bfloat16"),
    (lambda: tensor_copy_predicated(X, X[:, :2], Y), ValueError, r"src must have dst's shape \(4, 3\), not \(4, 2\)"),
    (lambda: tensor_copy_predicated(X, X, Y[:, :2]), ValueError, r"predicate must have dst's shape \(4, 3\), not \(4, 2\)"),
    (lambda: tensor_copy_predicated(X, X, X), TypeError, "predicate must be uint8, uint16 or uint32, not float32"),
    (lambda: tensor_copy_predicated(X, None, Y), TypeError, r"src must be a number, or an array \[P, F\], not None"),
    (lambda: tensor_copy_predicated(1.0, X, Y), TypeError, "dst must be a numpy array, not 1.0"),
    (lambda: tensor_copy_predicated(X, X, Y, reverse_pred=1), TypeError, "reverse_pred must be True or False, not 1"),
    (lambda: select_reduce(Y, X.astype(np.int32), 0.0), TypeError, "on_true must be float32, .* not int32"),
    (lambda: select_reduce(Y.astype(np.uint32), X, 0.0), TypeError, "predicate must be int8, uint8, int16 or uint16, not uint32"),
    (lambda: select_reduce(Y, X[:, :2], 0.0), ValueError, r"on_true must have predicate's shape \(4, 3\), not \(4, 2\)"),
    (lambda: select_reduce(Y, X, X), ValueError, r"on_false must have shape \(4, 1\) or a number, not \(4, 3\)"),
    (lambda: select_reduce(Y, X, 0.0, reduce_cmd="load_reduce"), ValueError, "reduce_cmd must be 'idle', 'reset_reduce' or 'reduce', not 'load_reduce'"),
    (lambda: select_reduce(Y, X, 0.0, accumulators=B), ValueError, "accumulators must be None with reduce_cmd 'idle', not a ndarray"),
    (lambda: range_select(Y, "less", "less", B, B), TypeError, "on_true_tile must be float32, .* or float8_e3m4, not uint8"),
    (lambda: range_select(X, "not_equal", "less", B, B), ValueError, "comp_op0 must be 'equal', 'less', 'less_equal', 'greater' or 'greater_equal', not 'not_equal'"),
    (lambda: range_select(X, "less", "less", B, 1.0), TypeError, "bound1 must be a numpy array, not 1.0"),
    (lambda: range_select(X, "less", "less", B.astype(BF16), B), TypeError, "bound0 must be float32, not bfloat16"),
    (lambda: range_select(X, "less", "less", B[:2], B), ValueError, r"bound0 must have shape \(4, 1\), not \(2, 1\)"),
    (lambda: range_select(X, "less", "less", B, B, range_start=2**24 - 2), ValueError, "range_start must be -16777215 to 16777213, not 16777214"),
    (lambda: range_select(X, "less", "less", B, B, on_false_value=-np.inf), ValueError, r"on_false_value must be -3.4028235e\+38, FP32's lowest number, not -inf"),
    (lambda: range_select(X, "less", "less", B, B, on_false_value=None), TypeError, "on_false_value must be a number, not None"),
    (lambda: copy_row_predicated([1], [1, 2], [1]), ValueError, "source must have 1 elements as row, not 2"),
    (lambda: copy_row_predicated([1], [1], [1, 2]), ValueError, "predicate must have 1 elements as row, not 2"),
    (lambda: select_row([1], [1, 2], "bf16", 0), ValueError, "predicate must have 2 elements as on_true, not 1"),
    (lambda: select_range([1], "bf16", ("less", "not_equal"), (0, 0)), ValueError, "comparisons must be 'equal',"),
    (lambda: select_range([1], "bf16", ("less", "less"), (0, 0), range_start=2**24), ValueError, "range_start must be -16777215 to 16777215, not 16777216"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "sentence"), BAD)
def test_arguments(call, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        call()
