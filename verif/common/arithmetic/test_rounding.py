# amaranth: UnusedElaboratable=no
"""The operators that round, or prepare for it, against golden's exact tier, in Amaranth's own simulator."""

from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest

from bitpath.golden.arrays.codec import DTYPES, codes_of
from bitpath.golden.formats.catalogue import BF16, FP16, FP32, TF32, Rounding
from bitpath.golden.scalar.codec import Overflow
from bitpath.golden.scalar.rounding import floor_log2, round_to_format
from bitpath.golden.trainium3.exact.array import psum_write
from bitpath.golden.trainium3.matmul.instruction import psum_write as psum_write_array
from bitpath.rtl.common.arithmetic.add import ExactAdd
from bitpath.rtl.common.arithmetic.decode import normal_sum
from bitpath.rtl.common.arithmetic.round import Round
from bitpath.rtl.common.fp32.fp32_arithmetic import Fp32ToBf16

EXPONENT_WIDTH = 11


def rounder(fmt=FP32, rounding=Rounding.RNE, subnormals=True, overflow_to_infinity=True):
    layout = normal_sum(fmt.precision, EXPONENT_WIDTH)
    return Round(layout, fmt, rounding=rounding, subnormals=subnormals, overflow_to_infinity=overflow_to_infinity)


def sums(fmt, rng):
    """Normalised sums around every edge of the format: (significand, guard, sticky, exponent, sign)."""
    top = 1 << fmt.fraction_bits
    significands = [top, top + 1, top | 1 << fmt.fraction_bits - 1, 2 * top - 2, 2 * top - 1]
    exponents = [-300, *range(fmt.emin - fmt.precision - 3, fmt.emin + 3), 0, fmt.emax - 1, fmt.emax, fmt.emax + 1, 300]
    cases = list(product(significands, (0, 1), (0, 1), exponents, (0, 1)))
    for _ in range(300):
        exponent = rng.choice(exponents) if rng.getrandbits(1) else rng.randint(-160, 130)
        guard, sticky, sign = (rng.getrandbits(1) for _ in range(3))
        cases.append((top | rng.getrandbits(fmt.fraction_bits), guard, sticky, exponent, sign))
    return cases


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"rounding": Rounding.RTZ},
        {"subnormals": False},
        {"rounding": Rounding.RTZ, "overflow_to_infinity": False},
        {"overflow_to_infinity": False, "subnormals": False},
        {"fmt": TF32},
        {"fmt": BF16, "subnormals": False},
        {"fmt": BF16, "rounding": Rounding.RTZ, "overflow_to_infinity": False},
    ],
    ids=str,
)
def test_round_is_one_rounding_of_the_exact_sum(evaluate, options):
    component = rounder(**options)
    fmt = component.fmt
    cases = sums(fmt, Random(str(options)))
    vectors = [
        {"i": {"significand": s, "guard": g, "sticky": t, "exponent": e, "sign": sign, "zero": 0}}
        for s, g, t, e, sign in cases
    ]
    overflow = Overflow.SPECIAL if component.overflow_to_infinity else Overflow.SATURATE
    for (s, g, t, e, sign), got in zip(cases, evaluate(component, vectors), strict=True):
        # The sticky bit may be any value below the guard bit; a quarter of a unit represents it.
        value = (s + Fraction(g, 2) + Fraction(t, 4)) * Fraction(2) ** (e - fmt.fraction_bits)
        code = round_to_format(-value if sign else value, fmt, component.rounding, overflow=overflow)
        if not component.subnormals and code & ~fmt.sign_mask <= fmt.fraction_mask:
            code &= fmt.sign_mask
        assert got == code << FP32.fraction_bits - fmt.fraction_bits, (s, g, t, e, sign)


def test_what_overrides_a_sum(evaluate):
    normal = {"significand": 1 << 23, "guard": 0, "sticky": 0, "exponent": 0, "sign": 1}
    cases = list(product((0, 1), repeat=4))
    vectors = [
        {"i": normal | {"zero": zero}, "special": {"nan": nan, "inf": inf, "sign": sign}}
        for nan, inf, sign, zero in cases
    ]
    for (nan, inf, sign, zero), got in zip(cases, evaluate(rounder(), vectors), strict=True):
        negative = sign * FP32.sign_mask
        expected = FP32.nan_code if nan else negative | FP32.infinity_code if inf else negative if zero else 0xBF800000
        assert got == expected


