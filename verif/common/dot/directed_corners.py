"""Directed corners of the quad-MX dot step, each with the property of golden's trace that makes it one.

A bin counts as hit only where its property holds, so a corner that misses its mark shows up as a bin not hit.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from random import Random

from amaranth.utils import exact_log2

from bitpath.golden.formats.catalogue import E4M3FN, E5M2, E8M0, FP32, FloatFormat, Rounding
from bitpath.golden.formats.dot import DotNumerics
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.dot import DotTrace, Term
from bitpath.golden.scalar.rounding import floor_log2, round_to_format, ulp
from bitpath.verif.common.dot.cases import (
    SPLIT,
    DotCase,
    finite_case,
    finite_code,
    is_special,
    on_grid,
    partial_near,
    product_sum,
)
from bitpath.verif.kit.values import SIDES, Boundary, Near, halves, near_floats

ONE = FP32.bias << FP32.fraction_bits
"""FP32's code of 1."""


@dataclass(frozen=True)
class Corner:
    """A case, its bin, and a check of the bin's property on the case's trace; a ``certain`` case must have the property."""

    bin: str
    case: DotCase
    holds: Callable[[DotTrace], bool]
    certain: bool = False

    def hits(self, trace: DotTrace) -> bool:
        """Return whether the case has the property. Raises AssertionError for a certain one that lacks it."""
        held = self.holds(trace)
        assert held or not self.certain, f"{self.bin}: the corner misses its mark: {self.case}"
        return held


def power(fmt: FloatFormat, exponent: int = 0, sign: int = 0) -> int:
    """The code of ``(-1)**sign * 2**exponent``, subnormal where it must be."""
    biased = exponent + fmt.bias
    magnitude = biased << fmt.fraction_bits if biased > 0 else 1 << fmt.fraction_bits + biased - 1
    return magnitude | (fmt.sign_mask if sign else 0)


def exponents(fmt: FloatFormat) -> range:
    """Exponents of the powers of two in a format."""
    return range(fmt.emin - fmt.fraction_bits, fmt.emax + 1)


def pairs(numerics: DotNumerics) -> list[tuple[FloatFormat, FloatFormat]]:
    """Formats of the two sides, mixed ones too."""
    return list(product(numerics.element_formats, repeat=2))


def lanes(numerics: DotNumerics, rest: int, codes: dict[int, int]) -> tuple[int, ...]:
    """One side's codes: ``rest`` but for those at the lanes of ``codes``, which count modulo their number."""
    side = [rest] * numerics.terms
    for lane, code in codes.items():
        side[lane % numerics.terms] = code
    return tuple(side)


def powers(pair: tuple[FloatFormat, FloatFormat], signs: tuple[int, ...]) -> DotCase:
    """Products of 1 with these signs."""
    x, y = pair
    return DotCase(tuple(power(x, 0, sign) for sign in signs), x, tuple(power(y) for _ in signs), y)


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


# Operands of the quad-MX dot step that a solver found: each tells one small fault of the RTL from the design.


