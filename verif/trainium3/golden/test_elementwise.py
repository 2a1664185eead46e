"""Elementwise instructions of ScalarE, VectorE and GpSimd, over all dtypes and operators, against the scalar tier."""

from decimal import Context, Decimal
from fractions import Fraction
from itertools import product

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden.arrays.codec import DTYPES, codes_of
from bitpath.golden.formats.catalogue import BF16, E4M3, E5M2, FP16, FP32
from bitpath.golden.scalar import fp32
from bitpath.golden.scalar.codec import decode
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3 import (
    activation,
    activation_reduce,
    cast,
    exponential,
    memset,
    reciprocal,
    scalar_tensor_tensor,
    tensor_copy,
    tensor_reduce,
    tensor_scalar,
    tensor_scalar_reduce,
    tensor_tensor,
)
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, container_bits
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_EXPONENTIAL
from bitpath.golden.trainium3.exact import cast as exact_cast
from bitpath.golden.trainium3.exact import exponential as exact_exponential
from bitpath.golden.trainium3.exact import memset_element
from bitpath.golden.trainium3.exact import power as exact_power
from bitpath.golden.trainium3.exact import tensor_tensor as exact_tensor_tensor
from bitpath.golden.trainium3.exact.conversions import from_fp32, to_fp32
from bitpath.golden.trainium3.exact.operators import BIT_OPERATORS, INTEGER_OPERATORS, OPERATORS, UNARY
from bitpath.verif.trainium3.dtype_words import SPECIALS, bits, destination, draw, tile

# tensor_tensor, tensor_scalar and tensor_copy over the 13 dtypes against the scalar tier.


NAMES = tuple(FORMATS)
FLAT = [name for name in NAMES if name != "tf32"]
"""Dtypes that say themselves how their words are read."""
INTEGERS = [name for name in NAMES if "int" in name]
SHAPE = (4, 9)


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("x_name", FLAT)
def test_tensor_tensor_of_operators(op, x_name):
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
def test_tensor_scalar_of_operators(name, op0, op1):
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


def test_arguments_of_operators(subtests):
    for call, error, sentence in BAD:
        with subtests.test(sentence), pytest.raises(error, match=f"^{sentence}"):
            call()


# GpSimd's power: the scalar tier against the decimal module and by hand, the arrays against the scalar tier.


MINUS, ONE, INF, NAN = 1 << 31, 0x3F800000, 0x7F800000, 0x7FC00000


def code(value):
    return round_to_format(Fraction(value), FP32, zero_sign=0)


def test_against_decimal():
    """90 digits decide every rounding here: none lies that near to a midpoint."""
    context, rng = Context(prec=90), np.random.default_rng(1)
    x = np.exp(rng.uniform(-20, 20, 300)).astype(np.float32)
    x[:60] = 1 + rng.integers(-9, 10, 60) * np.float32(2.0**-23)
    y = (rng.uniform(-100, 100, 300) / np.log(x.astype(np.float64) + 2.0**-30)).astype(np.float32)
    for a, b in zip(bits(x), bits(y), strict=True):
        base, exponent = (
            Decimal(decode(FP32, each).value.numerator) / decode(FP32, each).value.denominator for each in (a, b)
        )
        nearest = context.power(base, exponent)
        assert exact_power(a, b) == round_to_format(Fraction(nearest), FP32)


def test_powers_by_hand():
    """Ties, roots, and the ends of the range."""
    assert exact_power(code(4097), code(2)) == code(4097**2 - 1)  # 2**24 + 2**13 + 1, a tie to even
    assert exact_power(code(4099), code(2)) == code(4099**2 - 1)  # 2**24 + 3 * 2**13 + 9
    assert exact_power(code(9), code(Fraction(3, 2))) == code(27)
    assert exact_power(code(Fraction(1, 16)), code(Fraction(-3, 4))) == code(8)
    assert exact_power(code(Fraction(289, 4)), code(Fraction(1, 2))) == code(Fraction(17, 2))
    assert exact_power(code(-3), code(3)) == code(-27)
    assert exact_power(code(3), code(-1)) == 0x3EAAAAAB
    assert exact_power(code(2), code(-149)) == 1
    assert exact_power(code(2), code(-150)) == 0  # a tie
    assert exact_power(code(8), code(-50)) == 0
    assert exact_power(code(Fraction(3, 2) * 2**-75), code(2)) == 1
    assert exact_power(code(2), code(128)) == INF
    assert exact_power(code(2), 0x42FFFFFF) == 0x7F7FFFA7
    assert exact_power(0x3F800001, 0x7F000000) == INF
    assert exact_power(0x3F7FFFFF, 0x7F000000) == exact_power(code(3), code(-1000)) == 0


