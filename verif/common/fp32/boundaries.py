"""FP32 operands whose cast, sum or product is at a boundary of a result format, or beside it."""

from collections.abc import Iterator
from fractions import Fraction
from random import Random

import numpy as np

from bitpath.golden.formats.catalogue import FP32, FloatFormat, Rounding
from bitpath.golden.scalar.codec import decode
from bitpath.golden.scalar.rounding import floor_log2, round_to_format
from bitpath.verif.kit.values import SIDES, Near, float_boundaries, integer_boundaries, near, near_floats

DISTANCES = range(2, FP32.precision + 1)
"""From the unit down to a sticky bit, as far apart as two bits of one FP32 number can be."""
FACTORS = 1 << 14
"""Pairs of factors among which products beside a tie are sought."""


def near_codes(fmt: FloatFormat, rng: Random) -> Iterator[tuple[Near, int]]:
    """Yield the values about a format's boundaries that FP32 has, with their codes; of either sign."""
    for each in near_floats(fmt, rng, DISTANCES, Rounding.SR):
        if (code := exact_code(each.value)) is not None:
            yield each, code | rng.getrandbits(1) * FP32.sign_mask


def near_integer_codes(low: int, high: int, rng: Random) -> Iterator[tuple[Near, int]]:
    """The same of integers that saturate at ``low`` and ``high``; their values have signs of their own."""
    for each in near(lambda rng: integer_boundaries(low, high, rng), rng, DISTANCES, Rounding.SR):
        if (code := exact_code(each.value)) is not None:
            yield each, code


def near_sums(fmt: FloatFormat, rng: Random) -> Iterator[tuple[Near, int, int]]:
    """Yield sums about a format's boundaries: a number of the format, and half a unit with the sticky bit, as codes."""
    for each in near_floats(fmt, rng, DISTANCES, Rounding.SR):
        sign = rng.choice((-1, 1))
        codes = [exact_code(sign * part) for part in (each.boundary.lower, each.value - each.boundary.lower)]
        if None not in codes:
            yield each, *codes


def near_products(rng: Random) -> Iterator[tuple[str, int, int]]:
    """Yield products of two numbers above and below FP32's ties, with the bin of each.

    One for each boundary, side and distance: the product is ``2**-distance`` to ``2**(1 - distance)`` units away from the tie.
    The tie itself is left out, because most have no factors of 24 bits; distances of about 17 and more are rare in the search.
    """
    source = np.random.default_rng(rng.getrandbits(32))
    for boundary in float_boundaries(FP32, rng):
        tie = boundary.lower + boundary.unit / 2
        exponents = floor_log2(tie) // 2 + source.integers(-20, 21, FACTORS)
        first = np.ldexp(
            source.integers(1 << FP32.fraction_bits, 2 << FP32.fraction_bits, FACTORS), exponents - FP32.fraction_bits
        )
        second = (float(tie) / first).astype(np.float32).astype(float)
        # Products have 48 bits and differ from the tie in the lowest of them: float64 has both.
        beside = (first * second - float(tie)) / float(boundary.unit)
        distances = 1 - np.frexp(beside)[1]
        within = np.flatnonzero(distances > 1)
        _, chosen = np.unique(2 * distances[within] + (beside[within] > 0), return_index=True)
        for index in within[chosen]:
            factors = [exact_code(Fraction(each[index])) for each in (first, second)]
            x, y = (decode(FP32, code).value for code in factors)
            units = (x * y - tie) / boundary.unit
            assert 2 ** -int(distances[index]) <= abs(units) < 2 ** (1 - int(distances[index])), boundary
            yield f"{boundary.name}/{SIDES[1 if units > 0 else -1]} tie", *factors


def exact_code(value: Fraction) -> int | None:
    """Return the FP32 code of a value, None if FP32 does not have it."""
    code = round_to_format(value, FP32, Rounding.RTZ)
    return code if abs(value) <= FP32.max and decode(FP32, code).value == value else None
