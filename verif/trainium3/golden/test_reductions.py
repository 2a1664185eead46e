"""VectorE along the rows: reductions, scans, statistics, selections and max8, against the scalar tier."""

from fractions import Fraction
from itertools import product

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.codec import decode
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3 import (
    activation_reduce,
    bn_aggr,
    bn_stats,
    max8,
    nc_find_index8,
    nc_match_replace8,
    range_select,
    select_reduce,
    tensor_copy_predicated,
    tensor_reduce,
    tensor_scalar_cumulative,
    tensor_scalar_reduce,
    tensor_tensor_scan,
)
from bitpath.golden.trainium3.declarations.dtypes import FORMATS
from bitpath.golden.trainium3.declarations.engines import RANGE_SELECT_COMPARISONS
from bitpath.golden.trainium3.declarations.vector import SumOrder
from bitpath.golden.trainium3.exact import (
    bn_aggr_row,
    bn_stats_row,
    copy_row_predicated,
    cumulate_row,
    find_index8_row,
    match_replace8_row,
    max8_row,
    reduce_row,
    scan_row,
    select_range,
    select_row,
)
from bitpath.golden.trainium3.exact.conversions import from_fp32, to_fp32
from bitpath.golden.trainium3.exact.operators import IDENTITIES, OPERATORS, UNARY
from bitpath.golden.trainium3.exact.vector import CUMULATIVE_IDENTITIES
from bitpath.golden.trainium3.vector.engine import exact_sum, serial_sum
from bitpath.verif.trainium3.dtype_words import SPECIALS, bits, destination, draw, tile

# VectorE's reductions from the first element and onto its accumulators, against the scalar tier.


NAMES = tuple(FORMATS)
FLAT = [name for name in NAMES if name != "tf32"]
COMMANDS = ("reset_reduce", "reduce", "load_reduce")
NAN = 0x7FC00000


@pytest.mark.parametrize("name", FLAT)
@pytest.mark.parametrize("op", IDENTITIES)
def test_tensor_reduce(name, op):
    rng = np.random.default_rng([FLAT.index(name), list(IDENTITIES).index(op)])
    data, result = draw(rng, name, (6, 7)), NAMES[int(rng.integers(13))]
    for size, negate in ((7, False), (7, True), (1, False)):
        got = bits(tensor_reduce(tile(name, data[:, :size]), op, negate=negate, dtype=destination(result)))
        for p, row in enumerate(data[:, :size].tolist()):
            total = reduce_row([to_fp32(code, name) for code in row], op)
            total ^= (1 << 31) * (negate and total != NAN)
            assert got[p] == [from_fp32(total, result)]


def test_products_are_serial():
    """From the first element on: 2**100 squared is infinity, whatever comes after it."""
    row = np.array([[2.0**100, 2.0**100, 2.0**-100, 2.0**-100]], np.float32)
    assert tensor_reduce(row, "multiply").tolist() == [[np.inf]]
    assert tensor_reduce(row[:, [0, 2, 1, 3]], "multiply").tolist() == [[1]]
    values = np.random.default_rng(2).uniform(0.6, 1.5, (128, 512)).astype(np.float32)
    expected = values[:, 0]
    for column in values.T[1:]:
        expected = expected * column
    assert bits(tensor_reduce(values, "multiply")[:, 0]) == bits(expected)


@pytest.mark.parametrize(("op", "command"), list(product(IDENTITIES, COMMANDS)))
@pytest.mark.parametrize("op0", ["add", "subtract", "reciprocal", "relu"])
def test_tensor_scalar_reduce(op, command, op0):
    rng = np.random.default_rng([list(IDENTITIES).index(op), COMMANDS.index(command), len(op0)])
    name, result = FLAT[int(rng.integers(len(FLAT)))], NAMES[int(rng.integers(13))]
    data, scalars, registers = (draw(rng, each, (12, n)) for each, n in ((name, 5), ("fp32", 1), ("fp32", 1)))
    start = tile("fp32", registers)
    arguments = {"reduce_cmd": command} | {
        "reduce": {"accumulators": start},
        "load_reduce": {"reduce_init": start},
    }.get(command, {})
    operand = None if op0 in UNARY else tile("fp32", scalars)
    arguments |= {"reduce_op": op, "dtype": destination(result)}
    got, total = tensor_scalar_reduce(tile(name, data), op0, operand, **arguments)
    _, negated = tensor_scalar_reduce(tile(name, data), op0, operand, **arguments, reduce_res_negate=True)
    assert total.shape == (12, 1)
    for p, row in enumerate(data.tolist()):
        scalar, register = int(scalars[p, 0]), int(registers[p, 0])
        values = [to_fp32(code, name) for code in row]
        values = [UNARY[op0](x) if op0 in UNARY else OPERATORS[op0](x, scalar) for x in values]
        expected = reduce_row(values, op, IDENTITIES[op] if command == "reset_reduce" else register)
        assert bits(got)[p] == [from_fp32(x, result) for x in values]
        assert bits(total)[p] == [expected]
        assert bits(negated)[p] == [NAN if expected == NAN else expected ^ 1 << 31]