def test_specials_by_hand():
    half, two, three = code(Fraction(1, 2)), code(2), code(3)
    for y in (0, MINUS):
        assert {exact_power(x, y) for x in (NAN, 0, MINUS, INF, three | MINUS)} == {ONE}
    assert {exact_power(ONE, y) for y in (NAN, INF, MINUS | INF, three)} == {ONE}
    assert {exact_power(ONE | MINUS, y) for y in (INF, MINUS | INF)} == {ONE}
    assert {
        exact_power(*each) for each in ((NAN, ONE), (two, NAN), (two | MINUS, half), (1 | MINUS, half | MINUS))
    } == {NAN}
    assert [exact_power(x, INF) for x in (half, half | MINUS, two, two | MINUS, 0, INF)] == [0, 0, INF, INF, 0, INF]
    assert [exact_power(x, INF | MINUS) for x in (half, half | MINUS, two, two | MINUS, 0)] == [INF, INF, 0, 0, INF]
    assert [exact_power(MINUS, y) for y in (three, two, half)] == [MINUS, 0, 0]
    assert [exact_power(MINUS, y | MINUS) for y in (three, two, half)] == [INF | MINUS, INF, INF]
    assert [exact_power(INF | MINUS, y) for y in (three, two, half)] == [INF | MINUS, INF, INF]
    assert [exact_power(INF | MINUS, y | MINUS) for y in (three, two, half)] == [MINUS, 0, 0]


CORNERS = (
    *SPECIALS, ONE, ONE | MINUS, ONE + 1, ONE - 1, code(2), code(-2), code(3), code(-3), code(Fraction(1, 2)),
    code(Fraction(-1, 2)), code(Fraction(5, 4)), code(127), code(128), code(-149), code(-150), code(Fraction(-301, 2)),
    code(4097), code(2**24),
    0x7F000000, 0xFF000000, 0x00800000, 0x4B7FFFFF, 0x42B17218,
)  # fmt: skip


def test_corners():
    x, y = np.array(list(product(CORNERS, CORNERS))).T
    got = bits(tensor_tensor(tile("fp32", x[None]), tile("fp32", y[None]), "power", engine="gpsimd"))
    assert got == [[exact_power(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)]]


@pytest.mark.parametrize("name", FLAT)
def test_tensor_tensor_of_power(name):
    rng = np.random.default_rng(FLAT.index(name))
    for _ in range(3):
        y_name, result = FLAT[int(rng.integers(len(FLAT)))], NAMES[int(rng.integers(13))]
        x, y = draw(rng, name, (4, 20)), draw(rng, y_name, (4, 20))
        got = bits(tensor_tensor(tile(name, x), tile(y_name, y), "power", engine="gpsimd", dtype=destination(result)))
        for p, f in np.ndindex(x.shape):
            operands = int(x[p, f]), name, int(y[p, f]), y_name
            assert got[p][f] == exact_tensor_tensor(*operands, "power", result, "gpsimd")


def test_ties():
    """Powers of few bits meet midpoints: cubes of 9 bits, and fourth powers of 8."""
    for exponent, low, high in ((2, 4097, 8191), (3, 257, 511), (4, 65, 255), (5, 17, 63)):
        x = np.arange(low, high, 2, dtype=np.float32)[None]
        got = tensor_tensor(x, np.full_like(x, exponent), "power", engine="gpsimd")
        assert got.tolist() == [[float(np.float32(int(each) ** exponent)) for each in x[0]]]


X_ONE = np.ones((1, 1), np.float32)
BAD_POWER = [
    (lambda: tensor_tensor(X_ONE, X_ONE, "power"), "engine must be 'gpsimd' for power, not 'vector'"),
    (lambda: exact_tensor_tensor(1, "int8", 1, "int8", "power", "int8"), "engine must be 'gpsimd', not 'vector'"),
]


