"""ScalarE's and VectorE's instructions against operations of the scalar tier, one after the other, bit for bit."""

from itertools import product

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.arrays.codec import DTYPES, codes_of
from bitpath.golden.formats.catalogue import BF16, E4M3, E5M2, FP16, FP32
from bitpath.golden.scalar import fp32
from bitpath.golden.trainium3 import (
    activation,
    activation_reduce,
    exponential,
    reciprocal,
    scalar_tensor_tensor,
    tensor_reduce,
    tensor_scalar,
    tensor_scalar_reduce,
)
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_EXPONENTIAL
from bitpath.golden.trainium3.exact import exponential as exact_exponential

NAN = FP32.nan_code
SPECIALS = (0, 1 << 31, 1, 0x80000001, 0x7FFFFF, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFF800001)
FORMATS = (FP32, BF16, FP16, E4M3, E5M2)


def codes(rng, fmt, shape, specials=0.2):
    """Codes of a format: mostly near 1, some anywhere, some special."""
    usual = (rng.integers(-3, 4, shape) + fmt.bias << fmt.fraction_bits) | rng.integers(0, fmt.fraction_mask + 1, shape)
    usual |= np.where(rng.random(shape) < 0.5, fmt.sign_mask, 0)
    anywhere = rng.integers(0, 1 << fmt.width, shape)
    special = np.array([fp32.convert(code, FP32, fmt) for code in SPECIALS])[rng.integers(0, len(SPECIALS), shape)]
    draw = rng.random(shape)
    return np.where(draw < specials, special, np.where(draw < 2 * specials, anywhere, usual))


def tile(fmt, values):
    return np.asarray(values).astype(f"u{fmt.width // 8}").view(DTYPES[fmt])


def scalar(fmt, code):
    return fp32.convert(int(code), fmt, FP32)


def abs_max(x, y):
    if NAN in (fp32.convert(x, FP32, FP32), fp32.convert(y, FP32, FP32)):
        return NAN
    return x if x & 0x7FFFFFFF > y & 0x7FFFFFFF else y


OPERATORS = {
    "add": fp32.add,
    "subtract": lambda x, y: fp32.add(x, y ^ 1 << 31),
    "multiply": fp32.multiply,
    "max": fp32.maximum,
    "min": fp32.minimum,
    "abs_max": abs_max,
}
FUNCTIONS = {
    "copy": lambda x: x,
    "square": lambda x: fp32.multiply(x, x),
    "sqrt": fp32.square_root,
    "rsqrt": fp32.reciprocal_square_root,
    "reciprocal": fp32.reciprocal,
    "exp": lambda x: exact_exponential(TRAINIUM3_EXPONENTIAL.numerics, x, 0),
    "abs": fp32.absolute,
}


def binary(op, x, y, reverse):
    return OPERATORS[op](y, x) if reverse else OPERATORS[op](x, y)


def reduced(values, op):
    total = values[0]
    for each in values[1:]:
        total = OPERATORS[op](total, each)
    return total


@pytest.mark.parametrize(
    ("source", "destination"), [(BF16, FP32), (FP32, BF16), (FP16, E4M3), (E4M3, FP16), (E5M2, E5M2)]
)
@pytest.mark.parametrize("op", FUNCTIONS)
def test_activation(op, source, destination):
    rng = np.random.default_rng([len(op), source.width, destination.width])
    data, scale, bias = codes(rng, source, (6, 20)), codes(rng, FP32, (6, 1)), codes(rng, BF16, (6, 1))
    got = activation(tile(source, data), op, scale=tile(FP32, scale), bias=tile(BF16, bias), dtype=DTYPES[destination])
    for p, f in np.ndindex(data.shape):
        scaled = fp32.multiply(scalar(source, data[p, f]), scalar(FP32, scale[p, 0]))
        result = FUNCTIONS[op](fp32.add(scaled, scalar(BF16, bias[p, 0])))
        assert codes_of(got)[p, f] == fp32.convert(result, FP32, destination)


