"""FP32 codes: edges of the format, and random ones by class."""

from collections.abc import Iterator
from fractions import Fraction
from random import Random

import numpy as np

from bitpath.golden.formats.catalogue import FP32, FloatFormat, Rounding
from bitpath.golden.scalar.codec import decode
from bitpath.golden.scalar.rounding import floor_log2, round_to_format
from bitpath.verif.kit.values import SIDES, Near, float_boundaries, integer_boundaries, near, near_floats

# FP32 operands whose cast, sum or product is at a boundary of a result format, or beside it.


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


ONE = FP32.bias << FP32.fraction_bits
_MAGNITUDES = (
    0,
    1,
    FP32.fraction_mask >> 1,
    FP32.fraction_mask,
    1 << FP32.fraction_bits,
    (1 << FP32.fraction_bits) + 1,
    ONE - 1,
    ONE,
    ONE + 1,
    # The fraction's upper 7 bits are BF16's: just below, at and just above half of its last place, odd and even.
    ONE + 0x7FFF,
    ONE + 0x8000,
    ONE + 0x8001,
    ONE + 0x18000,
    # Codes that round up to the next binade, to the smallest normal number, and to infinity.
    ONE + 0x7F8000,
    0x007F8000,
    0x7F7F8000,
    FP32.max_code,
    FP32.infinity_code,
    FP32.infinity_code + 1,
    FP32.nan_code,
    FP32.nan_code + 0x123,
)
EDGES = tuple(magnitude | sign for magnitude in _MAGNITUDES for sign in (0, FP32.sign_mask))
"""Zeros, subnormals, neighbours of powers of two, BF16's ties, the largest, infinities and NaNs, of both signs."""


def any_code(rng: Random) -> int:
    """Return a 32-bit code with random bits."""
    return rng.getrandbits(FP32.width)


def near_one(rng: Random) -> int:
    """Within a few binades of 1, so that sums lose and cancel bits."""
    exponent = FP32.bias + rng.randint(-3, 3)
    return exponent << FP32.fraction_bits | rng.getrandbits(FP32.fraction_bits) | rng.getrandbits(1) * FP32.sign_mask


def edge(rng: Random) -> int:
    """Return a random element of :data:`EDGES`."""
    return rng.choice(EDGES)


def special_but_one_bit(rng: Random) -> int:
    """A finite number or a NaN that one bit alone tells from infinity's exponent or from infinity."""
    bit = rng.randrange(FP32.width - 1)
    below = rng.getrandbits(FP32.fraction_bits) if bit >= FP32.fraction_bits else 0
    return FP32.infinity_code ^ 1 << bit | below | rng.getrandbits(1) * FP32.sign_mask


def half_units(rng: Random) -> tuple[int, int]:
    """Two numbers of few bits, or of all but a few, the second about half a unit of the first's last place: single bits
    decide how
    their sum is rounded."""
    exponent = rng.randint(FP32.precision + 4, FP32.exponent_mask - 1)
    below = FP32.precision + rng.choice((-2, -1, -1, 0, 0, 0, 1, 1, 2))
    return sparse(rng, exponent), sparse(rng, exponent - below)


def sparse(rng: Random, exponent: int) -> int:
    """Return a number of this biased exponent and either sign, whose fraction has at most two ones or at most two zeros."""
    bits = 1 << rng.randrange(FP32.fraction_bits) | rng.choice((0, 1 << rng.randrange(FP32.fraction_bits)))
    fraction = rng.choice((0, bits, FP32.fraction_mask ^ bits, FP32.fraction_mask))
    return exponent << FP32.fraction_bits | fraction | rng.getrandbits(1) * FP32.sign_mask


def mixed(rng: Random) -> int:
    """Mostly near 1, so that accumulators stay finite for a while."""
    return rng.choice((near_one, near_one, near_one, near_one, near_one, near_one, any_code, edge))(rng)
