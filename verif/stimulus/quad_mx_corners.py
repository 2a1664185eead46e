"""Directed corners of the quad-MX dot step, each with the property of golden's trace that makes it one.

A bin counts as hit only where its property holds, so a corner that misses its mark shows up as a bin not hit.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from random import Random

from bitpath.golden.codec import Kind, decode
from bitpath.golden.exact import DotTrace, floor_log2, round_to_format, ulp
from bitpath.golden.spec.formats import E4M3FN, FP32, FloatFormat
from bitpath.golden.spec.numerics import DotNumerics
from bitpath.golden.spec.rounding import Rounding
from bitpath.verif.stimulus.quad_mx import (
    SPLIT,
    DotCase,
    finite_case,
    finite_code,
    is_special,
    on_grid,
    partial_near,
    product_sum,
)

DISTANCES = (-240, *range(-100, 101), 240)
"""Binades from the partial sum's leading bit to that of the product sum: through both clamps of every shifter, where
the smaller one is no more than a sticky bit, and far beyond."""
SCALE_ENDS = (0, 127, 254, 255)
ONE = FP32.bias << FP32.fraction_bits


@dataclass(frozen=True)
class Corner:
    """A case, the bin that it is for, and whether its trace has the property that the bin stands for."""

    bin: str
    case: DotCase
    holds: Callable[[DotTrace], bool]


def power(fmt: FloatFormat, exponent: int = 0, sign: int = 0) -> int:
    """The code of ``(-1)**sign * 2**exponent``, a normal number."""
    return exponent + fmt.bias << fmt.fraction_bits | (fmt.sign_mask if sign else 0)


def pairs(numerics: DotNumerics) -> list[tuple[FloatFormat, FloatFormat]]:
    """Formats of the two sides, mixed ones too."""
    return list(product(numerics.element_formats, repeat=2))


def corners(numerics: DotNumerics, rng: Random) -> list[Corner]:
    """All corners that the numerics have."""
    makers = [_formats, _equal_exponents, _one_unit, _deep_cancellation, _distances, _scales, _zeros, _small_elements]
    makers += [_range_ends, _specials, _infinities]
    # An aligned sum has lost what lies below the accumulator's last place before it is rounded.
    if numerics.align_fraction_bits is None and numerics.accumulator_rounding is Rounding.RNE:
        makers += [_ties, _carries, _fused, _partial_alone, _products_lead]
    return [corner for maker in makers for corner in maker(numerics, rng)]


def _powers(pair: tuple[FloatFormat, FloatFormat], signs: tuple[int, ...]) -> DotCase:
    """Four products of 1 with these signs."""
    x, y = pair
    return DotCase(tuple(power(x, 0, sign) for sign in signs), x, tuple(power(y) for _ in signs), y)


def _formats(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    """The four combinations of element formats, mixed ones too."""
    for x, y in pairs(numerics):
        for _ in range(8):
            codes = [tuple(finite_code(fmt, rng) for _ in range(numerics.terms)) for fmt in (x, y)]
            case = DotCase(codes[0], x, codes[1], y, partial=on_grid(numerics, ONE | rng.getrandbits(23)))
            yield Corner(f"formats/{x.name} x {y.name}", case, lambda trace: not is_special(trace))


def _equal_exponents(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    for pair in pairs(numerics):
        for _ in range(4):
            signs = tuple(rng.getrandbits(1) for _ in range(numerics.terms))
            case = _powers(pair, signs).scaled(rng.randint(-100, 100))
            exponent = case.stationary_scale + case.moving_scale - SPLIT + FP32.bias
            code = exponent << FP32.fraction_bits | rng.getrandbits(23) | rng.getrandbits(1) << 31
            case = replace(case, partial=on_grid(numerics, code))
            yield Corner("equal exponents", case, lambda trace: len({term.exponent for term in trace.terms}) == 1)


def _one_unit(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    """Four products of 1 against a partial sum of 4 less or more one unit of the grid that they are summed on."""
    bits = numerics.accumulator.fraction_bits
    if numerics.align_fraction_bits is not None:
        bits = min(bits, numerics.align_fraction_bits)

    def holds(trace: DotTrace, sign: int) -> bool:
        top = max(term.exponent for term in trace.terms)
        return abs(trace.total) == Fraction(2) ** (top - bits) and (trace.total < 0) == sign

    for pair, sign, below in product(pairs(numerics), (0, 1), (False, True)):
        partial = 4 - Fraction(2) ** (1 - bits) if below else 4 + Fraction(2) ** (2 - bits)
        case = _powers(pair, (sign,) * numerics.terms)
        case = replace(case, partial=round_to_format(partial if sign else -partial, FP32))
        result = sign if below else 1 - sign
        yield Corner(f"sum is one unit/{'+-'[result]}", case, lambda trace, sign=result: holds(trace, sign))


def _deep_cancellation(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    """The largest products cancel and leave the smallest, down to 2**-32: the whole width of the fixed-point sum."""
    fmt = numerics.element_formats[-1]
    top, bottom = fmt.max_code, 1 if numerics.element_subnormals else 1 << fmt.fraction_bits
    for sign in (0, 1):
        x = (top, top, bottom | sign << 7, 0)
        case = DotCase(x, fmt, (top, top | fmt.sign_mask, bottom, 0), fmt)
        yield Corner(
            f"largest cancel, smallest stays/{'+-'[sign]}", case, lambda trace: trace.exact and abs(trace.exact) < 1
        )


def _distances(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    fmt = numerics.element_formats[-1]
    for distance, opposite, wide in product(DISTANCES, (False, True), (False, True)):
        case = finite_case(numerics, rng)
        if wide:
            # Products from the largest to the smallest: no bit of the fixed-point sum is far from another.
            x = (fmt.max_code, finite_code(fmt, rng), 1, finite_code(fmt, rng))
            case = DotCase(x, fmt, (fmt.max_code, finite_code(fmt, rng), 1, power(fmt)), fmt)
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
    fmt = numerics.element_formats[-1]

    def block(signs: tuple[int, ...], partial: int) -> DotCase:
        return DotCase(tuple(sign << 7 for sign in signs), E4M3FN, (power(fmt),) * 4, fmt, partial=partial)

    for partial in (ONE, ONE | FP32.sign_mask, 1 << 23, FP32.max_code):
        case = block((0,) * 4, on_grid(numerics, partial))
        yield Corner("all-zero block", case, lambda trace, bits=case.partial: trace.result == bits)
    for signs in product((0, 1), repeat=5):
        case = block(signs[:4], FP32.sign_mask * signs[4])
        expected = FP32.sign_mask if all(signs) else 0
        name = "zero sum/all negative" if all(signs) else "zero sum/mixed signs"
        yield Corner(name, case, lambda trace, expected=expected: trace.result == expected)
    for pair, sign in product(pairs(numerics), (0, 1)):
        case = _powers(pair, (sign, 1 - sign, sign, 1 - sign))
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
            cases.append((sign, _powers(pair, (sign,) * 4).scaled(exponent)))
            cases.append((sign, _powers(pair, (sign, sign, 1 - sign, sign)).scaled(exponent)))
    # The largest number, and half its last place from above and from below.
    for sign, extra in product((0, 1), (0, 1)):
        case = replace(
            _powers(pairs(numerics)[0], (extra ^ sign,) * 4).scaled(FP32.emax - 26), partial=FP32.max_code | sign << 31
        )
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
    table = [
        ("NaN element", (nan, one, one, one), (one,) * 4, 0),
        ("NaN element", (one, one, one, one), (one, one, one, nan | minus | 1), ONE),
        ("infinite partial", (one,) * 4, (one,) * 4, FP32.infinity_code),
        ("infinite partial", (one | minus,) * 4, (one,) * 4, FP32.infinity_code | FP32.sign_mask),
        ("NaN partial", (one,) * 4, (one,) * 4, FP32.nan_code),
        ("NaN partial", (one,) * 4, (one,) * 4, FP32.infinity_code | FP32.sign_mask | 1 << 16),
    ]
    for name, x, y, partial in table:
        yield Corner(f"special/{name}", DotCase(x, fmt, y, fmt, partial=partial), is_special)
    for lane, sign in product(range(numerics.terms), (0, 1)):
        codes = [power(E4M3FN)] * numerics.terms
        codes[lane] = E4M3FN.nan_code | sign << 7
        case = DotCase(tuple(codes), E4M3FN, (power(E4M3FN),) * 4, E4M3FN)
        yield Corner("special/NaN element E4M3FN", case, lambda trace: trace.result == FP32.nan_code)


def _infinities(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    """Infinite elements, of the widest format where it has them."""
    fmt = numerics.element_formats[-1]
    if fmt.infinity_code is None:
        return
    infinity, one, minus = fmt.infinity_code, power(fmt), fmt.sign_mask
    table = [
        ("infinite element", (infinity, one, one, one), (one,) * 4, 0),
        ("infinite element", (one, one, one | minus, one), (one, one, infinity, one), ONE),
        ("infinity - infinity/products", (infinity, infinity | minus, one, one), (one,) * 4, 0),
        ("infinity - infinity/partial", (infinity, one, one, one), (one,) * 4, FP32.infinity_code | FP32.sign_mask),
        ("infinity + infinity", (infinity, one, one, infinity), (one,) * 4, FP32.infinity_code),
        ("0 * infinity", (0, one, one, one), (infinity, one, one, one), 0),
        ("0 * infinity", (one, one, one, infinity | minus), (one, one, one, minus), ONE),
    ]
    for name, x, y, partial in table:
        yield Corner(f"special/{name}", DotCase(x, fmt, y, fmt, partial=partial), is_special)


def _ties(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    """A partial sum and half its last place, which rounds to even: up from odd, down from even."""

    def holds(trace: DotTrace, up: bool) -> bool:
        units = abs(trace.exact) / ulp(numerics.accumulator, trace.exact)
        result = decode(FP32, trace.result).value
        return units.denominator == 2 and (abs(result) > abs(trace.exact)) == up

    bits = numerics.accumulator.fraction_bits
    unused = FP32.fraction_bits - bits
    for pair, sign, odd, away in product(pairs(numerics), (0, 1), (0, 1), (False, True)):
        # Half the last place of a partial sum in [1, 2), as one product of 1 and three of 0.
        case = _powers(pair, (sign if away else 1 - sign,) * 4)
        case = replace(case, stationary=(case.stationary[0], 0, 0, 0)).scaled(-bits - 1)
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
        case = replace(_powers(pair, (sign,) * 4), partial=ONE | ones | sign << 31)
        yield Corner(f"rounding carries out/{'+-'[sign]}", case.scaled(-bits - 3), holds)


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
        # Products that span more bits than the accumulator has, most of which the partial sum takes away.
        x = (fmt.max_code - rng.randrange(4), finite_code(fmt, rng), finite_code(fmt, rng), one + rng.randrange(4))
        y = (fmt.max_code - rng.randrange(4), finite_code(fmt, rng), one, 1 + rng.randrange(3))
        case = DotCase(x, fmt, y, fmt)
        yield Corner("fused", replace(case, partial=partial_near(numerics, -product_sum(case))), holds)


def _partial_alone(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    """Products that cancel, or are 0, and a partial sum below all the places that they might have had."""
    for exponent, zero, sign in product((*range(-60, 120, 3), 254), (False, True), (0, 1)):
        x, y = rng.choice(pairs(numerics))
        case = _powers((x, y), (0, 1, 1, 0)).scaled(exponent)
        if zero:
            case = replace(case, stationary=(0, x.sign_mask, 0, 0))
        partial = on_grid(numerics, FP32.bias - 30 << FP32.fraction_bits | rng.getrandbits(23) | sign << 31)
        case = replace(case, partial=partial)
        yield Corner(f"partial sum alone/{'+-'[sign]}", case, lambda trace: trace.result == trace.partial_sum)


def _products_lead(numerics: DotNumerics, rng: Random) -> Iterator[Corner]:
    """One product of 1 less a partial sum: ties, carries and exact results where the products give the sign."""
    below = numerics.accumulator.fraction_bits + 1  # the last place of a result in [0.5, 1) is 2**-below

    def holds(trace: DotTrace, halves: int) -> bool:
        units = abs(trace.exact) / ulp(numerics.accumulator, trace.exact)
        result = abs(decode(FP32, trace.result).value)
        if halves % 2 == 0:
            return result == abs(trace.exact)
        # 1 - halves / 2 units is even, or rounds to even, where half of halves is.
        return units.denominator == 2 and (result > abs(trace.exact)) == (halves % 4 == 1)

    def carries(trace: DotTrace) -> bool:
        return abs(trace.exact) < 1 and abs(decode(FP32, trace.result).value) == 1

    for pair, sign, odd in product(pairs(numerics), (0, 1), (0, 1, 2, 3)):
        case = replace(_powers(pair, (sign,) * 4), stationary=(power(pair[0], 0, sign), 0, 0, 0))
        halves = rng.getrandbits(below - 4) << 2 | odd
        partial = round_to_format(Fraction(halves or 4, 1 << below + 1) * (1 if sign else -1), FP32)
        name = ("exact", "tie up", "exact", "tie down")[odd]
        case = replace(case, partial=partial)
        yield Corner(f"products lead/{name}/{'+-'[sign]}", case, lambda trace, odd=odd: holds(trace, odd))
        tiny = round_to_format(Fraction(1, 1 << below + 3) * (1 if sign else -1), FP32)
        yield Corner(f"products lead/carries out/{'+-'[sign]}", replace(case, partial=tiny), carries)