def test_arguments_of_power(subtests):
    for call, sentence in BAD_POWER:
        with subtests.test(sentence), pytest.raises(ValueError, match=f"^{sentence}"):
            call()


# memset against the scalar tier, in all dtypes.


FLOATS = [name for name in FORMATS if name not in INTEGERS]
NUMBERS = (
    0, 0.0, -0.0, 1, -1, 0.1, -2.5, 1e-46, -1e-45, 2.0**-149, 3.4e38, 1e39, -1e300, np.inf, -np.inf, np.nan,
    (1 << 24) + 1,
    1 + 2.0**-8 + 2.0**-40, 1 + 2.0**-24 + 2.0**-52, 10**30 + 1, 240, 247.9, 448, 464, 465, 57344, 61440, 65504, 65520,
    np.float32(0.3), np.int64(-7), np.float64(1 / 3),
)  # fmt: skip


@pytest.mark.parametrize("name", FLOATS)
def test_floats(name):
    """One rounding from the number itself: the midpoint of two numbers plus a little rounds up."""
    for value in NUMBERS:
        got = memset((2, 3), value, dtype=destination(name))
        number = value.item() if isinstance(value, np.generic) else value
        assert bits(got) == [[memset_element(number, name)] * 3] * 2
    codes = draw(np.random.default_rng(FLOATS.index(name)), "fp32", (60,))
    for value in tile("fp32", codes):
        assert bits(memset((1, 1), value, dtype=destination(name))) == [[memset_element(float(value), name)]]


@pytest.mark.parametrize("name", INTEGERS)
def test_integers(name):
    limits = np.iinfo(destination(name))
    for value in (0, 1, int(limits.min), int(limits.max), np.int8(5)):
        got = memset((1, 2), value, dtype=destination(name))
        assert got.tolist() == [[value] * 2]
        assert bits(got) == [[memset_element(int(value), name)] * 2]


def test_one_conversion():
    """1 + 2**-8 + 2**-40 is above BF16's midpoint; FP32 between them would lose that."""
    above = 1 + 2.0**-8 + 2.0**-40
    assert memset((1, 1), above, dtype=ml_dtypes.bfloat16)[0, 0] == 1 + 2.0**-7
    assert np.float32(above).astype(ml_dtypes.bfloat16) == 1
    assert memset_element(Fraction(1, 3), "fp32") == 0x3EAAAAAB
    assert memset((128, 512), 3, dtype=ml_dtypes.float8_e3m4).astype(float).sum() == 3 * 128 * 512


BAD_MEMSET = [
    (lambda: memset((1, 1), 2.0, dtype=np.int32), TypeError, "value must be an integer, not 2.0"),
    (lambda: memset((1, 1), 128, dtype=np.int8), ValueError, "value must be -128 to 127 for int8, not 128"),
    (lambda: memset((1, 1), -1, dtype=np.uint8), ValueError, "value must be 0 to 255 for uint8, not -1"),
    (lambda: memset((1, 1), None), TypeError, "value must be a number, not None"),
    (lambda: memset((1, 1), True), TypeError, "value must be a number, not True"),
    (lambda: memset((1, 1), 10**400), ValueError, "value must be a number of float64's range, not"),
    (lambda: memset((129, 1), 1), ValueError, "shape must be P from 1 to 128 and F of at least 1, not 129 and 1"),
    (lambda: memset((1, 0), 1), ValueError, "shape must be P from 1 to 128 and F of at least 1, not 1 and 0"),
    (lambda: memset((1,), 1), ValueError, "shape must have 2 elements, not 1"),
    (lambda: memset((1, 1), 1, dtype=np.int64), TypeError, "dtype must be float32,"),
    (lambda: memset_element(2.0, "int8"), TypeError, "value must be an integer, not 2.0"),
    (lambda: memset_element("1", "bf16"), TypeError, "value must be a number, not '1'"),
    (lambda: memset_element(128, "int8"), ValueError, "value must be -128 to 127, not 128"),
    (lambda: memset_element(1, "int64"), ValueError, "dtype must be 'fp32',"),
]  # fmt: skip


