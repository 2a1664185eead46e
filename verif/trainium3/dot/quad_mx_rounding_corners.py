"""Corners of the quad-MX dot step where an exact sum is rounded, or must not be."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

from amaranth.utils import exact_log2

from bitpath.golden.formats.catalogue import FP32, FloatFormat
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.scalar.rounding import round_to_format, ulp
from bitpath.golden.trainium3.declarations.dot import DotNumerics
from bitpath.golden.trainium3.exact.dot import DotTrace
from bitpath.verif.trainium3.dot.quad_mx import DotCase, finite_code, on_grid, partial_near, product_sum
from bitpath.verif.trainium3.dot.quad_mx_corner import ONE, Corner, lanes, pairs, power, powers


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