@pytest.mark.parametrize("reduce_op", ["add", "max", "min", "abs_max"])
def test_activation_reduce(reduce_op):
    """The reduction uses FP32 values, independent of the output type."""
    rng = np.random.default_rng(len(reduce_op))
    data = codes(rng, BF16, (12, 17), specials=0.01)
    got, total = activation_reduce(
        tile(BF16, data), "square", reduce_op=reduce_op, scale=0.75, bias=1.5, dtype=DTYPES[E4M3]
    )
    same = activation(tile(BF16, data), "square", scale=0.75, bias=1.5, dtype=DTYPES[E4M3])
    assert np.array_equal(codes_of(got), codes_of(same))
    assert (total.shape, total.dtype) == ((12, 1), np.float32)
    for p, row in enumerate(data):
        sums = [fp32.add(fp32.multiply(scalar(BF16, code), 0x3F400000), 0x3FC00000) for code in row]
        assert total.view(np.uint32)[p, 0] == reduced([fp32.multiply(each, each) for each in sums], reduce_op)


def test_order_and_zero_of_activation():
    """Scale before bias, two roundings; -0 plus a bias of +0 is +0."""
    x = np.array([[1 + 2.0**-23]], np.float32)
    got = activation(x, "copy", scale=1 + 2.0**-23, bias=-1.0)
    assert got[0, 0] == np.float32(2.0**-22)  # the product's 2**-46 is rounded away before the sum
    assert activation(np.array([[-0.0]], np.float32), "copy").view(np.uint32)[0, 0] == 0
    assert activation(np.array([[-0.0]], np.float32), "copy", bias=-0.0).view(np.uint32)[0, 0] == 1 << 31


@pytest.mark.parametrize(
    ("op0", "op1"), [*product(OPERATORS, ("add", "multiply")), *product(("max",), OPERATORS), ("abs", "min")]
)
@pytest.mark.parametrize("reverse", [(False, False), (True, True)])
def test_tensor_scalar(op0, op1, reverse):
    if op0 == "abs" and reverse[0]:
        reverse = (False, True)
    rng = np.random.default_rng([len(op0), len(op1), reverse[0]])
    data, first, second = codes(rng, BF16, (5, 12)), codes(rng, FP32, (5, 1)), codes(rng, FP16, (5, 1))
    operand = None if op0 == "abs" else tile(FP32, first)
    got = tensor_scalar(
        tile(BF16, data), op0, operand, op1, tile(FP16, second), reverse0=reverse[0], reverse1=reverse[1]
    )
    for p, f in np.ndindex(data.shape):
        x = scalar(BF16, data[p, f])
        x = fp32.absolute(x) if op0 == "abs" else binary(op0, x, scalar(FP32, first[p, 0]), reverse[0])
        assert got.view(np.uint32)[p, f] == binary(op1, x, scalar(FP16, second[p, 0]), reverse[1])


def test_tensor_scalar_of_one_operation():
    x = np.array([[3.0, -7.0]], ml_dtypes.bfloat16)
    assert tensor_scalar(x, "subtract", 1.0).tolist() == [[2, -8]]
    assert tensor_scalar(x, "subtract", 1.0, reverse0=True).tolist() == [[-2, 8]]
    assert tensor_scalar(x, "abs", dtype=ml_dtypes.float8_e4m3).astype(float).tolist() == [[3, 7]]


@pytest.mark.parametrize(("reduce_op", "op0"), list(product(("add", "max", "min", "abs_max"), ("abs", "multiply"))))
def test_tensor_scalar_reduce(reduce_op, op0):
    rng = np.random.default_rng([len(reduce_op), len(op0)])
    data = codes(rng, BF16, (16, 13), specials=0.01)
    operand = () if op0 == "abs" else (-1.5,)
    got, result = tensor_scalar_reduce(tile(BF16, data), op0, *operand, reduce_op=reduce_op, dtype=DTYPES[BF16])
    assert np.array_equal(codes_of(got), codes_of(tensor_scalar(tile(BF16, data), op0, *operand, dtype=DTYPES[BF16])))
    for p, row in enumerate(data):
        values = [scalar(BF16, code) for code in row]
        values = [fp32.absolute(x) if op0 == "abs" else fp32.multiply(x, 0xBFC00000) for x in values]
        assert result.view(np.uint32)[p, 0] == reduced(values, reduce_op)