def test_arguments_of_memset(subtests):
    for call, error, sentence in BAD_MEMSET:
        with subtests.test(sentence), pytest.raises(error, match=f"^{sentence}"):
            call()


# ScalarE's and VectorE's instructions against operations of the scalar tier, one after the other, bit for bit.


FP32_SPECIALS = (
    0,
    1 << 31,
    1,
    0x80000001,
    0x7FFFFF,
    0x7F7FFFFF,
    0xFF7FFFFF,
    0x7F800000,
    0xFF800000,
    0x7FC00000,
    0xFF800001,
)
FLOAT_FORMATS = (FP32, BF16, FP16, E4M3, E5M2)


def codes(rng, fmt, shape, specials=0.2):
    """Codes of a format: mostly near 1, some anywhere, some special."""
    usual = (rng.integers(-3, 4, shape) + fmt.bias << fmt.fraction_bits) | rng.integers(0, fmt.fraction_mask + 1, shape)
    usual |= np.where(rng.random(shape) < 0.5, fmt.sign_mask, 0)
    anywhere = rng.integers(0, 1 << fmt.width, shape)
    special = np.array([fp32.convert(code, FP32, fmt) for code in FP32_SPECIALS])[
        rng.integers(0, len(FP32_SPECIALS), shape)
    ]
    draw = rng.random(shape)
    return np.where(draw < specials, special, np.where(draw < 2 * specials, anywhere, usual))


def tile_of(fmt, values):
    return np.asarray(values).astype(f"u{fmt.width // 8}").view(DTYPES[fmt])


def scalar(fmt, code):
    return fp32.convert(int(code), fmt, FP32)


def abs_max(x, y):
    if NAN in (fp32.convert(x, FP32, FP32), fp32.convert(y, FP32, FP32)):
        return NAN
    return x if x & 0x7FFFFFFF > y & 0x7FFFFFFF else y