@pytest.mark.parametrize(
    ("options", "says"),
    [({"fmt": FP16}, "must have the exponents of FP32"), ({"rounding": Rounding.SR}, "must be RNE or RTZ")],
)
def test_round_refuses_what_it_cannot_do(options, says):
    with pytest.raises(ValueError, match=says):
        rounder(**options)


LOW_HALVES = (0x0000, 0x0001, 0x7FFF, 0x8000, 0x8001, 0xFFFF)
"""Low halves of an FP32 code around BF16's tie."""


@pytest.mark.parametrize("low", LOW_HALVES[2:5], ids=hex)
def test_narrow_every_high_half(evaluate, low):
    codes = np.arange(1 << 16, dtype=np.uint32) << 16 | low
    expected = codes_of(psum_write_array(codes, None, DTYPES[BF16])).astype(np.uint32) << 16
    assert evaluate(Fp32ToBf16(), [{"i": code, "stochastic": 0} for code in codes.tolist()]) == expected.tolist()


def test_narrow_is_the_psum_write(evaluate):
    rng = Random("narrow")
    cases = [
        (high << 16 | low, sr, bits)
        for high in (0, 1, 0x7F, 0x80, 0x3F80, 0x7F7F, 0x7F80, 0x7FC0, 0xFF80, 0xFFFF)
        for low in LOW_HALVES
        for sr, bits in ((0, 0), (1, 0), (1, 1), (1, 0x8000), (1, 0xFFFF))
    ]
    cases += [(rng.getrandbits(32), rng.getrandbits(1), rng.getrandbits(16)) for _ in range(2000)]
    results = evaluate(Fp32ToBf16(), [{"i": code, "stochastic": sr, "random": bits} for code, sr, bits in cases])
    for (code, sr, bits), got in zip(cases, results, strict=True):
        assert got == psum_write(code, None, BF16, Rounding.SR if sr else Rounding.RNE, bits) << 16, hex(code)


def test_a_carry_out_of_stochastic_rounding_reaches_infinity(evaluate):
    assert evaluate(Fp32ToBf16(), [{"i": 0x7F7FFFFF, "stochastic": 1, "random": 1}]) == [0x7F800000]


@pytest.mark.parametrize(("fixed_width", "precision"), [(5, 3), (8, 4), (4, 6)])
def test_exact_add_rounds_like_the_exact_sum(evaluate, fixed_width, precision):
    """Addends at every alignment distance, with edge values: the kept bits must round as the exact sum does."""
    offset = 40
    component = ExactAdd(
        fixed_width=fixed_width, fixed_exponent_width=7, exponent_width=7, precision=precision, offset=offset
    )
    rng = Random(f"{fixed_width} {precision}")
    least, most = -(1 << fixed_width - 1), (1 << fixed_width - 1) - 1
    cases = []
    for distance in range(-2 * component.window, 2 * component.window):
        for _ in range(12):
            fixed = rng.choice((0, 1, -1, most, least + 1, rng.randint(least + 1, most)))
            significand = rng.choice((0, 1, (1 << precision) - 1, 1 << precision - 1, rng.getrandbits(precision)))
            low = max(0, offset - 64 + distance)
            high = min(127, offset + 63 + distance)
            if low <= high:
                exponent = rng.randint(low, high)
                cases.append((fixed, exponent - offset - distance, significand, exponent, rng.getrandbits(1)))
    finite = {"inf": 0, "nan": 0}
    vectors = [
        {"fixed": f, "fixed_exponent": fe, "number": finite | {"significand": s, "exponent": e, "sign": sign}}
        for f, fe, s, e, sign in cases
    ]
    exact = [
        fixed * Fraction(2) ** fixed_exponent + (-1) ** sign * significand * Fraction(2) ** (exponent - offset)
        for fixed, fixed_exponent, significand, exponent, sign in cases
    ]
    for case, value, got in zip(cases, exact, evaluate(component, vectors), strict=True):
        kept = (-1) ** got.sign * got.magnitude * Fraction(2) ** got.exponent
        # A number without its leading bit is a subnormal: no format has finer places there than its last one.
        last_place = Fraction(2) ** (case[3] - offset) if case[2] else 0
        leading = Fraction(2) ** floor_log2(value) if value else 0
        unit = max(leading / (1 << precision - 1), 0 if case[2] >> precision - 1 else last_place)
        if value == 0:
            assert kept == 0
        else:
            assert [rounding(kept / unit) for rounding in (round, int)] == [
                rounding(value / unit) for rounding in (round, int)
            ], case
            assert got.sign == (value < 0)