@pytest.mark.parametrize(
    ("op0", "op1"), [("multiply", "multiply"), ("add", "max"), ("subtract", "abs_max"), ("min", "add")]
)
@pytest.mark.parametrize("reverse", [(False, False), (True, True)])
def test_scalar_tensor_tensor(op0, op1, reverse):
    rng = np.random.default_rng([len(op0), len(op1), reverse[0]])
    data, first, second = codes(rng, BF16, (5, 12)), codes(rng, FP32, (5, 1)), codes(rng, FP32, (5, 12))
    got = scalar_tensor_tensor(
        tile(BF16, data), op0, tile(FP32, first), op1, tile(FP32, second),
        reverse0=reverse[0], reverse1=reverse[1], dtype=DTYPES[BF16],
    )  # fmt: skip
    for p, f in np.ndindex(data.shape):
        x = binary(op0, scalar(BF16, data[p, f]), scalar(FP32, first[p, 0]), reverse[0])
        x = binary(op1, x, scalar(FP32, second[p, f]), reverse[1])
        assert codes_of(got)[p, f] == fp32.convert(x, FP32, BF16)


def test_operands_are_right_of_the_operators():
    data = np.array([[5.0, 6.0]], np.float32)
    got = scalar_tensor_tensor(data, "subtract", 2.0, "subtract", np.array([[1.0, 8.0]], np.float32))
    assert got.tolist() == [[2.0, -4.0]]


@pytest.mark.parametrize("op", ["add", "max", "min", "abs_max"])
@pytest.mark.parametrize("size", [1, 2, 3, 8, 15])
def test_tensor_reduce(op, size):
    rng = np.random.default_rng([len(op), size])
    data = codes(rng, BF16, (20, size), specials=0.03)
    data[0] |= BF16.sign_mask
    for negate in (False, True):
        got = tensor_reduce(tile(BF16, data), op, negate=negate)
        for p, row in enumerate(data):
            result = reduced([scalar(BF16, code) for code in row], op)
            if negate and result != NAN:
                result ^= 1 << 31
            assert got.view(np.uint32)[p, 0] == result


def test_equal_magnitudes_give_the_last():
    """As nl.abs_max of the running result and the next element, whose ties go to the latter."""
    for row, last in (([1, -1, 1], 1), ([1, -1], -1), ([2, -1, 1, -2, 1], -2), ([-3, 3, -3, 3, -3], -3)):
        assert tensor_reduce(np.array([row], np.float32), "abs_max")[0, 0] == last


def test_reciprocal():
    rng = np.random.default_rng(8)
    data = codes(rng, FP32, (8, 40))
    for destination in (FP32, BF16):
        got = codes_of(reciprocal(tile(FP32, data), dtype=DTYPES[destination]))
        expected = [[fp32.convert(fp32.reciprocal(int(x)), FP32, destination) for x in row] for row in data]
        assert got.tolist() == expected


