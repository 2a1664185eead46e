"""FP32 operands whose cast or sum is at a boundary of a result format, or one sticky bit beside it."""

from collections.abc import Iterator
from fractions import Fraction
from random import Random

from bitpath.golden.formats.catalogue import FP32, FloatFormat
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.scalar.codec import decode
from bitpath.golden.scalar.rounding import round_to_format
from bitpath.verif.kit.boundaries import Near, integer_boundaries, near, near_floats

DISTANCES = range(2, FP32.precision + 1)
"""From the unit down to a sticky bit, as far apart as two bits of one FP32 number can be."""


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


def exact_code(value: Fraction) -> int | None:
    """Return the FP32 code of a value, None if FP32 does not have it."""
    code = round_to_format(value, FP32, Rounding.RTZ)
    return code if abs(value) <= FP32.max and decode(FP32, code).value == value else None
