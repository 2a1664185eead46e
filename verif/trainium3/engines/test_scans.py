"""tensor_tensor_scan and tensor_scalar_cumulative against the scalar tier, and their rules."""

from itertools import product

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.trainium3 import tensor_reduce, tensor_scalar_cumulative, tensor_tensor_scan
from bitpath.golden.trainium3.declarations.dtypes import FORMATS
from bitpath.golden.trainium3.exact import cumulate_row, scan_row
from bitpath.golden.trainium3.exact.operators import OPERATORS
from bitpath.golden.trainium3.exact.vector import CUMULATIVE_IDENTITIES
from bitpath.verif.trainium3.engines.codes import bits, destination, draw, tile

NAMES = tuple(FORMATS)
FLAT = [name for name in NAMES if name != "tf32"]
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
    for command, given in (
        ("reset_reduce", {}),
        ("reduce", {"accumulators": start}),
        ("load_reduce", {"imm1": start}),
    ):
        got, after = tensor_scalar_cumulative(
            tile(name, data), op0, op1, tile("fp32", immediate), reduce_cmd=command, dtype=destination(result), **given
        )
        for p, row in enumerate(data.tolist()):
            register = int(registers[p, 0]) if given else None
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


X = np.ones((4, 3), np.float32)
BAD = [
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


@pytest.mark.parametrize(("call", "error", "sentence"), BAD)
def test_arguments(call, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        call()