X = np.ones((4, 3), ml_dtypes.bfloat16)
BAD = [
    (lambda: activation(X.astype(np.float64), "copy"), TypeError, "data must be float32, bfloat16, float16, float8_e4m3, float8_e4m3fn, float8_e5m2, int8,"),
    (lambda: activation(X[0], "copy"), ValueError, r"data must have shape \[P, F\] with P from 1 to 128 and F of at least"),
    (lambda: activation(X[:0], "copy"), ValueError, r"data must have shape \[P, F\] with P from 1 to 128 and F of at least"),
    (lambda: activation(X[:, :0], "copy"), ValueError, r"data must have shape \[P, F\] with P from 1 to 128 and F of"),
    (lambda: activation(np.ones((129, 1), np.float32), "copy"), ValueError, r"data must have shape \[P, F\] with P from 1 to 128 and F of"),
    (lambda: activation(X, "swish"), ValueError, "op must be 'copy', 'square', 'sqrt', 'rsqrt', 'reciprocal', 'exp', 'abs', 'relu', 'sign', 'sigmoid',"),
    (lambda: activation(X, None), TypeError, "op must be 'copy', 'square', 'sqrt', 'rsqrt', 'reciprocal',"),
    (lambda: activation(X, "copy", scale="1"), TypeError, r"scale must be a number, or an array \[P, 1\], not '1'"),
    (lambda: activation(X, "copy", bias=True), TypeError, r"bias must be a number, or an array \[P, 1\], not True"),
    (lambda: activation(X, "copy", scale=10**400), ValueError, r"scale must be a number of float64's range, or an array \[P, 1\], not"),
    (lambda: activation(X, "copy", bias=-(10**5000)), ValueError, r"bias must be a number of float64's range, or an array \[P, 1\], not"),
    (lambda: tensor_scalar(X, "add", 10**400), ValueError, r"operand0 must be a number of float64's range, or an array \[P, 1\],"),
    (lambda: exponential(X, 10**400), ValueError, r"max_value must be a number of float64's range, or an array \[P, 1\],"),
    (lambda: activation(X, "copy", bias=X), ValueError, r"bias must have shape \(4, 1\) or a number, not \(4, 3\)"),
    (lambda: activation(X, "copy", bias=np.ones((4, 1))), TypeError, "bias must be float32, bfloat16, float16, float8_e4m3,"),
    (lambda: activation(X, "copy", dtype=np.int64), TypeError, "dtype must be float32, bfloat16, float16, float8_e4m3,"),
    (lambda: activation_reduce(X, "copy", reduce_op="mean"), ValueError, "reduce_op must be 'add', 'max', 'min', 'abs_max' or 'abs_min', not 'mean'"),
    (lambda: activation_reduce(X, "copy", sum_order="tree"), ValueError, "sum_order must be 'serial' or 'exact', not 'tree'"),
    (lambda: tensor_scalar(X, "divide", 1.0), ValueError, "op0 must be 'add', 'subtract', 'multiply', 'max', 'min', 'abs_max', 'abs_min',"),
    (lambda: tensor_scalar(X, "add"), TypeError, r"operand0 must be a number, or an array \[P, 1\], not None"),
    (lambda: tensor_scalar(X, "abs", 1.0), ValueError, "op0 must be a binary operator with an operand or reverse, not 'abs'"),
    (lambda: tensor_scalar(X, "abs", reverse0=True), ValueError, "op0 must be a binary operator with an operand or reverse, not 'abs'"),
    (lambda: tensor_scalar(X, "add", 1.0, operand1=1.0), ValueError, "op1 must be an operator with operand1 or reverse1, not None"),
    (lambda: tensor_scalar(X, "add", 1.0, "add"), TypeError, r"operand1 must be a number, or an array \[P, 1\], not None"),
    (lambda: tensor_scalar(X, "add", 1.0, reverse0=1), TypeError, "reverse0 must be True or False, not 1"),
    (lambda: tensor_scalar_reduce(X, "abs", reduce_op=None), TypeError, "reduce_op must be 'add', 'multiply', 'max', 'min', 'abs_max' or 'abs_min', not None"),
    (lambda: scalar_tensor_tensor(X, "add", 1.0, "add", X[:, :2]), ValueError, r"operand1 must have data's shape \(4, 3\), not \(4, 2\)"),
    (lambda: scalar_tensor_tensor(X, "abs", 1.0, "add", X), ValueError, "op0 must be 'add', 'subtract', 'multiply', 'max', 'min', 'abs_max', 'abs_min',"),
    (lambda: scalar_tensor_tensor(X, "add", 1.0, "abs", X), ValueError, "op1 must be 'add', 'subtract', 'multiply', 'max', 'min', 'abs_max', 'abs_min',"),
    (lambda: scalar_tensor_tensor(X, "add", 1.0, "add", X, reverse1=0), TypeError, "reverse1 must be True or False, not 0"),
    (lambda: tensor_reduce(X, "sum"), ValueError, "op must be 'add', 'multiply', 'max', 'min', 'abs_max' or 'abs_min', not 'sum'"),
    (lambda: tensor_reduce(X, "add", negate=None), TypeError, "negate must be True or False, not None"),
    (lambda: reciprocal(X, dtype=ml_dtypes.float8_e8m0fnu), TypeError, "dtype must be float32, bfloat16, float16, float8_e4m3, float8_e4m3fn,"),
    (lambda: reciprocal(X.astype(np.int64)), TypeError, "data must be float32, bfloat16, float16, float8_e4m3,"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "sentence"), BAD)
def test_arguments(call, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        call()


def test_arguments_are_not_modified():
    x, y = np.linspace(-3, 3, 12, dtype=np.float32).reshape(4, 3), np.full((4, 1), 2, np.float32)
    before = x.copy(), y.copy()
    activation_reduce(x, "square", scale=y, bias=y)
    tensor_scalar(x, "multiply", y, "max", y)
    scalar_tensor_tensor(x, "add", y, "multiply", x)
    tensor_reduce(x, "abs_max", negate=True)
    reciprocal(x)
    assert np.array_equal(x, before[0])
    assert np.array_equal(y, before[1])