SCALAR_OPERATORS = {
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
    return SCALAR_OPERATORS[op](y, x) if reverse else SCALAR_OPERATORS[op](x, y)


def reduced(values, op):
    total = values[0]
    for each in values[1:]:
        total = SCALAR_OPERATORS[op](total, each)
    return total


@pytest.mark.parametrize(
    ("source", "destination"), [(BF16, FP32), (FP32, BF16), (FP16, E4M3), (E4M3, FP16), (E5M2, E5M2)]
)
@pytest.mark.parametrize("op", FUNCTIONS)
def test_activation(op, source, destination):
    rng = np.random.default_rng([len(op), source.width, destination.width])
    data, scale, bias = codes(rng, source, (6, 20)), codes(rng, FP32, (6, 1)), codes(rng, BF16, (6, 1))
    got = activation(
        tile_of(source, data),
        op,
        scale=tile_of(FP32, scale),
        bias=tile_of(BF16, bias),
        dtype=DTYPES[destination],
    )
    for p, f in np.ndindex(data.shape):
        scaled = fp32.multiply(scalar(source, data[p, f]), scalar(FP32, scale[p, 0]))
        result = FUNCTIONS[op](fp32.add(scaled, scalar(BF16, bias[p, 0])))
        assert codes_of(got)[p, f] == fp32.convert(result, FP32, destination)


def test_activation_reduce():
    """The reduction uses FP32 values, independent of the output type."""
    rng = np.random.default_rng(3)
    data = codes(rng, BF16, (12, 17), specials=0.01)
    got, total = activation_reduce(tile_of(BF16, data), "square", scale=0.75, bias=1.5, dtype=DTYPES[E4M3])
    same = activation(tile_of(BF16, data), "square", scale=0.75, bias=1.5, dtype=DTYPES[E4M3])
    assert np.array_equal(codes_of(got), codes_of(same))
    assert (total.shape, total.dtype) == ((12, 1), np.float32)
    for p, row in enumerate(data):
        sums = [fp32.add(fp32.multiply(scalar(BF16, code), 0x3F400000), 0x3FC00000) for code in row]
        assert total.view(np.uint32)[p, 0] == reduced([fp32.multiply(each, each) for each in sums], "add")


def test_order_and_zero_of_activation():
    """Scale before bias, two roundings; -0 plus a bias of +0 is +0."""
    x = np.array([[1 + 2.0**-23]], np.float32)
    got = activation(x, "copy", scale=1 + 2.0**-23, bias=-1.0)
    assert got[0, 0] == np.float32(2.0**-22)  # the product's 2**-46 is rounded away before the sum
    assert activation(np.array([[-0.0]], np.float32), "copy").view(np.uint32)[0, 0] == 0
    assert activation(np.array([[-0.0]], np.float32), "copy", bias=-0.0).view(np.uint32)[0, 0] == 1 << 31


@pytest.mark.parametrize(
    ("op0", "op1"),
    [*product(SCALAR_OPERATORS, ("add", "multiply")), *product(("max",), SCALAR_OPERATORS), ("abs", "min")],
)
@pytest.mark.parametrize("reverse", [(False, False), (True, True)])
def test_tensor_scalar_of_instructions(op0, op1, reverse):
    if op0 == "abs" and reverse[0]:
        reverse = (False, True)
    rng = np.random.default_rng([len(op0), len(op1), reverse[0]])
    data, first, second = codes(rng, BF16, (5, 12)), codes(rng, FP32, (5, 1)), codes(rng, FP16, (5, 1))
    operand = None if op0 == "abs" else tile_of(FP32, first)
    got = tensor_scalar(
        tile_of(BF16, data),
        op0,
        operand,
        op1,
        tile_of(FP16, second),
        reverse0=reverse[0],
        reverse1=reverse[1],
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
    got, result = tensor_scalar_reduce(tile_of(BF16, data), op0, *operand, reduce_op=reduce_op, dtype=DTYPES[BF16])
    assert np.array_equal(
        codes_of(got), codes_of(tensor_scalar(tile_of(BF16, data), op0, *operand, dtype=DTYPES[BF16]))
    )
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
        tile_of(BF16, data), op0, tile_of(FP32, first), op1, tile_of(FP32, second),
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
        got = tensor_reduce(tile_of(BF16, data), op, negate=negate)
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
    for fmt in (FP32, BF16):
        got = codes_of(reciprocal(tile_of(FP32, data), dtype=DTYPES[fmt]))
        expected = [[fp32.convert(fp32.reciprocal(int(x)), FP32, fmt) for x in row] for row in data]
        assert got.tolist() == expected


X_BF16 = np.ones((4, 3), ml_dtypes.bfloat16)
BAD_INSTRUCTIONS = [
    (lambda: activation(X_BF16.astype(np.float64), "copy"), TypeError, "data must be float32, bfloat16, float16, float8_e4m3, float8_e4m3fn, float8_e5m2, int8,"),
    (lambda: activation(X_BF16[0], "copy"), ValueError, r"data must have shape \[P, F\] with P from 1 to 128 and F of at least"),
    (lambda: activation(X_BF16[:0], "copy"), ValueError, r"data must have shape \[P, F\] with P from 1 to 128 and F of at least"),
    (lambda: activation(X_BF16[:, :0], "copy"), ValueError, r"data must have shape \[P, F\] with P from 1 to 128 and F of"),
    (lambda: activation(np.ones((129, 1), np.float32), "copy"), ValueError, r"data must have shape \[P, F\] with P from 1 to 128 and F of"),
    (lambda: activation(X_BF16, "swish"), ValueError, "op must be 'copy', 'square', 'sqrt', 'rsqrt', 'reciprocal', 'exp', 'abs', 'relu', 'sign', 'sigmoid',"),
    (lambda: activation(X_BF16, None), TypeError, "op must be 'copy', 'square', 'sqrt', 'rsqrt', 'reciprocal',"),
    (lambda: activation(X_BF16, "copy", scale="1"), TypeError, r"scale must be a number, or an array \[P, 1\], not '1'"),
    (lambda: activation(X_BF16, "copy", bias=True), TypeError, r"bias must be a number, or an array \[P, 1\], not True"),
    (lambda: activation(X_BF16, "copy", scale=10**400), ValueError, r"scale must be a number of float64's range, or an array \[P, 1\], not"),
    (lambda: activation(X_BF16, "copy", bias=-(10**5000)), ValueError, r"bias must be a number of float64's range, or an array \[P, 1\], not"),
    (lambda: tensor_scalar(X_BF16, "add", 10**400), ValueError, r"operand0 must be a number of float64's range, or an array \[P, 1\],"),
    (lambda: exponential(X_BF16, 10**400), ValueError, r"max_value must be a number of float64's range, or an array \[P, 1\],"),
    (lambda: activation(X_BF16, "copy", bias=X_BF16), ValueError, r"bias must have shape \(4, 1\) or a number, not \(4, 3\)"),
    (lambda: activation(X_BF16, "copy", bias=np.ones((4, 1))), TypeError, "bias must be float32, bfloat16, float16, float8_e4m3,"),
    (lambda: activation(X_BF16, "copy", dtype=np.int64), TypeError, "dtype must be float32, bfloat16, float16, float8_e4m3,"),
    (lambda: activation_reduce(X_BF16, "copy", reduce_op="max"), ValueError, "reduce_op must be 'add', not 'max'"),
    (lambda: activation_reduce(X_BF16, "copy", sum_order="tree"), ValueError, "sum_order must be 'serial' or 'exact', not 'tree'"),
    (lambda: tensor_scalar(X_BF16, "divide", 1.0), ValueError, "op0 must be 'add', 'subtract', 'multiply', 'max', 'min', 'abs_max', 'abs_min',"),
    (lambda: tensor_scalar(X_BF16, "add"), TypeError, r"operand0 must be a number, or an array \[P, 1\], not None"),
    (lambda: tensor_scalar(X_BF16, "abs", 1.0), ValueError, "op0 must be a binary operator with an operand or reverse, not 'abs'"),
    (lambda: tensor_scalar(X_BF16, "abs", reverse0=True), ValueError, "op0 must be a binary operator with an operand or reverse, not 'abs'"),
    (lambda: tensor_scalar(X_BF16, "add", 1.0, operand1=1.0), ValueError, "op1 must be an operator with operand1 or reverse1, not None"),
    (lambda: tensor_scalar(X_BF16, "add", 1.0, "add"), TypeError, r"operand1 must be a number, or an array \[P, 1\], not None"),
    (lambda: tensor_scalar(X_BF16, "add", 1.0, reverse0=1), TypeError, "reverse0 must be True or False, not 1"),
    (lambda: tensor_scalar_reduce(X_BF16, "abs", reduce_op=None), TypeError, "reduce_op must be 'add', 'multiply', 'max', 'min', 'abs_max' or 'abs_min', not None"),
    (lambda: scalar_tensor_tensor(X_BF16, "add", 1.0, "add", X_BF16[:, :2]), ValueError, r"operand1 must have data's shape \(4, 3\), not \(4, 2\)"),
    (lambda: scalar_tensor_tensor(X_BF16, "abs", 1.0, "add", X_BF16), ValueError, "op0 must be 'add', 'subtract', 'multiply', 'max', 'min', 'abs_max', 'abs_min',"),
    (lambda: scalar_tensor_tensor(X_BF16, "add", 1.0, "abs", X_BF16), ValueError, "op1 must be 'add', 'subtract', 'multiply', 'max', 'min', 'abs_max', 'abs_min',"),
    (lambda: scalar_tensor_tensor(X_BF16, "add", 1.0, "add", X_BF16, reverse1=0), TypeError, "reverse1 must be True or False, not 0"),
    (lambda: tensor_reduce(X_BF16, "sum"), ValueError, "op must be 'add', 'multiply', 'max', 'min', 'abs_max' or 'abs_min', not 'sum'"),
    (lambda: tensor_reduce(X_BF16, "add", negate=None), TypeError, "negate must be True or False, not None"),
    (lambda: reciprocal(X_BF16, dtype=ml_dtypes.float8_e8m0fnu), TypeError, "dtype must be float32, bfloat16, float16, float8_e4m3, float8_e4m3fn,"),
    (lambda: reciprocal(X_BF16.astype(np.int64)), TypeError, "data must be float32, bfloat16, float16, float8_e4m3,"),
]  # fmt: skip


def test_arguments_of_instructions(subtests):
    for call, error, sentence in BAD_INSTRUCTIONS:
        with subtests.test(sentence), pytest.raises(error, match=f"^{sentence}"):
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
