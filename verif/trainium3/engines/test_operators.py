"""tensor_tensor, tensor_scalar and tensor_copy over the 13 dtypes against the scalar tier."""

from itertools import product

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.trainium3 import cast, tensor_copy, tensor_scalar, tensor_tensor
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, container_bits
from bitpath.golden.trainium3.exact import cast as exact_cast
from bitpath.golden.trainium3.exact import tensor_tensor as exact_tensor_tensor
from bitpath.golden.trainium3.exact.conversions import from_fp32, to_fp32
from bitpath.golden.trainium3.exact.operators import BIT_OPERATORS, INTEGER_OPERATORS, OPERATORS, UNARY
from bitpath.verif.trainium3.engines.codes import bits, destination, draw, tile

NAMES = tuple(FORMATS)
FLAT = [name for name in NAMES if name != "tf32"]
"""Dtypes that say themselves how their words are read."""
INTEGERS = [name for name in NAMES if "int" in name]
SHAPE = (4, 9)


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("x_name", FLAT)
def test_tensor_tensor(op, x_name):
    """Every dtype on the left, the others in turn on the right and in the result."""
    rng = np.random.default_rng([list(OPERATORS).index(op), FLAT.index(x_name)])
    for turn in range(3):
        y_name, result = FLAT[int(rng.integers(len(FLAT)))], NAMES[int(rng.integers(13))]
        x, y = draw(rng, x_name, SHAPE), draw(rng, y_name, SHAPE)
        if turn == 0 and x_name == y_name:
            y = x
        got = bits(tensor_tensor(tile(x_name, x), tile(y_name, y), op, dtype=destination(result)))
        for p, f in np.ndindex(SHAPE):
            assert got[p][f] == exact_tensor_tensor(int(x[p, f]), x_name, int(y[p, f]), y_name, op, result)


@pytest.mark.parametrize("op", BIT_OPERATORS)
@pytest.mark.parametrize("x_name", INTEGERS)
def test_bit_operators(op, x_name):
    rng = np.random.default_rng([list(BIT_OPERATORS).index(op), INTEGERS.index(x_name)])
    for y_name in (name for name in INTEGERS if container_bits(name) == container_bits(x_name)):
        x, y = draw(rng, x_name, SHAPE), draw(rng, y_name, SHAPE)
        y[0] = rng.integers(0, container_bits(x_name) + 2, SHAPE[1])
        got = bits(tensor_tensor(tile(x_name, x), tile(y_name, y), op, dtype=destination(y_name)))
        scalars = bits(tensor_scalar(tile(x_name, x), op, tile(y_name, y[:, :1])))
        turned = bits(tensor_scalar(tile(x_name, x), op, int(y[0, 0]), reverse0=True))
        for p, f in np.ndindex(SHAPE):
            each, other = int(x[p, f]), int(y[p, f])
            assert got[p][f] == exact_tensor_tensor(each, x_name, other, y_name, op, y_name)
            assert scalars[p][f] == exact_tensor_tensor(each, x_name, int(y[p, 0]), y_name, op, x_name)
            assert turned[p][f] == exact_tensor_tensor(int(y[0, 0]), x_name, each, y_name, op, x_name)


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize(
    "names",
    [
        ("int32", "int32", "int32"),
        ("uint32", "int32", "uint32"),
        ("int32", "uint32", "fp32"),
        ("int16", "int32", "int32"),
    ],
)
def test_gpsimd(op, names):
    """Exact for 32-bit integers, else VectorE's bits."""
    rng = np.random.default_rng(list(OPERATORS).index(op))
    x, y = (draw(rng, name, SHAPE) for name in names[:2])
    tiles = [tile(name, each) for name, each in zip(names, (x, y), strict=False)]
    got = tensor_tensor(*tiles, op, engine="gpsimd", dtype=destination(names[2]))
    for p, f in np.ndindex(SHAPE):
        operands = int(x[p, f]), names[0], int(y[p, f]), names[1]
        assert bits(got)[p][f] == exact_tensor_tensor(*operands, op, names[2], "gpsimd")
    if op not in INTEGER_OPERATORS:
        assert bits(got) == bits(tensor_tensor(*tiles, op, dtype=destination(names[2])))
    assert op not in INTEGER_OPERATORS or tensor_tensor(*tiles[:1] * 2, op, engine="gpsimd").dtype == (
        tiles[0].dtype if container_bits(names[0]) == 32 else np.float32
    )


def test_where_engines_differ():
    """FP32 on VectorE loses 2**24 + 1; GpSimd keeps it and wraps around."""
    x, y = np.array([[1 << 24, (1 << 31) - 1]], np.int32), np.ones((1, 2), np.int32)
    assert tensor_tensor(x, y, "add", dtype=np.int32).tolist() == [[1 << 24, (1 << 31) - 1]]
    assert tensor_tensor(x, y, "add", engine="gpsimd").tolist() == [[(1 << 24) + 1, -(1 << 31)]]


def test_comparisons_of_nan():
    nan, one = np.full((1, 1), np.nan, np.float32), np.ones((1, 1), np.float32)
    results = {
        op: tensor_tensor(nan, one, op).item()
        for op in OPERATORS
        if op.startswith(("equal", "not", "gr", "less", "log"))
    }
    assert {op for op, value in results.items() if value} == {"not_equal", "logical_and", "logical_or"}
    assert tensor_scalar(nan, "logical_not").item() == 0


