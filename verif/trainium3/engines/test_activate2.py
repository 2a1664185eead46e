"""activate2 and softmax against the scalar tier, and the examples of their rules."""

from itertools import product

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.trainium3 import activate2, activation, cast, exponential, softmax
from bitpath.golden.trainium3.declarations.dtypes import FORMATS
from bitpath.golden.trainium3.declarations.engines import (
    ACTIVATE2_OPERATIONS,
    ACTIVATE2_REDUCTIONS,
    BYPASS,
    ReduceCommand,
)
from bitpath.golden.trainium3.exact import activate2 as exact_activate2
from bitpath.golden.trainium3.exact import softmax as exact_softmax
from bitpath.golden.trainium3.exact.vector import FUNCTIONS
from bitpath.verif.trainium3.engines.codes import bits, destination, draw, tile

NAMES = tuple(FORMATS)
NAN = 0x7FC00000


@pytest.mark.parametrize("op", [*FUNCTIONS, "prelu"])
@pytest.mark.parametrize("pair", ACTIVATE2_OPERATIONS, ids="-".join)
def test_activate2(op, pair):
    """A dtype of its own for every pair and function, all reductions and commands; TF32 operands are cast before."""
    seed = [*FUNCTIONS, "prelu"].index(op) * len(ACTIVATE2_OPERATIONS) + ACTIVATE2_OPERATIONS.index(pair)
    rng = np.random.default_rng(seed)
    name, result = NAMES[seed % 13], NAMES[seed * 5 % 13]
    data = tile(name, draw(rng, name, (5, 7)))
    data = cast(data, name) if name == "tf32" else data
    codes = bits(data)
    immediates = draw(rng, "fp32", (2, 5, 1))
    parameter, registers = draw(rng, "fp32", (1,)), draw(rng, "fp32", (5,))
    for number, (command, reduce_op) in enumerate(product(ReduceCommand, ACTIVATE2_REDUCTIONS)):
        reverse = [step != BYPASS and bool(number >> place & 1) for place, step in enumerate(pair)]
        got, after = activate2(
            data, op, *pair, *(tile("fp32", each) for each in immediates),
            relu_param=tile("fp32", parameter)[0], reverse0=reverse[0], reverse1=reverse[1], reduce_op=reduce_op,
            reduce_cmd=command.value, registers=tile("fp32", registers), dtype=destination(result),
        )  # fmt: skip
        for p in range(number % 2, 5, 2):
            expected = exact_activate2(
                codes[p], name, op, pair, (int(immediates[0, p, 0]), int(immediates[1, p, 0])),
                reverse=tuple(reverse), relu_param=int(parameter[0]), reduce_op=reduce_op, reduce_cmd=command,
                register=int(registers[p]), destination=result,
            )  # fmt: skip
            assert (bits(got)[p], bits(after)[p]) == expected


ROW = np.array([[2, -3, 3]], np.float32)


def test_worked_example():
    """2 x - 1, the reverse, and reductions with equal magnitudes."""
    assert activate2(ROW, "copy", "multiply", "subtract", 2, 1)[0].tolist() == [[3, -7, 5]]
    assert activate2(ROW, "copy", "multiply", "subtract", 2, 1, reverse1=True)[0].tolist() == [[-3, 7, -5]]
    for op, values, expected in (("abs_max", (3, -7, 5), -7), ("abs_min", (3, -7, 5), 3), ("abs_max", (3, -3), -3)):
        row = np.array([values], ml_dtypes.bfloat16)
        _, registers = activate2(row, "copy", BYPASS, BYPASS, reduce_op=op, reduce_cmd="reset_reduce")
        assert registers.tolist() == [expected]


def test_bypass_touches_nothing_but_nan():
    row = tile("fp32", [[1 << 31, 1, 0xFFC00001, 0x7F800000]])
    assert bits(activate2(row, "copy", BYPASS, BYPASS)[0]) == [[1 << 31, 1, NAN, 0x7F800000]]
    assert bits(activate2(row, "copy", "add", BYPASS, 0.0)[0]) == [[0, 1, NAN, 0x7F800000]]


