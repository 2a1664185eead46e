"""Corners of the quad-MX dot step where its terms cancel, or stand at every distance from each other."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from random import Random

from amaranth.utils import exact_log2

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.rounding import floor_log2, round_to_format
from bitpath.golden.trainium3.declarations.dot import DotNumerics
from bitpath.golden.trainium3.exact.dot import DotTrace, Term
from bitpath.verif.trainium3.dot.quad_mx import SPLIT, DotCase, finite_case, finite_code, on_grid, product_sum
from bitpath.verif.trainium3.dot.quad_mx_corner import Corner, exponents, lanes, pairs, power, powers

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