def test_registers():
    """Two rows go onto one register, of either shape; a sum of -0 starts at +0 there, and not in tensor_reduce."""
    row = np.array([[2.0**24, 1.0, 1.0]], np.float32)
    whole = tensor_scalar_reduce(row, "multiply", 1.0, reduce_op="add")[1]
    total = tensor_scalar_reduce(row[:, :1], "multiply", 1.0, reduce_op="add")[1]
    for start in (total, total[:, 0]):
        parts = tensor_scalar_reduce(
            row[:, 1:], "multiply", 1.0, reduce_op="add", reduce_cmd="reduce", accumulators=start
        )
        assert parts[1].tolist() == whole.tolist() == [[2.0**24]]
    zeros = np.full((1, 3), -0.0, np.float32)
    assert bits(tensor_scalar_reduce(zeros, "multiply", 1.0, reduce_op="add")[1]) == [[0]]
    assert bits(tensor_reduce(zeros, "add")) == [[1 << 31]]
    number = tensor_scalar_reduce(row, "multiply", 1.0, reduce_op="max", reduce_cmd="load_reduce", reduce_init=2.0**30)
    assert number[1].tolist() == [[2.0**30]]


X = np.ones((4, 3), np.float32)
BAD = [
    ({"reduce_cmd": "idle"}, ValueError, "reduce_cmd must be 'reset_reduce', 'reduce' or 'load_reduce', not 'idle'"),
    ({"reduce_cmd": "reduce"}, ValueError, "accumulators must be given with reduce_cmd 'reduce', not None"),
    ({"reduce_cmd": "load_reduce"}, ValueError, "reduce_init must be given with reduce_cmd 'load_reduce', not None"),
    ({"accumulators": X[:, 0]}, ValueError, "accumulators must be None with reduce_cmd 'reset_reduce', not a ndarray"),
    ({"reduce_init": 1.0}, ValueError, "reduce_init must be None with reduce_cmd 'reset_reduce', not 1.0"),
    ({"reduce_cmd": "reduce", "accumulators": X}, ValueError, r"accumulators must have shape \(4,\) or \(4, 1\), not \(4, 3\)"),
    ({"reduce_op": "subtract"}, ValueError, "reduce_op must be 'add', 'multiply', 'max', 'min', 'abs_max' or 'abs_min', not 'subtract'"),
    ({"reduce_res_negate": 1}, TypeError, "reduce_res_negate must be True or False, not 1"),
]  # fmt: skip


