"""Bench of FP32 to narrower floats; `lane_tests` says how each test sends them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from random import Random
from typing import Any, ClassVar, Self

import numpy as np

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.codes import FLOAT_SHIFTS, RoundingCode
from bitpath.golden.aie_ml_v2.mac.flags import with_lane_flags
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, FP32, FloatFormat, Rounding, Specials
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.rtl.aie_ml_v2.floats.layouts import FloatCode
from bitpath.rtl.aie_ml_v2.floats.operators import FLOAT_NARROW
from bitpath.verif.aie_ml_v2.floats.lane_bench import Beside, Corner, LaneAsk, beside, lane_bench, lane_tests
from bitpath.verif.common.boundary_codes import codes_about
from bitpath.verif.common.fp32.numbers import EDGES
from bitpath.verif.kit.testplan import covers

FORMATS = [each.fmt for each in FloatCode]


@dataclass(frozen=True)
class NarrowAsk(LaneAsk):
    """The control of a conversion; ``shift`` has an effect on 8-bit formats alone."""

    fmt: FloatFormat
    rounding: RoundingCode
    saturate: int = 0
    shift: int = 0

    operator: ClassVar = FLOAT_NARROW
    operand: ClassVar = FP32

    def __str__(self) -> str:
        return f"{self.fmt.name}, {self.rounding.name}, saturation {self.saturate}, shift {self.shift}"

    @property
    def result(self) -> FloatFormat:
        return self.fmt

    @property
    def bins(self) -> Sequence[str]:
        return f"{self.fmt.name}/{self.rounding.name}", f"{self.fmt.name}/saturation {self.saturate}"

    @property
    def fields(self) -> Mapping[str, Any]:
        return {
            "target": FloatCode.of(self.fmt).value,
            "rounding": self.rounding.value,
            "saturation": self.saturate,
            "shift": self.shift,
        }

    @property
    def scale(self) -> int:
        """Power of two that operands are multiplied by."""
        return self.shift if self.fmt.width == 8 else 0

    def golden(self, codes: np.ndarray) -> tuple[np.ndarray, Mapping[str, np.ndarray]]:
        options = {"rounding": self.rounding, "saturate": self.saturate}
        if self.fmt.width == 8:
            return with_lane_flags(aie.f32_to_fp8, codes, DTYPES[self.fmt], shift=self.shift, **options)
        return with_lane_flags(aie.f32_to_bf16 if self.fmt is BF16 else aie.f32_to_fp16, codes, **options)

    def shifted(self, source: Random) -> Self:
        return replace(self, shift=source.choice((0, source.choice(FLOAT_SHIFTS))))

    def code(self, source: Random) -> int:
        near = FP32.bias + source.randint(*self._exponents) - self.scale
        exponent = min(max(near, 0), FP32.exponent_mask - 1)
        place = FP32.fraction_bits - self.fmt.fraction_bits + source.choice((0, 0, 0, source.randint(-1, 8)))
        kept = source.choice((source.getrandbits(FP32.fraction_bits), FP32.fraction_mask, 0)) >> place << place
        tie = kept | source.choice((0, (1 << place) - 1, 1 << place - 1, (1 << place - 1) - 1, (1 << place - 1) + 1))
        fraction = source.choice((tie & FP32.fraction_mask, source.getrandbits(FP32.fraction_bits)))
        number = exponent << FP32.fraction_bits | fraction | source.getrandbits(1) * FP32.sign_mask
        return source.choice((number, number, number, number, source.choice(EDGES), source.getrandbits(FP32.width)))

    @cached_property
    def _exponents(self) -> tuple[int, int]:
        """Exponents from below half of the smallest number to beyond the largest."""
        return self.fmt.emin - self.fmt.fraction_bits - 3, self.fmt.emax + 2


KINDS = [
    NarrowAsk(fmt, rounding, (place + place // 4) % 4) for fmt in FORMATS for place, rounding in enumerate(RoundingCode)
]
"""Every format in every rounding, with every saturation."""


def operands(fmt: FloatFormat) -> list[int]:
    """Return FP32 codes of both signs: each exponent about the format's range with the first and the last four of its
    fractions, ties between them and their neighbours; single bits, and leading ones, for ties of subnormals; specials."""
    low = max(0, FP32.bias + fmt.emin - fmt.fraction_bits - 3)
    exponents = range(low, min(FP32.bias + fmt.emax + 2, FP32.exponent_mask - 1) + 1)
    place = FP32.fraction_bits - fmt.fraction_bits
    kept = {*range(4), *range(fmt.fraction_mask - 3, fmt.fraction_mask + 1)}
    halves = (0, 1, (1 << place - 1) - 1, 1 << place - 1, (1 << place - 1) + 1, (1 << place) - 1)
    fractions = {each << place | half for each in kept for half in halves}
    for bit in range(FP32.fraction_bits):
        fractions |= {1 << bit, FP32.fraction_mask >> bit << bit}
    codes = [exponent << FP32.fraction_bits | fraction for exponent in exponents for fraction in sorted(fractions)]
    return [*EDGES, *codes, *(code | FP32.sign_mask for code in codes)]


_OPERANDS = {fmt: operands(fmt) for fmt in FORMATS}
SWEEP = [(kind, _OPERANDS[kind.fmt]) for kind in KINDS]
ROUNDED = {
    # Last places that rounding adds to 1 + 1/4, 1/2 and 3/4 of a last place, to an odd last place and a half, and to
    # their negatives.
    RoundingCode.FLOOR: (0, 0, 0, 1, 1, 1, 1, 2),
    RoundingCode.CEIL: (1, 1, 1, 2, 0, 0, 0, 1),
    RoundingCode.SYMMETRIC_FLOOR: (0, 0, 0, 1, 0, 0, 0, 1),
    RoundingCode.SYMMETRIC_CEIL: (1, 1, 1, 2, 1, 1, 1, 2),
    RoundingCode.NEGATIVE_INF: (0, 0, 1, 1, 0, 1, 1, 2),
    RoundingCode.POSITIVE_INF: (0, 1, 1, 2, 0, 0, 1, 1),
    RoundingCode.SYMMETRIC_ZERO: (0, 0, 1, 1, 0, 0, 1, 1),
    RoundingCode.SYMMETRIC_INF: (0, 1, 1, 2, 0, 1, 1, 2),
    RoundingCode.CONV_EVEN: (0, 0, 1, 2, 0, 0, 1, 2),
    RoundingCode.CONV_ODD: (0, 1, 1, 1, 0, 1, 1, 1),
}
QUARTERS = (1, 2, 3, 6)
EVEN = RoundingCode.CONV_EVEN


def corners() -> list[Corner]:
    return [each for maker in (_ties, _upper, _lower, _specials) for fmt in FORMATS for each in maker(fmt)]


def _ties(fmt: FloatFormat) -> Iterator[Corner]:
    """Every rounding code below, at and above the midpoint, of numbers just above 1."""
    one, sign = fmt.bias << fmt.fraction_bits, fmt.sign_mask
    for rounding, places in ROUNDED.items():
        ask = NarrowAsk(fmt, rounding)
        for index, (negative, quarters) in enumerate(product((0, 1), QUARTERS)):
            operand = round_to_format(1 + Fraction(quarters, 4 << fmt.fraction_bits), FP32) | negative << 31
            result = one + places[index] | negative * sign
            name = f"{fmt.name}/{'-' if negative else ''}{quarters} quarters/{rounding.name}"
            yield Corner(name, ask, operand, result)


def _upper(fmt: FloatFormat) -> Iterator[Corner]:
    """The largest number, the midpoint above it, and infinity, in every saturation."""
    last = fmt.max - Fraction(2) ** (fmt.emax - fmt.fraction_bits)
    midpoint = round_to_format(fmt.max + (fmt.max - last) / 2, FP32)
    special, infinity = fmt.max_code + 1, ("infinity",) if fmt.infinity_code else ()
    unsigned = fmt.specials is Specials.UNSIGNED_ZERO
    for saturate, negative in product(range(4), (0, 1)):
        sign = negative * fmt.sign_mask
        lost = special if unsigned else special | sign
        place = f"{fmt.name}/saturation {saturate}/{'-' if negative else '+'}"
        ask, sign32 = NarrowAsk(fmt, EVEN, saturate), negative << 31
        yield Corner(f"{place}/largest", ask, round_to_format(fmt.max, FP32) | sign32, fmt.max_code | sign)
        yield Corner(f"{place}/below the midpoint", ask, midpoint - 1 | sign32, fmt.max_code | sign)
        ends = {0: (lost, ("huge", *infinity)), 1: (fmt.max_code | sign, ("huge",))}
        # E4M3FN's largest code is even, so that a tie to even stays.
        rounding = EVEN if fmt.max_code & 1 else RoundingCode.SYMMETRIC_INF
        yield Corner(f"{place}/midpoint", replace(ask, rounding=rounding), midpoint | sign32, *ends[saturate & 1])
        held = {0: (lost, infinity), 1: (fmt.max_code | sign, ())}
        yield Corner(f"{place}/infinity", ask, FP32.infinity_code | sign32, *held[saturate >> 1])


def _lower(fmt: FloatFormat) -> Iterator[Corner]:
    """The smallest normal number and what rounds to it, the smallest number and half of it, zeros."""
    normal, unit = fmt.min_normal, fmt.min_subnormal
    unsigned = fmt.specials is Specials.UNSIGNED_ZERO
    for negative in (0, 1):
        sign, sign32 = negative * fmt.sign_mask, negative << 31
        zero = 0 if unsigned else sign
        ask, place = NarrowAsk(fmt, EVEN), f"{fmt.name}/{'-' if negative else '+'}"
        yield Corner(
            f"{place}/smallest normal", ask, round_to_format(normal, FP32) | sign32, 1 << fmt.fraction_bits | sign
        )
        # The unbounded result has one more bit than the subnormal one: a quarter unit below rounds up in both.
        quarter = round_to_format(normal - unit / 4, FP32)
        yield Corner(f"{place}/quarter below normal", ask, quarter | sign32, 1 << fmt.fraction_bits | sign)
        below = round_to_format(normal - unit * Fraction(3, 8), FP32)
        yield Corner(f"{place}/more below normal", ask, below | sign32, 1 << fmt.fraction_bits | sign, ("tiny",))
        yield Corner(f"{place}/smallest", ask, round_to_format(unit, FP32) | sign32, 1 | sign, ("tiny",))
        half = round_to_format(unit / 2, FP32)
        yield Corner(f"{place}/half of the smallest", ask, half | sign32, zero, ("zero", "tiny"))
        yield Corner(f"{place}/more than half", ask, half + 1 | sign32, 1 | sign, ("tiny",))
        yield Corner(f"{place}/zero", ask, sign32, zero, ("zero",))
        up = NarrowAsk(fmt, RoundingCode.SYMMETRIC_CEIL)
        yield Corner(f"{place}/smallest FP32 away from zero", up, 1 | sign32, 1 | sign, ("tiny",))


def boundaries() -> list[Beside]:
    """Ties of every format to nearest even, and its numbers in a directed rounding, with a bit beside them at every distance."""
    source, found = Random(0), []
    for fmt, (rounding, mode) in product(FORMATS, ((EVEN, Rounding.RNE), (RoundingCode.SYMMETRIC_CEIL, Rounding.RTA))):
        values = []
        for each, code in codes_about(fmt, source, rounding=mode):
            sign = source.getrandbits(1)
            result = round_to_format(-each.value if sign else each.value, fmt, mode, zero_sign=sign)
            # NaN keeps the sign of what overflows where zero has one too.
            result |= sign * fmt.sign_mask if fmt.specials is Specials.NAN_ONLY else 0
            values.append((each.boundary.name, code | sign * FP32.sign_mask, result))
        found += beside(NarrowAsk(fmt, rounding), values)
    return found


def _specials(fmt: FloatFormat) -> Iterator[Corner]:
    """NaN with high, low and all fraction bits, and the largest shifts of 8-bit formats."""
    for negative, (name, fraction) in product((0, 1), (("quiet", 1 << 22), ("low", 1), ("all", FP32.fraction_mask))):
        sign = negative * fmt.sign_mask
        match fmt.specials:
            case Specials.UNSIGNED_ZERO:
                result = fmt.nan_code
            case Specials.NAN_ONLY:
                result = fmt.nan_code | sign
            case _:
                payload = fraction >> FP32.fraction_bits - fmt.fraction_bits
                result = fmt.infinity_code | max(payload, 1) | sign
        operand = FP32.infinity_code | fraction | negative << 31
        place = f"{fmt.name}/{'-' if negative else '+'}/NaN {name}"
        yield Corner(place, NarrowAsk(fmt, EVEN, 3), operand, result, ("invalid",))
    if fmt.width == 8:
        one = fmt.bias << fmt.fraction_bits
        for shift in (FLOAT_SHIFTS[0], -1, 1, FLOAT_SHIFTS[-1]):
            operand = round_to_format(Fraction(2) ** -shift, FP32)
            yield Corner(f"{fmt.name}/shift {shift}", NarrowAsk(fmt, EVEN, shift=shift), operand, one)
    else:
        yield Corner(
            f"{fmt.name}/shift ignored",
            NarrowAsk(fmt, EVEN, shift=5),
            round_to_format(Fraction(1), FP32),
            fmt.bias << fmt.fraction_bits,
        )


BENCH = lane_bench(__name__, FLOAT_NARROW, KINDS)
random_requests, latency, resets = BENCH.tests()
swept_operands, directed_corners, range_boundaries = lane_tests(BENCH, corners(), SWEEP, boundaries())
covers(
    "float_narrow.sweep",
    "Each rounding code differs from the others only in a few of these",
    "Each exponent of seven formats with fractions at, below and above ties, in ten rounding codes and four "
    "saturations; a sample, in the deep test all",
    swept_operands,
)
covers(
    "float_narrow.corners",
    "Golden and RTL could share a wrong table",
    "Stated results and flags: ties of both signs in ten codes; the largest number, the midpoint above it and "
    "infinity in four saturations; the smallest normal number and what rounds to it; the smallest number and half "
    "of it; NaN; shifts",
    directed_corners,
)
covers(
    "float_narrow.boundaries",
    "The sticky bit alone decides there, and the ends of the range are rounders of their own",
    "Ties at the ends of seven formats' subnormal and normal numbers and between, to nearest even, and results in "
    "a directed rounding: each with one bit beside it at every distance, against the exact result",
    range_boundaries,
)
covers(
    "float_narrow.stream",
    "Each request carries its own control through all pipeline stages",
    "Every format in every rounding and saturation, with any shift, in any order, full speed, gaps, stalls and "
    "both; latency; resets",
    random_requests,
    latency,
    resets,
)
