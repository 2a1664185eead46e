"""Corners of the quad-MX dot step whose sum is at a boundary of the accumulator, or one sticky bit beside it.

    sum = boundary + side * unit * 2**-distance

The sticky bit is a product at every distance that products span, or the partial sum at every distance that FP32 spans.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from random import Random

from bitpath.golden.formats.catalogue import E4M3FN, E8M0, FP32, FloatFormat
from bitpath.golden.scalar.rounding import floor_log2, round_to_format
from bitpath.golden.trainium3.declarations.quad_mx import DotNumerics
from bitpath.verif.kit.boundaries import SIDES, Boundary, Near, halves, near_floats
from bitpath.verif.trainium3.dot.quad_mx import DotCase
from bitpath.verif.trainium3.dot.quad_mx_corner import Corner, exponents, pairs

PRODUCT_DISTANCES = range(2, 66)
"""From the unit down to a sticky product: the largest and the smallest product are 62 binades apart."""
PARTIAL_DISTANCES = (*range(2, 126), 140, 170, 200, 229)
"""From the unit down to a sticky partial sum: through the clamp of its shifter, and the whole range of FP32."""
FACTORS = range(8)
"""Integers that every element format has in units of each of its powers of two."""
SCALES = range(-2 * E8M0.bias, 2 * E8M0.bias + 1)
"""Exponents of a product of two scales."""
REPORTED = DotCase((0x78, 0x01, 0x00, 0x00), E4M3FN, (0x78, 0x01, 0x00, 0x00), E4M3FN, 0x2C, 0x2C)
"""2**-150 + 2**-184: the tie of zero and FP32's smallest subnormal, and a product 34 binades below it."""


def reported(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    """Yield ``REPORTED``, which a unit rounded to zero, to numerics that keep both products."""
    kept = numerics.align_fraction_bits is None and numerics.element_subnormals
    if kept and E4M3FN in numerics.element_formats and numerics.terms == len(REPORTED.stationary):
        total = Fraction(1, 1 << 150) + Fraction(1, 1 << 184)
        yield Corner("boundary/reported", REPORTED, lambda trace: trace.total == total, certain=True)


def near_boundaries(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    """Products half a unit and less, on a partial sum; or products that lead, and a partial sum takes units away again."""
    for each in near_floats(numerics.accumulator, rng, PRODUCT_DISTANCES, numerics.accumulator_rounding):
        lower, unit = each.boundary.lower, each.boundary.unit
        below = [each.half * unit / 2, each.sticky]
        yield from _corner(numerics, rng, each, f"boundary/{each.bin}", below, lower)
        if lower / unit < FACTORS[-1]:
            taken = rng.randint(1, FACTORS[-1] - int(lower / unit)) * unit
            name = f"boundary/products lead/{SIDES[each.side]}"
            yield from _corner(numerics, rng, each, name, [lower + taken, *below], -taken)


def sticky_partial_sums(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    """Two products that make the boundary, and a partial sum far below them."""
    fmt = numerics.accumulator
    lowest = fmt.emin - (fmt.fraction_bits if numerics.accumulator_subnormals else 0)
    for half in halves(numerics.accumulator_rounding):
        for distance in PARTIAL_DISTANCES:
            # The partial sum is a number of the format also where the unit is that of the next lower binade.
            power = Fraction(2) ** rng.randint(max(fmt.emin + 1, lowest + distance + fmt.fraction_bits + 1), fmt.emax)
            above, below = power / 2**fmt.fraction_bits, power / 2 ** (fmt.fraction_bits + 1)
            top = fmt.max + (last := Fraction(2) ** (fmt.emax - fmt.fraction_bits))
            for boundary in (
                Boundary("power of two", power, above),
                Boundary("next binade", power - below, below),
                Boundary("overflow", top - last, last),
            ):
                leading = {"power of two": power, "next binade": power, "overflow": top}[boundary.name]
                for side in (-1, 1):
                    each = Near(boundary, half, side, distance)
                    name = f"boundary/sticky partial sum/{each.bin}"
                    yield from _corner(numerics, rng, each, name, [leading, each.middle - leading], each.sticky)


def _corner(
    numerics: DotNumerics, rng: Random, near: Near, name: str, products: Sequence[Fraction], partial: Fraction
) -> Iterator[Corner]:
    """Yield the corner, if formats and numerics have one: alignment may drop its lowest bits, and numerics may flush a term."""
    case = _case(numerics, rng, products, partial)
    whole = numerics.align_fraction_bits is None and numerics.accumulator_subnormals
    if case is None or not (whole or abs(case.trace(numerics).total) == near.value):
        return
    yield Corner(name, case, lambda trace: abs(trace.total) == near.value, certain=True)


def _case(numerics: DotNumerics, rng: Random, products: Sequence[Fraction], partial: Fraction) -> DotCase | None:
    """Return a case of these terms, or of all of them negated; None if there are too many, or no pair of formats has them."""
    if len(products) > numerics.terms:
        return None
    sign = rng.choice((-1, 1))
    terms = [sign * each for each in products] + [Fraction(0)] * (numerics.terms - len(products))
    rng.shuffle(terms)
    for x, y in rng.sample(pairs(numerics), len(pairs(numerics))):
        own, other = (_exponents(numerics, fmt) for fmt in (x, y))
        lowest, highest = own[0] + other[0], own[-1] + other[-1]
        fitting = range(
            max([SCALES[0], *(floor_log2(each) - highest for each in terms if each)]),
            min([SCALES[-1], *(_last_bit(each) - lowest for each in terms if each)]) + 1,
        )
        if not fitting:
            continue
        scale = rng.choice(fitting)
        codes = [_product(x, y, own, other, each / Fraction(2) ** scale, rng) for each in terms]
        stationary, moving = zip(*codes, strict=True)
        start = round_to_format(sign * partial, FP32, zero_sign=rng.getrandbits(1))
        return DotCase(stationary, x, moving, y, partial=start).scaled(scale)
    return None


def _product(x: FloatFormat, y: FloatFormat, own: range, other: range, value: Fraction, rng: Random) -> tuple[int, int]:
    """Codes whose product is the value, one of ``FACTORS`` times a power of two, or a zero of any sign."""
    negate = rng.choice((-1, 1))
    if not value:
        return rng.getrandbits(1) * x.sign_mask, round_to_format(negate * Fraction(2) ** rng.choice(other), y)
    low, high = _last_bit(value), floor_log2(value)
    power = rng.choice([each for each in other if own[0] <= low - each and high - each <= own[-1]])
    second = negate * Fraction(2) ** power
    return round_to_format(value / second, x), round_to_format(second, y)


def _exponents(numerics: DotNumerics, fmt: FloatFormat) -> range:
    """Exponents of a format's powers of two, without those that are flushed."""
    return range(exponents(fmt)[0] if numerics.element_subnormals else fmt.emin, exponents(fmt)[-1] + 1)


def _last_bit(value: Fraction) -> int:
    """Exponent of the last bit of a finite binary number other than 0."""
    return floor_log2(Fraction(value.numerator & -value.numerator, value.denominator))


BOUNDARIES = (reported, near_boundaries, sticky_partial_sums)
"""Makers of corners, each a function of numerics and randomness."""
