"""Corners of the quad-MX dot step where operands or results are at the ends of their range, or no numbers."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from random import Random

from amaranth.utils import exact_log2

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.rounding import floor_log2
from bitpath.golden.trainium3.declarations.dot import DotNumerics
from bitpath.golden.trainium3.exact.dot import DotTrace
from bitpath.verif.trainium3.dot.quad_mx import DotCase, finite_case, finite_code, is_special, on_grid
from bitpath.verif.trainium3.dot.quad_mx_corner import ONE, Corner, lanes, pairs, power, powers

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