FOUND = (
    ("d3b9f8fa", E5M2, 131, "851cf47b", E5M2, 131, 0xDC7FFFDF),
    ("9f038103", E5M2, 6, "818c8121", E5M2, 156, 0x870FF000),
    ("fb87fa90", E5M2, 38, "78997a10", E5M2, 34, 0x80014000),
    ("e6eefe87", E4M3FN, 103, "cf4b1e78", E5M2, 35, 0x00020001),
    ("f8818080", E5M2, 106, "00016a4a", E5M2, 106, 0x1A7FFFFD),
    ("80a68a80", E4M3FN, 127, "ce9585ec", E5M2, 188, 0xD7F98FFF),
    ("b1878187", E5M2, 103, "06c18d07", E5M2, 35, 0x00350012),
    ("03078181", E5M2, 2, "8385ac82", E5M2, 140, 0x804200B7),
    ("060e0301", E5M2, 7, "9189992c", E5M2, 140, 0x802FFFFC),
    ("fbf5e9f7", E5M2, 127, "f9af79ad", E5M2, 60, 0x97800000),
    ("bfbfbfbf", E4M3FN, 127, "bfbfbfbf", E4M3FN, 127, 0xB8D90001),
    ("b7d1a3a3", E4M3FN, 146, "8b821b91", E5M2, 2, 0x02000008),
    ("79057b86", E5M2, 3, "fb9ff99a", E5M2, 130, 0x98FFEE80),
    ("bebfbfbf", E5M2, 127, "85bfbfbf", E4M3FN, 7, 0x851DBC10),
    ("01010001", E5M2, 54, "e6e08067", E5M2, 62, 0x80000000),
    ("00808000", E5M2, 0, "80808080", E5M2, 124, 0xDFFFFFFF),
    ("08850f0e", E5M2, 149, "82838080", E5M2, 2, 0x80000000),
    ("dfdfbfbb", E5M2, 127, "dfdfc7fe", E4M3FN, 223, 0xF6D51D20),
    ("81010001", E5M2, 7, "e4de80e1", E5M2, 62, 0x80400000),
    ("f9fbfbdb", E5M2, 134, "fafbfb00", E5M2, 130, 0xE14FE02F),
    ("9ade83fb", E5M2, 123, "05782d7b", E5M2, 8, 0x1920530A),
    ("01008100", E5M2, 15, "bf80cd00", E5M2, 127, 0x8173FFFF),
    ("01010000", E5M2, 7, "8781bcf7", E5M2, 140, 0x00002000),
    ("bf3fbf84", E5M2, 127, "b43d3e01", E5M2, 69, 0x13800000),
    ("01000000", E5M2, 249, "81808000", E5M2, 60, 0x4B000001),
    ("042f503d", E4M3FN, 34, "f927501b", E4M3FN, 58, 0x80000000),
    ("61553b0e", E4M3FN, 17, "e672e9a5", E4M3FN, 71, 0x80000000),
    ("c6e8f2a9", E5M2, 182, "80007880", E4M3FN, 130, 0x57081E55),
)
"""Each row has the elements in hexadecimal, their format and the scale's code, for both sides; then the partial sum. Most
results are subnormal or have terms far below them."""


