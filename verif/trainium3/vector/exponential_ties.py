"""Arguments whose powers are half-way between two numbers of FP32, or nearly."""

from collections.abc import Iterator
from fractions import Fraction
from math import log
from random import Random

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.codec import decode
from bitpath.golden.scalar.rounding import floor_log2
from bitpath.golden.trainium3.declarations.vector import ExponentialNumerics
from bitpath.golden.trainium3.exact.functions import exponential_power
from bitpath.verif.trainium3.vector.exponential import code

NEAREST = (
    *(0x3C7BDE1A, 0x3EAE5EF3, 0x3E89F527, 0x404168DF, 0x421B4C9E, 0x3DD0BF99, 0xBBB4F161, 0x3DAB6EDC),
    *(0xC063ED1C, 0x3DBE2FD5, 0x3C80ADCC, 0xBFA5EE4C, 0xBEC00298, 0xC14042BA, 0x3C70E1B6, 0x41CB3F16),
    *(0xBBF0D33E, 0x3F86AE7C, 0x4254114D, 0xBB1C4024, 0xBDF2BE10, 0x41E4DE2F, 0xBC784234, 0xC23B4E9C),
)
"""Arguments whose normal powers lie nearest to a tie without being one, among all 670 million by the preset's numerics. The
first is 9,331 units of ``2**-64`` from half-way, so that 51 fraction bits decide every rounding."""
ONE_BIT = (0xBF94BEFB, 0x41AA740E)
"""With four of the nearest, all whose powers end above half-way to an even number in one bit of the lowest nineteen that are kept."""
SQUARES = (
    *(0x3E860953, 0x42256424, 0x41EF78A7, 0x41B9D309, 0x3DDD31D6, 0x3F7F6275, 0x40D5D977, 0x4003B06A),
    *(0x3CD6231D, 0x3C95A320, 0x3F2E85CC, 0x4116C879, 0x3EFAE9EE, 0x3D724EB1, 0x429C6684, 0x40144FFF),
)
"""Arguments whose polynomial's square is next to a unit of ``2**-32``, with powers that such a unit takes past half-way: below both
by less than that, then above. Sixteen of 161 among 40 million at random."""
TIES, NEAR = 64, 64
DRAWN = 2048
"""Arguments at random for those that are near."""


def near_ties(numerics: ExponentialNumerics, rng: Random) -> list[int]:
    """FP32 codes: the nearest, the nearest of many at random, and ties."""
    drawn = sorted((code(rng.uniform(-87, 88)) for _ in range(DRAWN)), key=lambda each: _apart(numerics, each) or 1)
    ties = _ties(numerics, rng)
    return [*NEAREST, *ONE_BIT, *SQUARES, *drawn[:NEAR], *(next(ties) for _ in range(TIES))]


def _ties(numerics: ExponentialNumerics, rng: Random) -> Iterator[int]:
    """Yield arguments of ties without end. Table entry 0 is 1, so a exponential_power has the polynomial's bits alone, and every 512th is a tie."""
    while True:
        element = code((rng.randint(-126, 127) + rng.random() / (1 << numerics.table_bits)) * log(2))
        if _apart(numerics, element) == 0:
            yield element


def _apart(numerics: ExponentialNumerics, element: int) -> Fraction:
    """How far from half-way the exponential_power is, in units of its last place."""
    y = exponential_power(numerics, decode(FP32, element))
    return abs(y * Fraction(2) ** (FP32.fraction_bits - floor_log2(y)) % 1 - Fraction(1, 2))