def test_arguments_of_reductions(subtests):
    for changes, error, sentence in BAD:
        with subtests.test(sentence), pytest.raises(error, match=f"^{sentence}"):
            tensor_scalar_reduce(X, "abs", **{"reduce_op": "add"} | changes)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [(([], "add"), "row must have at least 1 element"), (([1], "subtract"), "op must be 'add', 'multiply',")],
)
def test_arguments_of_the_scalar_tier(arguments, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        reduce_row(*arguments)


# Sums along the free dimension: one element after the other, or exactly with one rounding.


CORNERS = (0, 1 << 31, 1, 0x80000001, 0x7FFFFF, 0x7F7FFFFF, 0xFF7FFFFF)
rows = st.lists(st.one_of(st.sampled_from(CORNERS), st.integers(0, 0x7F7FFFFF)), min_size=1, max_size=30)


@settings(max_examples=60, deadline=None)
@given(rows, st.booleans())
def test_exact_sum(row, cancel):
    row += [code ^ 1 << 31 for code in row[1:]] if cancel else []
    total = sum((decode(FP32, code).value for code in row), Fraction(0))
    negative_zero = all(code == 1 << 31 for code in row)
    got = exact_sum(np.array([row], np.uint32).view(np.float32))
    assert got.view(np.uint32)[0] == round_to_format(total, FP32, zero_sign=int(negative_zero))


def test_exact_sum_of_what_is_not_finite():
    big, inf, nan = 3e38, np.inf, np.nan
    values = np.array([[1, inf, 2], [inf, -inf, 0], [nan, 1, 1], [-inf, 1, 1], [big, big, -big]], np.float32)
    expected = [0x7F800000, NAN, NAN, 0xFF800000, np.float32(big).view(np.uint32)]
    assert exact_sum(values).view(np.uint32).tolist() == expected
    # A tie, and what breaks it lies below all that float64 holds beside it.
    for last, result in ((0.0, 1.0), (2.0**-140, 1 + 2.0**-23), (-(2.0**-140), 1.0)):
        assert exact_sum(np.array([[1, 2.0**-24, last]], np.float32))[0] == result
    halves = np.full((1, 16384), 2.0**-24, np.float32)
    halves[0, 0] = 1
    assert exact_sum(halves)[0] == np.float32(1 + 16383 * 2.0**-24)
    assert serial_sum(halves)[0] == 1  # each is half a unit of 1, and ties go to even


def test_serial_sum_is_serial():
    """numpy adds pairwise where it may; an accumulation may not. Long rows of every alignment, element after element."""
    rng = np.random.default_rng(5)
    for size in (1, 7, 8, 9, 127, 128, 129, 1000, 16384):
        values = (rng.standard_normal((9, size)) * 2.0 ** rng.integers(-8, 9, (9, size))).astype(np.float32)
        total = values[:, 0]
        for column in values.T[1:]:
            total = total + column
        assert np.array_equal(serial_sum(values), total)
        assert np.array_equal(serial_sum(np.asfortranarray(values)), total)
        if size == 16384:
            assert not np.array_equal(values.sum(axis=1), total)


def test_reductions_name_their_order():
    x = np.array([[1, *[2.0**-24] * 3]], np.float32)
    assert [tensor_reduce(x, "add", sum_order=each.value)[0, 0] for each in SumOrder] == [1, 1 + 2.0**-22]
    _, total = activation_reduce(x, "copy", sum_order="exact")
    assert total[0, 0] == 1 + 2.0**-22
    _, total = tensor_scalar_reduce(x, "multiply", 1.0, reduce_op="add", sum_order="exact")
    assert total[0, 0] == 1 + 2.0**-22


# tensor_tensor_scan and tensor_scalar_cumulative against the scalar tier, and their rules.


NARROW = [name for name in FLAT if name not in ("int32", "uint32")]
PLACES = list(OPERATORS)
BF16 = ml_dtypes.bfloat16


@pytest.mark.parametrize(("op0", "op1"), list(product(OPERATORS, OPERATORS)))
def test_tensor_tensor_scan(op0, op1):
    """Every pair of operators, in turn with every order of operands and other dtypes."""
    seed = PLACES.index(op0) * len(PLACES) + PLACES.index(op1)
    rng = np.random.default_rng(seed)
    for turn in range(2):
        names = FLAT[(seed + turn) % 12], FLAT[seed * 5 // 7 % 12]
        result, reverse = NAMES[(seed + 3 * turn) % 13], (bool(seed + turn & 1), bool(seed + turn & 2))
        first, second = (draw(rng, name, (6, 7)) for name in names)
        initial = draw(rng, "fp32", (6, 1))
        got = tensor_tensor_scan(
            tile(names[0], first), tile(names[1], second), tile("fp32", initial), op0, op1,
            reverse0=reverse[0], reverse1=reverse[1], dtype=destination(result),
        )  # fmt: skip
        for p, (x, y) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            assert bits(got)[p] == scan_row(
                x, names[0], y, names[1], (op0, op1), int(initial[p, 0]), reverse=reverse, destination=result
            )


def test_the_state_is_fp32():
    """The next element takes the state, not its cast: a running sum in BF16 does not stop at 256."""
    ones, zeros = np.ones((1, 512), BF16), np.zeros((1, 512), BF16)
    got = tensor_tensor_scan(ones, zeros, 0.0, "add", "add", dtype=BF16)
    assert got[0, -1] == 512
    assert tensor_scalar_cumulative(ones, "multiply", "add", 1.0, dtype=BF16)[0][0, -1] == 512


def test_a_recurrence():
    """s = 2 s + x, and both operands reversed."""
    twos, x = np.full((1, 4), 2, np.int8), np.array([[1, 2, 3, 4]], np.uint8)
    assert tensor_tensor_scan(twos, x, 1.0, "multiply", "add").tolist() == [[3, 8, 19, 42]]
    assert tensor_tensor_scan(twos, x, 1.0, "subtract", "subtract").tolist() == [[0, 0, -1, -1]]
    assert tensor_tensor_scan(twos, x, 1.0, "subtract", "subtract", reverse0=True).tolist() == [[-2, -6, -11, -17]]
    assert tensor_tensor_scan(twos, x, 1.0, "subtract", "subtract", reverse1=True).tolist() == [[0, 0, 1, 3]]


@pytest.mark.parametrize(("op0", "op1"), list(product(OPERATORS, CUMULATIVE_IDENTITIES)))
def test_tensor_scalar_cumulative(op0, op1):
    seed = PLACES.index(op0) * len(CUMULATIVE_IDENTITIES) + list(CUMULATIVE_IDENTITIES).index(op1)
    rng = np.random.default_rng(seed)
    name, result = NARROW[seed % 10], NARROW[seed * 3 // 10 % 10]
    data, immediate, registers = (draw(rng, each, (9, n)) for each, n in ((name, 7), ("fp32", 1), ("fp32", 1)))
    start = tile("fp32", registers)
    for command, options in (
        ("reset_reduce", {}),
        ("reduce", {"accumulators": start}),
        ("load_reduce", {"imm1": start}),
    ):
        got, after = tensor_scalar_cumulative(
            tile(name, data),
            op0,
            op1,
            tile("fp32", immediate),
            reduce_cmd=command,
            dtype=destination(result),
            **options,
        )
        for p, row in enumerate(data.tolist()):
            register = int(registers[p, 0]) if options else None
            expected = cumulate_row(row, name, (op0, op1), int(immediate[p, 0]), register=register, destination=result)
            assert (bits(got)[p], bits(after)[p][0]) == expected


def test_where_a_cumulation_starts():
    """subtract takes the register from the value; the last register is the reduction; the next row goes on from it."""
    x = np.array([[1, 10, 100, 1000]], np.int16)
    assert tensor_scalar_cumulative(x, "add", "subtract", 0.0)[0].tolist() == [[1, 9, 91, 909]]
    for op in ("add", "multiply", "max", "min"):
        got, last = tensor_scalar_cumulative(x, "subtract", op, 11.0)
        assert last.tolist() == tensor_reduce(x - np.int16(11), op).tolist() == got[:, -1:].tolist()
        left, register = tensor_scalar_cumulative(x[:, :2], "subtract", op, 11.0)
        right, _ = tensor_scalar_cumulative(x[:, 2:], "subtract", op, 11.0, reduce_cmd="reduce", accumulators=register)
        assert np.hstack([left, right]).tolist() == got.tolist()
    loaded, _ = tensor_scalar_cumulative(x, "add", "max", 0.0, 50.0, reduce_cmd="load_reduce")
    assert loaded.tolist() == [[50, 50, 100, 1000]]


BAD_SCANS = [
    (lambda: tensor_tensor_scan(X, X[:, :2], 0.0, "add", "add"), ValueError, r"data1 must have data0's shape \(4, 3\), not \(4, 2\)"),
    (lambda: tensor_tensor_scan(X, X, 0.0, "abs", "add"), ValueError, "op0 must be 'add', 'subtract',"),
    (lambda: tensor_tensor_scan(X, X, 0.0, "add", "bitwise_or"), ValueError, "op1 must be 'add', 'subtract',"),
    (lambda: tensor_tensor_scan(X, X, X, "add", "add"), ValueError, r"initial must have shape \(4, 1\) or a number, not \(4, 3\)"),
    (lambda: tensor_tensor_scan(X, X, None, "add", "add"), TypeError, r"initial must be a number, or an array \[P, 1\], not None"),
    (lambda: tensor_tensor_scan(X, X.astype(float), 0.0, "add", "add"), TypeError, "data1 must be float32,"),
    (lambda: tensor_tensor_scan(X, X, 0.0, "add", "add", dtype=np.int64), TypeError, "dtype must be float32,"),
    (lambda: tensor_scalar_cumulative(X, "add", "abs_max", 0.0), ValueError, "op1 must be 'add', 'multiply', 'max', 'min' or 'subtract', not 'abs_max'"),
    (lambda: tensor_scalar_cumulative(X, "abs", "add", 0.0), ValueError, "op0 must be 'add', 'subtract',"),
    (lambda: tensor_scalar_cumulative(X.astype(np.int32), "add", "add", 0.0), TypeError, "src must be float32, .*int16, uint8, uint16 or float8_e3m4, not int32"),
    (lambda: tensor_scalar_cumulative(X, "add", "add", 0.0, dtype="tf32"), TypeError, "dtype must be float32, .*, not 'tf32'"),
    (lambda: tensor_scalar_cumulative(X, "add", "add", None), TypeError, r"imm0 must be a number, or an array \[P, 1\], not None"),
    (lambda: tensor_scalar_cumulative(X, "add", "add", 0.0, 1.0), ValueError, "imm1 must be None with reduce_cmd 'reset_reduce', not 1.0"),
    (lambda: tensor_scalar_cumulative(X, "add", "add", 0.0, reduce_cmd="load_reduce"), ValueError, "imm1 must be given with reduce_cmd 'load_reduce', not None"),
    (lambda: tensor_scalar_cumulative(X, "add", "add", 0.0, reduce_cmd="idle"), ValueError, "reduce_cmd must be 'reset_reduce', 'reduce' or 'load_reduce', not 'idle'"),
    (lambda: scan_row([1], "bf16", [1, 2], "bf16", ("add", "add"), 0), ValueError, "second must have 1 elements as first, not 2"),
    (lambda: scan_row([1], "bf16", [1], "bf16", ("add", "abs"), 0), ValueError, "operators must be 'add',"),
    (lambda: cumulate_row([1], "bf16", ("add", "abs_max"), 0), ValueError, "operators must be 'add', 'subtract', 'multiply', 'max' or 'min', not 'abs_max'"),
    (lambda: cumulate_row([1], "bf16", ("abs", "add"), 0), ValueError, "operators must be 'add', 'subtract',"),
]  # fmt: skip


def test_arguments_of_scans(subtests):
    for call, error, sentence in BAD_SCANS:
        with subtests.test(sentence), pytest.raises(error, match=f"^{sentence}"):
            call()


# bn_stats and bn_aggr against the scalar tier, and against the moments that they approximate.


@pytest.mark.parametrize("size", [1, 2, 3, 6, 15])
@pytest.mark.parametrize("name", FLAT)
def test_bn_stats(name, size):
    """Rows of all kinds of numbers, and rows that repeat one."""
    rng = np.random.default_rng([FLAT.index(name), size])
    data, result = draw(rng, name, (16, size)), NAMES[int(rng.integers(13))]
    data[8:] = draw(rng, name, (8, size)) if "int" in name else data[8:, :1]
    got = bits(bn_stats(tile(name, data), dtype=destination(result)))
    assert got == [bn_stats_row(row, name, result) for row in data.tolist()]


@pytest.mark.parametrize("parts", [1, 2, 5])
@pytest.mark.parametrize("name", FLAT)
def test_bn_aggr(name, parts):
    rng = np.random.default_rng([FLAT.index(name), parts])
    data, result = draw(rng, name, (16, 3 * parts)), NAMES[int(rng.integers(13))]
    got = bits(bn_aggr(tile(name, data), dtype=destination(result)))
    assert got == [bn_aggr_row(row, name, result) for row in data.tolist()]


def test_moments_of_rows():
    """1000 elements in two instructions, within FP32's accuracy of the mean and variance; counts may differ."""
    x = np.random.default_rng(3).normal(5, 2, (128, 1000)).astype(np.float32)
    triples = np.hstack([bn_stats(x[:, :511]), bn_stats(x[:, 511:])])
    assert triples[0, ::3].tolist() == [256, 255, 245, 244]
    exact = x.astype(np.float64)
    got = bn_aggr(triples)
    assert np.allclose(got[:, 0], exact.mean(axis=1), rtol=1e-6)
    assert np.allclose(got[:, 1], exact.var(axis=1), rtol=1e-5)


def test_statistics_by_hand():
    assert bn_stats(np.array([[1, 10, 3, 30, 5]], np.int8)).tolist() == [[3, 3, 8, 2, 20, 200]]
    assert bn_stats(np.array([[7.0]], np.float32)).tolist() == [[1, 7, 0, 0, 0, 0]]
    assert bn_aggr(np.array([[2, 1, 4, 2, 5, 4]], np.float32)).tolist() == [[3, 6]]
    assert bn_aggr(np.array([[1, 7, 0, 0, 0, 0]], ml_dtypes.bfloat16)).tolist() == [[7, 0]]
    assert bits(bn_aggr(np.zeros((1, 3), np.float32))) == [[NAN, NAN]]
    # The mean of three equal numbers is not always the number: the sum is multiplied by FP32's 1/3.
    third = bn_stats(np.full((1, 5), 5.0, np.float32))
    assert third[0, 1] == np.float32(15) * np.float32(1 / 3)


X_STATISTICS = np.ones((2, 6), np.float32)
BAD_STATISTICS = [
    (lambda: bn_stats(np.ones((1, 513), np.float32)), ValueError, "data must have at most 512 elements for each partition, not 513"),
    (lambda: bn_stats(X_STATISTICS.astype(float)), TypeError, "data must be float32,"),
    (lambda: bn_stats(X_STATISTICS, dtype=np.int64), TypeError, "dtype must be float32,"),
    (lambda: bn_aggr(X_STATISTICS[:, :4]), ValueError, "data must have a multiple of 3 elements for each partition, not 4"),
    (lambda: bn_aggr(X_STATISTICS, dtype=np.int64), TypeError, "dtype must be float32,"),
    (lambda: bn_stats_row([], "bf16"), ValueError, "row must have at least 1 element"),
    (lambda: bn_aggr_row([], "bf16"), ValueError, "row must have at least 1 element"),
    (lambda: bn_aggr_row([1] * 4, "bf16"), ValueError, "row must have 3 elements, a multiple of 3, not 4"),
]  # fmt: skip


def test_arguments_of_statistics(subtests):
    for call, error, sentence in BAD_STATISTICS:
        with subtests.test(sentence), pytest.raises(error, match=f"^{sentence}"):
            call()


# tensor_copy_predicated, select_reduce and range_select against the scalar tier, and their rules.


FLOATS = [name for name in FLAT if "int" not in name]
SHAPE = (6, 9)
LOWEST = -3.4028234663852886e38


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


X_SELECTS, Y = np.ones((4, 3), np.float32), np.ones((4, 3), np.uint8)
B = np.ones((4, 1), np.float32)
BAD_SELECTS = [
    (lambda: tensor_copy_predicated(X_SELECTS, X_SELECTS.astype(BF16), Y), TypeError, "src must be float32, not bfloat16"),
    (lambda: tensor_copy_predicated(X_SELECTS, X_SELECTS[:, :2], Y), ValueError, r"src must have dst's shape \(4, 3\), not \(4, 2\)"),
    (lambda: tensor_copy_predicated(X_SELECTS, X_SELECTS, Y[:, :2]), ValueError, r"predicate must have dst's shape \(4, 3\), not \(4, 2\)"),
    (lambda: tensor_copy_predicated(X_SELECTS, X_SELECTS, X_SELECTS), TypeError, "predicate must be uint8, uint16 or uint32, not float32"),
    (lambda: tensor_copy_predicated(X_SELECTS, None, Y), TypeError, r"src must be a number, or an array \[P, F\], not None"),
    (lambda: tensor_copy_predicated(1.0, X_SELECTS, Y), TypeError, "dst must be a numpy array, not 1.0"),
    (lambda: tensor_copy_predicated(X_SELECTS, X_SELECTS, Y, reverse_pred=1), TypeError, "reverse_pred must be True or False, not 1"),
    (lambda: select_reduce(Y, X_SELECTS.astype(np.int32), 0.0), TypeError, "on_true must be float32, .* not int32"),
    (lambda: select_reduce(Y.astype(np.uint32), X_SELECTS, 0.0), TypeError, "predicate must be int8, uint8, int16 or uint16, not uint32"),
    (lambda: select_reduce(Y, X_SELECTS[:, :2], 0.0), ValueError, r"on_true must have predicate's shape \(4, 3\), not \(4, 2\)"),
    (lambda: select_reduce(Y, X_SELECTS, X_SELECTS), ValueError, r"on_false must have shape \(4, 1\) or a number, not \(4, 3\)"),
    (lambda: select_reduce(Y, X_SELECTS, 0.0, reduce_cmd="load_reduce"), ValueError, "reduce_cmd must be 'idle', 'reset_reduce' or 'reduce', not 'load_reduce'"),
    (lambda: select_reduce(Y, X_SELECTS, 0.0, accumulators=B), ValueError, "accumulators must be None with reduce_cmd 'idle', not a ndarray"),
    (lambda: range_select(Y, "less", "less", B, B), TypeError, "on_true_tile must be float32, .* or float8_e3m4, not uint8"),
    (lambda: range_select(X_SELECTS, "not_equal", "less", B, B), ValueError, "comp_op0 must be 'equal', 'less', 'less_equal', 'greater' or 'greater_equal', not 'not_equal'"),
    (lambda: range_select(X_SELECTS, "less", "less", B, 1.0), TypeError, "bound1 must be a numpy array, not 1.0"),
    (lambda: range_select(X_SELECTS, "less", "less", B.astype(BF16), B), TypeError, "bound0 must be float32, not bfloat16"),
    (lambda: range_select(X_SELECTS, "less", "less", B[:2], B), ValueError, r"bound0 must have shape \(4, 1\), not \(2, 1\)"),
    (lambda: range_select(X_SELECTS, "less", "less", B, B, range_start=2**24 - 2), ValueError, "range_start must be -16777215 to 16777213, not 16777214"),
    (lambda: range_select(X_SELECTS, "less", "less", B, B, on_false_value=-np.inf), ValueError, r"on_false_value must be -3.4028235e\+38, FP32's lowest number, not -inf"),
    (lambda: range_select(X_SELECTS, "less", "less", B, B, on_false_value=None), TypeError, "on_false_value must be a number, not None"),
    (lambda: copy_row_predicated([1], [1, 2], [1]), ValueError, "source must have 1 elements as row, not 2"),
    (lambda: copy_row_predicated([1], [1], [1, 2]), ValueError, "predicate must have 1 elements as row, not 2"),
    (lambda: select_row([1], [1, 2], "bf16", 0), ValueError, "predicate must have 2 elements as on_true, not 1"),
    (lambda: select_range([1], "bf16", ("less", "not_equal"), (0, 0)), ValueError, "comparisons must be 'equal',"),
    (lambda: select_range([1], "bf16", ("less", "less"), (0, 0), range_start=2**24), ValueError, "range_start must be -16777215 to 16777215, not 16777216"),
]  # fmt: skip


def test_arguments_of_selects(subtests):
    for call, error, sentence in BAD_SELECTS:
        with subtests.test(sentence), pytest.raises(error, match=f"^{sentence}"):
            call()


# max8, nc_find_index8 and nc_match_replace8 against the scalar tier, and the examples of their rules.


INDICES = (np.uint16, np.uint32)
INF, QUIET = np.inf, np.nan


def max8_rows(rng, name):
    """Rows of all kinds of numbers, of few different ones, of one, and of zeros."""
    data = draw(rng, name, (12, 14))
    data[4:8] = data[4:8, rng.integers(0, 4, 14)]
    data[8:10] = data[8:10, :1]
    data[10:] = np.array([0, 1 << FORMATS[name].width - 1, 1])[rng.integers(0, 3, (2, 14))]
    return data


@pytest.mark.parametrize("name", FLAT)
def test_max8(name):
    rng = np.random.default_rng(FLAT.index(name))
    data, result = max8_rows(rng, name), NAMES[int(rng.integers(13))]
    for size in (8, 9, 14):
        got = bits(max8(tile(name, data[:, :size]), dtype=destination(result)))
        assert got == [max8_row(row, name, result) for row in data[:, :size].tolist()]


@pytest.mark.parametrize("name", FLAT)
def test_find_and_replace(name):
    """Values out of the row with repeats, and others."""
    rng = np.random.default_rng([FLAT.index(name), 1])
    data, result, other = max8_rows(rng, name), NAMES[int(rng.integers(13))], FLAT[int(rng.integers(12))]
    immediate = SPECIALS[FLAT.index(name) % len(SPECIALS)]
    for values_name in (name, other):
        values = draw(rng, values_name, (12, 8))
        if values_name == name:
            values[:, :6] = data[:, rng.integers(0, 14, 6)]
        tiles = tile(name, data), tile(values_name, values)
        for dtype in INDICES:
            none = np.iinfo(dtype).max
            found = nc_find_index8(*tiles, dtype=dtype)
            number = tile("fp32", immediate)[()]
            got, replaced = nc_match_replace8(*tiles, number, dtype=destination(result), index_dtype=dtype)
            assert found.dtype == replaced.dtype == dtype
            for p, (row, wanted) in enumerate(zip(data.tolist(), values.tolist(), strict=True)):
                indices = find_index8_row(row, name, wanted, values_name)
                assert found[p].tolist() == [none if i is None else i for i in indices]
                codes, indices = match_replace8_row(row, name, wanted, values_name, immediate, result)
                assert bits(got)[p] == codes
                assert replaced[p].tolist() == [none if i is None else i for i in indices]


def test_worked_examples():
    data = np.array([[1, 2, 3, 4, *[8] * 7]], np.int8)
    vals = np.array([[3, *[8] * 7]], np.float32)
    assert nc_match_replace8(data, vals, 0.0)[1].tolist() == [[2, 10, 9, 8, 7, 6, 5, 4]]
    assert nc_find_index8(data, vals).tolist() == [[2, 4, 5, 6, 7, 8, 9, 10]]
    replaced, _ = nc_match_replace8(data, max8(data), -1.5, dtype=ml_dtypes.bfloat16)
    assert replaced.tolist() == [[1, 2, 3, *[-1.5] * 8]]
    # Two are left for three values; the immediate is not found again.
    vals = np.array([[4, 4, 4, 9, 9, 9, 9, 9]], np.int8)
    row = np.array([[4, 0, 4, 0, 0, 0, 0, 0]], np.int8)
    none = (1 << 16) - 1
    assert nc_find_index8(row, vals, dtype=np.uint16).tolist() == [[0, 2, none, *[none] * 5]]
    got, indices = nc_match_replace8(row, vals, 9.0, index_dtype=np.uint16)
    assert got.tolist() == [[9, 0, 9, 0, 0, 0, 0, 0]]
    assert indices.tolist() == [[none, 2, 0, *[none] * 5]]


def test_order_of_specials():
    row = np.array([[0.0, -1, QUIET, -0.0, INF, 0.0, -INF, 2, QUIET, -0.0]], np.float32)
    assert bits(max8(row)) == [[0x7FC00000, 0x7FC00000, 0x7F800000, 0x40000000, 0, 0, 1 << 31, 1 << 31]]
    none = (1 << 32) - 1
    assert nc_find_index8(row, max8(row)).tolist() == [[none, none, 4, 7, 0, 3, 5, 9]]


def test_long_rows():
    """Eight passes over the largest rows: all of the largest numbers are found and replaced."""
    data = np.random.default_rng(8).permutation(16384).astype(np.float32)[np.newaxis] * np.ones((128, 1), np.float32)
    largest = max8(data)
    assert (largest == np.arange(16383, 16375, -1)).all()
    places = nc_find_index8(data, largest, dtype=np.uint16)
    assert (np.take_along_axis(data, places.astype(int), axis=1) == largest).all()
    rest, indices = nc_match_replace8(data, largest, -1.0)
    assert (indices == places).all()
    assert (max8(rest) == np.arange(16375, 16367, -1)).all()


X_MAX8 = np.ones((2, 8), np.float32)
BAD_MAX8 = [
    (lambda: max8(X_MAX8[:, :7]), ValueError, "src must have 8 to 16384 elements for each partition, not 7"),
    (lambda: max8(np.ones((1, 16385), np.int8)), ValueError, "src must have 8 to 16384 elements for each partition, not 16385"),
    (lambda: max8(X_MAX8.astype(float)), TypeError, "src must be float32,"),
    (lambda: max8(X_MAX8, dtype=np.int64), TypeError, "dtype must be float32,"),
    (lambda: nc_find_index8(X_MAX8[:, :7], X_MAX8), ValueError, "data must have 8 to 16384 elements for each partition, not 7"),
    (lambda: nc_find_index8(X_MAX8, X_MAX8[:, :7]), ValueError, r"vals must have shape \(2, 8\), not \(2, 7\)"),
    (lambda: nc_find_index8(X_MAX8, X_MAX8[:1]), ValueError, r"vals must have shape \(2, 8\), not \(1, 8\)"),
    (lambda: nc_find_index8(X_MAX8, X_MAX8, dtype=np.int32), TypeError, "dtype must be uint16 or uint32, not int32"),
    (lambda: nc_match_replace8(X_MAX8, X_MAX8, None), TypeError, "imm must be a number, not None"),
    (lambda: nc_match_replace8(X_MAX8, X_MAX8, 0.0, index_dtype=np.uint8), TypeError, "index_dtype must be uint16 or uint32, not uint8"),
    (lambda: nc_match_replace8(np.ones((2, 16385), np.int8), X_MAX8, 0.0), ValueError, "data must have 1 to 16384 elements for each partition, not 16385"),
    (lambda: max8_row([1] * 7, "bf16"), ValueError, "row must have 8 elements, not 7"),
    (lambda: find_index8_row([1], "bf16", [1] * 7, "bf16"), ValueError, "values must have 8 elements, not 7"),
]  # fmt: skip


def test_arguments_of_max8(subtests):
    for call, error, sentence in BAD_MAX8:
        with subtests.test(sentence), pytest.raises(error, match=f"^{sentence}"):
            call()