def found(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    """Yield the corners whose formats the numerics have."""
    for index, (x, x_format, x_scale, y, y_format, y_scale, partial) in enumerate(FOUND):
        if {x_format, y_format} <= set(numerics.element_formats) and len(bytes.fromhex(x)) == numerics.terms:
            sides = tuple(bytes.fromhex(x)), x_format, tuple(bytes.fromhex(y)), y_format
            case = DotCase(*sides, x_scale, y_scale, on_grid(numerics, partial))
            yield Corner(f"found/{index}", case, lambda trace: trace.exact is not None)


# Corners of the quad-MX dot step where operands or results are at the ends of their range, or no numbers.


SCALE_ENDS = (0, 127, 254, 255)


def _formats(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    """The four combinations of element formats, mixed ones too."""
    for x, y in pairs(numerics):
        for _ in range(8):
            codes = [tuple(finite_code(fmt, rng) for _ in range(numerics.terms)) for fmt in (x, y)]
            case = DotCase(codes[0], x, codes[1], y, partial=on_grid(numerics, ONE | rng.getrandbits(23)))
            yield Corner(f"formats/{x.name} x {y.name}", case, lambda trace: not is_special(trace))


def _scales(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    for x, y in product(SCALE_ENDS, repeat=2):
        for partial in (0, FP32.sign_mask, ONE, FP32.max_code, 1 << FP32.fraction_bits):
            case = finite_case(numerics, rng)
            case = replace(case, stationary_scale=x, moving_scale=y, partial=on_grid(numerics, partial))
            yield Corner(f"scales/{x} x {y}", case, lambda trace: True)
        zeros = (0,) * numerics.terms
        case = replace(case, stationary=zeros, moving=(0x3C,) * numerics.terms)
        yield Corner(f"scales/{x} x {y}", case, lambda trace: True)


def _zeros(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    x, *_, y = numerics.element_formats * 2
    terms = numerics.terms

    def block(signs: tuple[int, ...], partial: int) -> DotCase:
        return DotCase(tuple(sign << 7 for sign in signs), x, (power(y),) * terms, y, partial=partial)

    for partial in (ONE, ONE | FP32.sign_mask, 1 << 23, FP32.max_code):
        case = block((0,) * terms, on_grid(numerics, partial))
        yield Corner("all-zero block", case, lambda trace, bits=case.partial: trace.result == bits)
    for signs in product((0, 1), repeat=terms + 1):
        case = block(signs[:-1], FP32.sign_mask * signs[-1])
        expected = FP32.sign_mask if all(signs) else 0
        name = "zero sum/all negative" if all(signs) else "zero sum/mixed signs"
        yield Corner(name, case, lambda trace, expected=expected: trace.result == expected)
    for pair, sign in product(pairs(numerics), (0, 1)):
        case = powers(pair, (sign, 1 - sign) * (terms // 2))
        yield Corner("zero sum/x - x", case, lambda trace: trace.exact == 0 and trace.result == 0)


def _small_elements(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    for (x, y), sign in product(pairs(numerics), (0, 1)):
        small = tuple(rng.randint(1, x.fraction_mask) | sign << 7 for _ in range(numerics.terms))
        normal = tuple(finite_code(y, rng) for _ in range(numerics.terms))
        yield Corner(f"subnormal stationary/{x.name}", DotCase(small, x, normal, y), lambda trace: True)
        yield Corner(f"subnormal moving/{x.name}", DotCase(normal, y, small, x), lambda trace: True)
        both = tuple(rng.randint(1, y.fraction_mask) for _ in range(numerics.terms))
        yield Corner("subnormal both", DotCase(small, x, both, y, partial=1 << 30), lambda trace: True)


def _range_ends(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    unit = floor_log2(FP32.min_subnormal)
    cases = []
    for pair, sign in product(pairs(numerics), (0, 1)):
        for exponent in (unit - 60, *range(unit - 3, FP32.emin + 1), *range(FP32.emax - 3, FP32.emax + 2), 240):
            cases.append((sign, powers(pair, (sign,) * numerics.terms).scaled(exponent)))
            signs = lanes(numerics, sign, {2: 1 - sign})
            cases.append((sign, powers(pair, signs).scaled(exponent)))
    # The largest number, and half its last place from above and from below.
    for sign, extra in product((0, 1), (0, 1)):
        products = powers(pairs(numerics)[0], (extra ^ sign,) * numerics.terms)
        products = products.scaled(FP32.emax - FP32.precision - exact_log2(numerics.terms))
        case = replace(products, partial=FP32.max_code | sign << 31)
        cases.append((sign, replace(case, partial=on_grid(numerics, case.partial))))
    for sign, case in cases:
        for name, holds in (("overflow", _beyond), ("subnormal result", _tiny), ("underflow to zero", _vanished)):
            yield Corner(f"{name}/{'+-'[sign]}", case, holds)


def _beyond(trace: DotTrace) -> bool:
    return trace.exact is not None and abs(trace.exact) > FP32.max


def _tiny(trace: DotTrace) -> bool:
    return trace.exact is not None and 0 < abs(trace.exact) < FP32.min_normal


def _vanished(trace: DotTrace) -> bool:
    return bool(trace.exact) and trace.result & ~FP32.sign_mask == 0


def _specials(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    fmt = numerics.element_formats[-1]
    nan, one, minus = fmt.nan_code, power(fmt), fmt.sign_mask
    ones = lanes(numerics, one, {})
    table = [
        ("NaN element", lanes(numerics, one, {0: nan}), ones, 0),
        ("NaN element", ones, lanes(numerics, one, {-1: nan | minus | 1}), ONE),
        ("infinite partial", ones, ones, FP32.infinity_code),
        ("infinite partial", lanes(numerics, one | minus, {}), ones, FP32.infinity_code | FP32.sign_mask),
        ("NaN partial", ones, ones, FP32.nan_code),
        ("NaN partial", ones, ones, FP32.infinity_code | FP32.sign_mask | 1 << 16),
    ]
    for name, x, y, partial in table:
        yield Corner(f"special/{name}", DotCase(x, fmt, y, fmt, partial=partial), is_special)
    fmt = numerics.element_formats[0]
    for lane, sign in product(range(numerics.terms), (0, 1)):
        codes = lanes(numerics, power(fmt), {lane: fmt.nan_code | sign << 7})
        case = DotCase(codes, fmt, lanes(numerics, power(fmt), {}), fmt)
        yield Corner(f"special/NaN element {fmt.name}", case, lambda trace: trace.result == FP32.nan_code)


def _infinities(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    """Infinite elements, of the last format that has them."""
    fmt = next((each for each in numerics.element_formats[::-1] if each.infinity_code is not None), None)
    if fmt is None:
        return
    infinity, one, minus = fmt.infinity_code, power(fmt), fmt.sign_mask
    table = [
        ("infinite element", {0: infinity}, {}, 0),
        ("infinite element", {2: one | minus}, {2: infinity}, ONE),
        ("infinity - infinity/products", {0: infinity, 1: infinity | minus}, {}, 0),
        ("infinity - infinity/partial", {0: infinity}, {}, FP32.infinity_code | FP32.sign_mask),
        ("infinity + infinity", {0: infinity, -1: infinity}, {}, FP32.infinity_code),
        ("0 * infinity", {0: 0}, {0: infinity}, 0),
        ("0 * infinity", {-1: infinity | minus}, {-1: minus}, ONE),
    ]
    for name, *sides, partial in table:
        x, y = (lanes(numerics, one, side) for side in sides)
        yield Corner(f"special/{name}", DotCase(x, fmt, y, fmt, partial=partial), is_special)


RANGE = (_formats, _scales, _zeros, _small_elements, _range_ends, _specials, _infinities)
"""Makers of corners, each a function of numerics and randomness."""


# Corners of the quad-MX dot step where an exact sum is rounded, or must not be.


def _ties(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    """A partial sum and half its last place, which rounds to even: up from odd, down from even."""

    def holds(trace: DotTrace, up: bool) -> bool:
        units = abs(trace.exact) / ulp(numerics.accumulator, trace.exact)
        result = decode(FP32, trace.result).value
        return units.denominator == 2 and (abs(result) > abs(trace.exact)) == up

    bits = numerics.accumulator.fraction_bits
    unused = FP32.fraction_bits - bits
    for pair, sign, odd, away in product(pairs(numerics), (0, 1), (0, 1), (False, True)):
        # Half the last place of a partial sum in [1, 2), as one product of 1 and others of 0.
        case = powers(pair, (sign if away else 1 - sign,) * numerics.terms)
        case = replace(case, stationary=lanes(numerics, 0, {0: case.stationary[0]})).scaled(-bits - 1)
        fraction = (rng.getrandbits(bits - 2) << 1 | 1 << bits - 1 | odd) << unused
        case = replace(case, partial=ONE | fraction | sign << 31)
        up = bool(odd) == away
        yield Corner(f"tie/{'up' if up else 'down'}/{'+-'[sign]}", case, lambda trace, up=up: holds(trace, up))


def _carries(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    """All ones in the significand, and half a unit more: rounding carries into the next binade."""

    def holds(trace: DotTrace) -> bool:
        result = decode(FP32, trace.result)
        return result.significand == 1 << FP32.fraction_bits and abs(result.value) > abs(trace.exact)

    bits = numerics.accumulator.fraction_bits
    ones = FP32.fraction_mask >> FP32.fraction_bits - bits << FP32.fraction_bits - bits
    for pair, sign in product(pairs(numerics), (0, 1)):
        case = replace(powers(pair, (sign,) * numerics.terms), partial=ONE | ones | sign << 31)
        half_unit = case.scaled(-bits - 1 - exact_log2(numerics.terms))
        yield Corner(f"rounding carries out/{'+-'[sign]}", half_unit, holds)


def _fused(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    """gem5#2478: rounding the products' sum before the partial sum is added gives something else."""

    def holds(trace: DotTrace) -> bool:
        fmt = numerics.accumulator
        products = round_to_format(sum((term.value for term in trace.terms[:-1]), Fraction(0)), fmt)
        first = decode(fmt, products)
        if first.kind is not Kind.FINITE:
            return False
        twice = round_to_format(first.value + trace.terms[-1].value, fmt)
        return twice << FP32.fraction_bits - fmt.fraction_bits != trace.result

    fmt = numerics.element_formats[-1]
    one = power(fmt)
    for _ in range(64):
        # Products span more bits than the accumulator has, and the partial sum cancels most of them.
        between = range(numerics.terms - 2)
        x = (fmt.max_code - rng.randrange(4), *(finite_code(fmt, rng) for _ in between), one + rng.randrange(4))
        last = ([one] * len(between))[:1]
        y = (
            fmt.max_code - rng.randrange(4),
            *(finite_code(fmt, rng) for _ in between[1:]),
            *last,
            1 + rng.randrange(3),
        )
        case = DotCase(x, fmt, y, fmt)
        yield Corner("fused", replace(case, partial=partial_near(numerics, -product_sum(case))), holds)


def _partial_alone(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    """Products that cancel, or are 0, and a partial sum below all the places that they might have had."""
    for exponent, zero, sign in product((*range(-60, 120, 3), 254), (False, True), (0, 1)):
        x, y = rng.choice(pairs(numerics))
        case = powers((x, y), tuple(lane % 4 in (1, 2) for lane in range(numerics.terms))).scaled(exponent)
        if zero:
            case = replace(case, stationary=lanes(numerics, 0, {1: x.sign_mask}))
        partial = on_grid(numerics, FP32.bias - 30 << FP32.fraction_bits | rng.getrandbits(23) | sign << 31)
        case = replace(case, partial=partial)
        yield Corner(f"partial sum alone/{'+-'[sign]}", case, lambda trace: trace.result == trace.partial_sum)
    # With every exponent, beside products of 0 that might have been larger than all of them.
    for exponent in range(FP32.exponent_mask):
        case = replace(powers(rng.choice(pairs(numerics)), (0,) * numerics.terms), moving=(0,) * numerics.terms)
        partial = on_grid(numerics, exponent << FP32.fraction_bits | rng.getrandbits(23) | rng.getrandbits(1) << 31)
        case = replace(case.scaled(254), partial=partial)
        yield Corner("partial sum alone/every exponent", case, lambda trace: trace.result == trace.partial_sum)


def _one_less(numerics: DotNumerics, pair: tuple[FloatFormat, FloatFormat], sign: int, part: Fraction) -> DotCase:
    """One product of 1 less a partial sum: the products give the sign, and inside the sum is negative."""
    case = powers(pair, (sign,) * numerics.terms)
    case = replace(case, stationary=lanes(numerics, 0, {0: power(pair[0], 0, sign)}))
    return replace(case, partial=round_to_format(part * (1 if sign else -1), FP32))


def _halves(numerics: DotNumerics, rng: Random, low: int) -> Fraction:
    """A number of halves of the last place of a result in [0.5, 1), which is ``low`` modulo 4."""
    places = numerics.accumulator.fraction_bits + 2
    return Fraction(rng.getrandbits(places - 5) << 2 | low or 4, 1 << places)


def _exact_leads(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    """Differences that need no rounding: the complement's last unit runs up into the significand."""
    for pair, sign, low in product(pairs(numerics), (0, 1), (0, 2)):
        case = _one_less(numerics, pair, sign, _halves(numerics, rng, low))
        yield Corner(
            f"products lead/exact/{'+-'[sign]}",
            case,
            lambda trace: abs(decode(FP32, trace.result).value) == abs(trace.exact),
        )


def _rounded_leads(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    """Ties and carries of such differences."""

    def holds(trace: DotTrace, up: bool) -> bool:
        units = abs(trace.exact) / ulp(numerics.accumulator, trace.exact)
        return units.denominator == 2 and (abs(decode(FP32, trace.result).value) > abs(trace.exact)) == up

    def carries(trace: DotTrace) -> bool:
        return abs(trace.exact) < 1 and abs(decode(FP32, trace.result).value) == 1

    tiny = Fraction(1, 1 << numerics.accumulator.fraction_bits + 4)
    for pair, sign in product(pairs(numerics), (0, 1)):
        # 1 less this many halves of a unit rounds to even, which is up where they are 1 modulo 4.
        for low, name in ((1, "up"), (3, "down")):
            case = _one_less(numerics, pair, sign, _halves(numerics, rng, low))
            yield Corner(f"products lead/tie {name}/{'+-'[sign]}", case, lambda trace, up=low == 1: holds(trace, up))
        case = _one_less(numerics, pair, sign, tiny)
        yield Corner(f"products lead/carries out/{'+-'[sign]}", case, carries)


UNALIGNED = (_partial_alone, _exact_leads)
"""Makers of corners of numerics whose sum is exact, each a function of numerics and randomness."""
NEAREST = (_ties, _carries, _fused, _rounded_leads)
"""Further makers, for numerics that round the exact sum to nearest."""


# Corners of the quad-MX dot step where its terms cancel, or stand at every distance from each other.


DISTANCES = (-240, *range(-100, 101), 240)
"""Binades from the partial sum's leading bit to that of the product sum: through both clamps of every shifter, where
the smaller one is no more than a sticky bit, and far beyond."""


def _equal_exponents(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    for pair in pairs(numerics):
        for _ in range(4):
            signs = tuple(rng.getrandbits(1) for _ in range(numerics.terms))
            case = powers(pair, signs).scaled(rng.randint(-100, 100))
            exponent = case.stationary_scale + case.moving_scale - SPLIT + FP32.bias
            code = exponent << FP32.fraction_bits | rng.getrandbits(23) | rng.getrandbits(1) << 31
            case = replace(case, partial=on_grid(numerics, code))
            yield Corner("equal exponents", case, lambda trace: len({term.exponent for term in trace.terms}) == 1)


def _one_unit(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    """Products of 1 against a partial sum of their number less or more one unit of the grid that they are summed on."""
    bits = numerics.accumulator.fraction_bits
    if numerics.align_fraction_bits is not None:
        bits = min(bits, numerics.align_fraction_bits)

    def holds(trace: DotTrace, sign: int) -> bool:
        top = max(term.exponent for term in trace.terms)
        return abs(trace.total) == Fraction(2) ** (top - bits) and (trace.total < 0) == sign

    terms, size = numerics.terms, exact_log2(numerics.terms)
    if bits < size - 1:
        return  # the products would be less than a unit
    for pair, sign, below in product(pairs(numerics), (0, 1), (False, True)):
        partial = terms - Fraction(2) ** (size - 1 - bits) if below else terms + Fraction(2) ** (size - bits)
        case = powers(pair, (sign,) * terms)
        case = replace(case, partial=round_to_format(partial if sign else -partial, FP32))
        result = sign if below else 1 - sign
        yield Corner(f"sum is one unit/{'+-'[result]}", case, lambda trace, sign=result: holds(trace, sign))


def _deep_cancellation(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    """The largest products cancel and leave the smallest, down to 2**-32: the whole width of the fixed-point sum."""
    if numerics.terms < 3:
        return
    fmt = numerics.element_formats[-1]
    top, bottom = fmt.max_code, 1 if numerics.element_subnormals else 1 << fmt.fraction_bits
    for sign in (0, 1):
        x = lanes(numerics, 0, {0: top, 1: top, 2: bottom | sign << 7})
        case = DotCase(x, fmt, lanes(numerics, 0, {0: top, 1: top | fmt.sign_mask, 2: bottom}), fmt)
        yield Corner(
            f"largest cancel, smallest stays/{'+-'[sign]}", case, lambda trace: trace.exact and abs(trace.exact) < 1
        )


def _single_bits(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    """A power of two in each place of the products' sum, by itself and far above a partial sum."""
    for x, y in pairs(numerics):
        own, other = exponents(x), exponents(y)
        for place, sign in product(range(own[0] + other[0], own[-1] + other[-1] + 1), (0, 1)):
            first = rng.choice([exponent for exponent in own if place - exponent in other])
            rest = (0,) * (numerics.terms - 1)
            case = DotCase((power(x, first, sign), *rest), x, (power(y, place - first), *rest), y)
            for name, partial in (("alone", 0), ("above the partial sum", rng.randint(1, 20) << FP32.fraction_bits)):
                yield Corner(
                    f"one bit of the products/{name}/{'+-'[sign]}",
                    replace(case.scaled(40), partial=on_grid(numerics, partial | rng.getrandbits(1) << 31)),
                    lambda trace: sum(map(_bits, trace.terms[:-1])) == 1,
                )


def _bits(term: Term) -> int:
    """Bits of a term's significand that are 1: its numerator has all of them."""
    return abs(term.value.numerator).bit_count()


def _distances(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    fmt = numerics.element_formats[-1]
    for distance, opposite, wide in product(DISTANCES, (False, True), (False, True)):
        case = finite_case(numerics, rng)
        if wide:
            # Products from the largest to the smallest: no bit of the fixed-point sum is far from another.
            x = {2: 1, 1: finite_code(fmt, rng), 3: finite_code(fmt, rng), 0: fmt.max_code}
            y = {2: 1, 1: finite_code(fmt, rng), 3: power(fmt), 0: fmt.max_code}
            case = DotCase(lanes(numerics, 0, x), fmt, lanes(numerics, 0, y), fmt)
        size = floor_log2(product_sum(case.scaled(0)) or Fraction(1))
        # Both exponents in FP32's range, as far apart as asked for.
        high = min(FP32.emax - 1, FP32.emax - 1 - distance)
        low = max(FP32.emin, FP32.emin - distance)
        partial_exponent = rng.randint(low, high)
        case = case.scaled(max(-254, min(254, partial_exponent + distance - size)))
        sign = (product_sum(case) < 0) ^ opposite
        code = partial_exponent + FP32.bias << FP32.fraction_bits | rng.getrandbits(23) | sign << 31
        case = replace(case, partial=on_grid(numerics, code))
        yield Corner(f"distance/{distance}", case, lambda trace, asked=distance: _distance(trace) == asked)


def _distance(trace: DotTrace) -> int | None:
    products = sum((term.value for term in trace.terms[:-1]), Fraction(0))
    return floor_log2(products) - floor_log2(trace.terms[-1].value) if products else None


SUMS = (_single_bits, _equal_exponents, _one_unit, _deep_cancellation, _distances)
"""Makers of corners, each a function of numerics and randomness."""


def corners(numerics: DotNumerics, rng: Random) -> list[Corner]:
    """All corners that the numerics have."""
    makers = [*RANGE, *SUMS, found, *BOUNDARIES]
    # An aligned sum has lost what lies below the accumulator's last place before it is rounded.
    if numerics.align_fraction_bits is None:
        makers += UNALIGNED
        if numerics.accumulator_rounding is Rounding.RNE:
            makers += NEAREST
    return [corner for maker in makers for corner in maker(numerics, rng)]
