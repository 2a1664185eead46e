"""VectorE's reductions from the first element and onto its accumulators, against the scalar tier."""

from itertools import product

import numpy as np
import pytest

from bitpath.golden.trainium3 import tensor_reduce, tensor_scalar_reduce
from bitpath.golden.trainium3.declarations.dtypes import FORMATS
from bitpath.golden.trainium3.exact import reduce_row
from bitpath.golden.trainium3.exact.conversions import from_fp32, to_fp32
from bitpath.golden.trainium3.exact.operators import IDENTITIES, OPERATORS, UNARY
from bitpath.verif.trainium3.engines.codes import bits, destination, draw, tile

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


@pytest.mark.parametrize(("changes", "error", "sentence"), BAD)
def test_arguments(changes, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        tensor_scalar_reduce(X, "abs", **{"reduce_op": "add"} | changes)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [(([], "add"), "row must have at least 1 element"), (([1], "subtract"), "op must be 'add', 'multiply',")],
)
def test_arguments_of_the_scalar_tier(arguments, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        reduce_row(*arguments)