@pytest.mark.parametrize("name", FLAT)
@pytest.mark.parametrize(
    ("op0", "op1"),
    [("multiply", "add"), *((op, "subtract") for op in UNARY), ("abs_min", "logical_not"), ("less", "reciprocal")],
)
def test_tensor_scalar(name, op0, op1):
    rng = np.random.default_rng([FLAT.index(name), len(op0), len(op1)])
    data, result = draw(rng, name, SHAPE), NAMES[int(rng.integers(13))]
    kinds = [FLAT[int(rng.integers(len(FLAT)))] for _ in range(2)]
    scalars = [draw(rng, kind, (SHAPE[0], 1)) for kind in kinds]
    operands = [
        None if op in UNARY else tile(kind, each) for op, kind, each in zip((op0, op1), kinds, scalars, strict=True)
    ]
    got = bits(tensor_scalar(tile(name, data), op0, operands[0], op1, operands[1], dtype=destination(result)))
    for p, f in np.ndindex(SHAPE):
        x = to_fp32(int(data[p, f]), name)
        for op, kind, each in zip((op0, op1), kinds, scalars, strict=True):
            x = UNARY[op](x) if op in UNARY else OPERATORS[op](x, to_fp32(int(each[p, 0]), kind))
        assert got[p][f] == from_fp32(x, result)


@pytest.mark.parametrize(("source", "result"), list(product(NAMES, NAMES)))
def test_tensor_copy(source, result):
    data = draw(np.random.default_rng(NAMES.index(source)), source, (2, 24))
    words = tile(source, data)
    named = {"source": "tf32"} if source == "tf32" else {}
    got = tensor_copy(words, destination(result), **named)
    assert bits(got) == [[exact_cast(int(code), source, result) for code in row] for row in data]
    assert all(
        bits(tensor_copy(words, destination(result), engine=engine, **named)) == bits(got)
        for engine in ("scalar", "gpsimd")
    )
    assert bits(tensor_copy(words, **named)) == data.tolist()


def test_tf32_operands_are_float32_words():
    """`cast` leaves 13 zeros, so that such words are numbers of FP32."""
    words = cast(tile("fp32", draw(np.random.default_rng(1), "fp32", (3, 50))), "tf32")
    doubled = tensor_scalar(words, "add", words[:, :1], dtype="tf32")
    assert not (doubled.view(np.uint32) & 0x1FFF).any()
    assert bits(tensor_scalar(words, "multiply", 1.0)) == bits(cast(words, np.float32, source="tf32"))


X, I8 = np.ones((2, 3), np.float32), np.ones((2, 3), np.int8)
BAD = [
    (lambda: tensor_tensor(X, X, "abs"), ValueError, "op must be 'add', 'subtract', 'multiply', 'max',"),
    (lambda: tensor_tensor(X, X[:, :2], "add"), ValueError, r"b must have a's shape \(2, 3\), not \(2, 2\)"),
    (lambda: tensor_tensor(X, X, "add", engine="scalar"), ValueError, "engine must be 'vector' or 'gpsimd', not 'scalar'"),
    (lambda: tensor_tensor(X, I8, "bitwise_or"), TypeError, "a must be int8, int16, int32, uint8, uint16 or uint32, not float32"),
    (lambda: tensor_tensor(I8, I8.astype(np.int16), "bitwise_or"), ValueError, "b must have integers of a's size for bitwise_or, not int16 with int8"),
    (lambda: tensor_tensor(I8, I8, "left_shift", engine="gpsimd"), ValueError, "engine must be 'vector' for left_shift, not 'gpsimd'"),
    (lambda: tensor_tensor(I8, I8, "left_shift", dtype=np.int16), TypeError, "dtype must be int8 or uint8, not int16"),
    (lambda: tensor_tensor(X, X, "add", dtype=np.int64), TypeError, "dtype must be float32, bfloat16,"),
    (lambda: tensor_scalar(I8, "bitwise_and", 1, "add", 1), ValueError, "op0 and op1 must both be bit operators or neither, not 'bitwise_and' and 'add'"),
    (lambda: tensor_scalar(I8, "bitwise_and", 256), ValueError, "operand0 must be -128 to 255 for bit operators on 8 bits, not 256"),
    (lambda: tensor_scalar(I8, "bitwise_and", 1.0), TypeError, "operand0 must be an integer, not 1.0"),
    (lambda: tensor_scalar(I8, "bitwise_and", X[:, :1]), TypeError, "operand0 must be int8 or uint8, not float32"),
    (lambda: tensor_scalar(I8, "bitwise_and", I8[:1, :1]), ValueError, r"operand0 must have shape \(2, 1\) or a number, not \(1, 1\)"),
    (lambda: tensor_scalar(I8, "bitwise_not", 1), ValueError, "op0 must be a binary operator with an operand or reverse, not 'bitwise_not'"),
    (lambda: tensor_scalar(X, "bitwise_not"), TypeError, "data must be int8, int16, int32, uint8, uint16 or uint32, not float32"),
    (lambda: tensor_scalar(X, "logical_not", 1.0), ValueError, "op0 must be a binary operator with an operand or reverse, not 'logical_not'"),
    (lambda: tensor_copy(X, engine="dma"), ValueError, "engine must be 'vector', 'scalar' or 'gpsimd', not 'dma'"),
    (lambda: tensor_copy(X[0]), ValueError, r"data must have shape \[P, F\]"),
    (lambda: tensor_copy(X, ml_dtypes.float8_e3m4), TypeError, "dtype must be float32, bfloat16,"),
    (lambda: exact_tensor_tensor(1, "int8", 1, "int16", "bitwise_or", "int8"), ValueError, "bitwise_or takes integers of one size, not int8, int16 and int8"),
    (lambda: exact_tensor_tensor(1, "int8", 256, "int8", "bitwise_or", "int8"), ValueError, "y must be 0 to 255, not 256"),
    (lambda: exact_tensor_tensor(1, "int8", 1, "int8", "add", "int8", "pool"), ValueError, "engine must be 'vector' or 'gpsimd', not 'pool'"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "sentence"), BAD)
def test_arguments(call, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        call()
