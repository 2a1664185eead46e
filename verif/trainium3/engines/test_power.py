"""GpSimd's power: the scalar tier against the decimal module and by hand, the arrays against the scalar tier."""

from decimal import Context, Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.codec import decode
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.golden.trainium3 import tensor_tensor
from bitpath.golden.trainium3.declarations.dtypes import FORMATS
from bitpath.golden.trainium3.exact import power as exact_power
from bitpath.golden.trainium3.exact import tensor_tensor as exact_tensor_tensor
from bitpath.verif.trainium3.engines.codes import SPECIALS, bits, destination, draw, tile

NAMES = tuple(FORMATS)
FLAT = [name for name in NAMES if name != "tf32"]
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
def test_tensor_tensor(name):
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


X = np.ones((1, 1), np.float32)
BAD = [
    (lambda: tensor_tensor(X, X, "power"), "engine must be 'gpsimd' for power, not 'vector'"),
    (lambda: exact_tensor_tensor(1, "int8", 1, "int8", "power", "int8"), "engine must be 'gpsimd', not 'vector'"),
]


@pytest.mark.parametrize(("call", "sentence"), BAD)
def test_arguments(call, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}"):
        call()
