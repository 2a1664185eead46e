"""Corners of the unscaled multiply-add whose sum is at a boundary of FP32, or one sticky bit beside it.

The product of two BF16 elements has 16 bits. It is half a unit and the sticky bit, on a partial sum; or it leads, and the partial
sum is the half unit and the sticky bit.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product
from random import Random

from bitpath.golden.formats.catalogue import BF16, FP32, Rounding
from bitpath.golden.scalar.rounding import floor_log2, round_to_format
from bitpath.verif.kit.boundaries import Boundary, Near, near_floats
from bitpath.verif.trainium3.dot.multiply_add import Corner, ElementCase

PRODUCT_DISTANCES = range(2, 2 * BF16.precision + 1)
PARTIAL_DISTANCES = range(2, FP32.precision)


def boundary_corners(rng: Random) -> Iterator[Corner]:
    """Every distance for which two significands have such a product."""
    for each in near_floats(FP32, rng, PRODUCT_DISTANCES, Rounding.RNE):
        addend = each.value - each.boundary.lower
        yield from _corner(rng, each, f"boundary/{each.bin}", addend, each.boundary.lower)
    for distance, odd, side in product(PARTIAL_DISTANCES, (0, 1), (-1, 1)):
        leading = (1 << BF16.fraction_bits | rng.getrandbits(BF16.fraction_bits)) * Fraction(2) ** rng.randint(-60, 60)
        unit = Fraction(2) ** (floor_log2(leading) - FP32.fraction_bits)
        each = Near(Boundary(("even", "odd")[odd], leading + odd * unit, unit), 1, side, distance)
        yield from _corner(rng, each, f"boundary/product leads/{each.bin}", leading, each.value - leading)


def _corner(rng: Random, near: Near, name: str, addend: Fraction, partial: Fraction) -> Iterator[Corner]:
    """Yield the corner with these two terms or both of them negated, if two elements have the product."""
    sign = rng.choice((-1, 1))
    low = floor_log2(Fraction(addend.numerator & -addend.numerator, addend.denominator))
    pairs = factors(int(addend / Fraction(2) ** low))
    if not pairs:
        return
    own, other = rng.choice(pairs)
    # Both elements normal numbers of BF16.
    half = low // 2
    codes = [
        round_to_format(value, BF16)
        for value in (sign * own * Fraction(2) ** half, other * Fraction(2) ** (low - half))
    ]
    case = ElementCase(codes[0], BF16, codes[1], BF16, round_to_format(sign * partial, FP32))
    yield Corner(name, case, lambda case: abs(case.exact) == near.value, certain=True)


@cache
def factors(number: int) -> list[tuple[int, int]]:
    """Pairs of BF16 significands with this product, which is odd."""
    limit = 1 << BF16.precision
    return [(a, number // a) for a in range(1, limit, 2) if number % a == 0 and number // a < limit]