def test_registers_are_shared_and_kept():
    """exponential's accumulators go on here; idle leaves them, and a second row goes onto the first."""
    _, sums = exponential(ROW, 0.0, reduce_cmd="reset_reduce")
    _, after = activate2(ROW, "copy", BYPASS, BYPASS, reduce_op="add", reduce_cmd="reduce", registers=sums)
    assert after[0] == np.float32(np.float32(np.float32(sums[0] + 2) - 3) + 3)
    assert activate2(ROW, "copy", BYPASS, BYPASS, registers=sums)[1] is sums
    assert activate2(ROW, "copy", BYPASS, BYPASS)[1] is None
    for op, identity in (("add", 0), ("max", -np.inf), ("min", np.inf), ("abs_max", 0), ("abs_min", np.inf)):
        _, reset = activate2(ROW, "copy", BYPASS, BYPASS, reduce_op=op, reduce_cmd="reset", registers=sums)
        assert reset.tolist() == [identity]


@pytest.mark.parametrize("op", ["relu", "sign"])
def test_activation_has_the_functions_too(op):
    data = tile("fp32", draw(np.random.default_rng(3), "fp32", (4, 30)))
    assert bits(activation(data, op, bias=-0.0)) == bits(activate2(data, op, "multiply", "add", 1.0, -0.0)[0])


@pytest.mark.parametrize(("name", "result"), [("fp32", "fp32"), ("bf16", "bf16"), ("int8", "uint8"), ("e5m2", "tf32")])
def test_softmax(name, result):
    data = draw(np.random.default_rng(len(name)), name, (12, 6))
    got = softmax(tile(name, data), dtype=destination(result))
    for p, row in enumerate(data):
        assert bits(got)[p] == exact_softmax([int(code) for code in row], name, result)
    rows = softmax(np.random.default_rng(0).standard_normal((8, 100)).astype(np.float32)).astype(np.float64)
    assert np.allclose(rows.sum(axis=1), 1, atol=1e-5)


REGISTERS = np.zeros(1, np.float32)
BAD = [
    ({"op": "swish"}, ValueError, "op must be 'copy', 'square', 'sqrt', 'rsqrt', 'reciprocal', 'exp', 'abs', 'relu', 'sign', 'sigmoid',"),
    ({"op0": "add", "op1": "add"}, ValueError, r"op0 and op1 must be one of multiply and add, multiply and subtract,.*; not 'add' and 'add'$"),
    ({"op1": "max"}, ValueError, "op1 must be 'multiply', 'add', 'subtract' or 'bypass', not 'max'"),
    ({"op1": "bypass", "reverse1": True}, ValueError, "reverse1 must be False with op1 'bypass', not True"),
    ({"imm0": REGISTERS[:, None], "imm1": np.ones((1, 1), ml_dtypes.bfloat16)}, ValueError, "imm1 must have imm0's dtype float32, not bfloat16"),
    ({"imm0": np.zeros((2, 1), np.float32)}, ValueError, r"imm0 must have shape \(1, 1\) or a number, not \(2, 1\)"),
    ({"relu_param": "1"}, TypeError, "relu_param must be a number, not '1'"),
    ({"reduce_cmd": "load_reduce"}, ValueError, "reduce_cmd must be 'idle', 'reset', 'reduce' or 'reset_reduce', not 'load_reduce'"),
    ({"reduce_cmd": "reset"}, TypeError, "reduce_op must be 'add', 'max', 'min', 'abs_max' or 'abs_min', not None"),
    ({"reduce_op": "mean"}, ValueError, "reduce_op must be 'add', 'max', 'min', 'abs_max' or 'abs_min', not 'mean'"),
    ({"reduce_cmd": "reduce", "reduce_op": "add"}, ValueError, "registers must be given with reduce_cmd 'reduce', not None"),
    ({"registers": np.zeros(2, np.float32)}, ValueError, r"registers must have shape \(1,\), not \(2,\)"),
    ({"registers": np.zeros(1)}, TypeError, "registers must be float32, not float64"),
    ({"dtype": "tf33"}, TypeError, "dtype must be float32, bfloat16, float16, float8_e4m3,"),
    ({"data": np.ones((1, 1))}, TypeError, "data must be float32, bfloat16, float16,"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "error", "sentence"), BAD)
def test_arguments(changes, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        activate2(**{"data": ROW, "op": "copy", "op0": "multiply", "op1": "add"} | changes)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"op": "swish"}, "op must be 'copy',"),
        ({"operations": ("add", "add")}, "operations must be one of"),
        ({"row": []}, "row must"),
    ],
)
def test_arguments_of_the_scalar_tier(changes, sentence):
    good = {"row": [1], "source": "bf16", "op": "copy", "operations": (BYPASS, BYPASS), "immediates": (0, 0)}
    with pytest.raises(ValueError, match=f"^{sentence}"):
        exact_activate2(**good | changes)
