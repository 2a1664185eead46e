"""Special values, zeros and ends of the range of a dot product of any shape, with the names of their bins."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from random import Random

from bitpath.golden.formats.catalogue import E8M0, FixedFormat, FloatFormat
from bitpath.golden.formats.dot import DotProductNumerics
from bitpath.verif.common.dot.cases import DotCase, finite_case

PLACES = 24
"""Most places at which ties are made."""


def special_cases(numerics: DotProductNumerics, rng: Random) -> list[tuple[str, DotCase]]:
    """All cases with their bins."""
    found = [*_elements(numerics, rng), *_partials(numerics, rng), *_zeros(numerics), *_scales(numerics, rng)]
    return [*found, *_ties(numerics, rng)]


def named_codes(fmt: FloatFormat | FixedFormat) -> dict[str, int]:
    """Codes of a format that have a name, of both signs."""
    if isinstance(fmt, FixedFormat):
        return {"zero": 0, "one unit": 1, "minus one unit": (1 << fmt.width) - 1, "smallest": 1 << fmt.width - 1}
    codes = {"zero": 0, "smallest": 1, "largest": fmt.max_code, "smallest normal": 1 << fmt.fraction_bits}
    if fmt.infinity_code is not None:
        codes["infinity"] = fmt.infinity_code
    if fmt.nan_code is not None:
        codes["NaN"] = fmt.nan_code & ~fmt.sign_mask
    return codes | {f"minus {name}": code | fmt.sign_mask for name, code in codes.items()}


def _elements(numerics: DotProductNumerics, rng: Random) -> Iterator[tuple[str, DotCase]]:
    """Every pair of named codes in every lane."""
    for x, y in product(numerics.element_formats, repeat=2):
        for number, ((own, a), (other, b)) in enumerate(product(named_codes(x).items(), named_codes(y).items())):
            case = replace(finite_case(numerics, rng), stationary_format=x, moving_format=y)
            rest = (0,) * numerics.terms if number % 2 else tuple(rng.getrandbits(1) for _ in range(numerics.terms))
            sides = [list(rest), list(rest)]
            lane = number % numerics.terms
            sides[0][lane], sides[1][lane] = a, b
            yield (
                f"elements/{x.name} {own}/{y.name} {other}",
                replace(case, stationary=tuple(sides[0]), moving=tuple(sides[1])),
            )


def _partials(numerics: DotProductNumerics, rng: Random) -> Iterator[tuple[str, DotCase]]:
    """Named partial sums with random products, and with infinite ones of both signs."""
    fmt = numerics.partial_format
    unused = fmt.fraction_bits - numerics.accumulator.fraction_bits
    codes = {name: code << unused for name, code in named_codes(numerics.accumulator).items()}
    for name, code in codes.items():
        yield f"partial sum/{name}", replace(finite_case(numerics, rng), partial=code & (1 << fmt.width) - 1)
    for element in numerics.element_formats:
        if not isinstance(element, FloatFormat) or element.infinity_code is None:
            continue
        one, infinity = element.bias << element.fraction_bits, element.infinity_code
        for sign, name in product((0, element.sign_mask), ("infinity", "minus infinity")):
            case = DotCase((one,) * numerics.terms, element, (infinity | sign,) * numerics.terms, element)
            yield f"infinite products/{name}/{'-' if sign else '+'}", replace(case, partial=codes[name])


def _zeros(numerics: DotProductNumerics) -> Iterator[tuple[str, DotCase]]:
    """Zero products and partial sums of both signs: all positive, all negative, one positive."""
    for fmt in numerics.element_formats:
        if not isinstance(fmt, FloatFormat):
            continue
        for negatives, sign in product((0, numerics.terms - 1, numerics.terms), (0, 1)):
            x = tuple(fmt.sign_mask * (k < negatives) for k in range(numerics.terms))
            case = DotCase(x, fmt, (0,) * numerics.terms, fmt, partial=sign * numerics.partial_format.sign_mask)
            yield f"zeros/{fmt.name}/{negatives} negative/{'+-'[sign]}", case
    case = DotCase(*((0,) * numerics.terms, numerics.element_formats[0]) * 2)
    for sign in (0, 1):
        # One unit less one unit is a zero of no term's own sign.
        yield f"zeros/bare/{'+-'[sign]}", replace(case, partial=sign * numerics.partial_format.sign_mask)


def _scales(numerics: DotProductNumerics, rng: Random) -> Iterator[tuple[str, DotCase]]:
    """Ends of the scales' range, with random elements and with zeros."""
    codes = (0, 1, E8M0.bias, E8M0.nan_code - 1, E8M0.nan_code) if numerics.scales else ()
    for (own, other), zero in product(product(codes, repeat=2), (False, True)):
        case = replace(finite_case(numerics, rng), stationary_scale=own, moving_scale=other)
        case = replace(case, stationary=(0,) * numerics.terms) if zero else case
        yield f"scales/{own}/{other}/{'zeros' if zero else 'random'}", case


def _ties(numerics: DotProductNumerics, rng: Random) -> Iterator[tuple[str, DotCase]]:
    """A partial sum and half a unit of its last place, and the smallest product to both sides of that."""
    rounded, fmt = numerics.rounded_format, numerics.partial_format
    unused = fmt.fraction_bits - numerics.accumulator.fraction_bits
    for x, y in product(numerics.element_formats, repeat=2):
        if not (isinstance(x, FloatFormat) and isinstance(y, FloatFormat)):
            continue
        reach = range(x.emin + y.emin, x.emax + y.emax)
        halves = [h for h in reach if max(fmt.emin, rounded.emin) <= h + 1 + rounded.fraction_bits <= fmt.emax]
        spaced = halves[:: -(-len(halves) // PLACES) or 1]
        for half, odd, side, sign in product(spaced, (0, 1), (-1, 0, 1), (0, 1)):
            first = rng.randint(max(x.emin, half - y.emax), min(x.emax, half - y.emin))
            exponent = half + 1 + rounded.fraction_bits + fmt.bias
            fraction = rng.getrandbits(numerics.accumulator.fraction_bits) & ~1 | odd
            partial = (exponent << numerics.accumulator.fraction_bits | fraction) << unused | sign * fmt.sign_mask
            a = [first + x.bias << x.fraction_bits, *[0] * (numerics.terms - 1)]
            b = [half - first + y.bias << y.fraction_bits | sign * y.sign_mask, *[0] * (numerics.terms - 1)]
            if side and numerics.terms > 1:
                a[1], b[1] = 1, 1 | (side < 0) * y.sign_mask
            yield f"tie/{x.name} {y.name}/{odd}/{side}/{sign}", DotCase(tuple(a), x, tuple(b), y, partial=partial)
