"""FP32 codes: edges of the format, and random ones by class."""

from random import Random

from bitpath.golden.formats.catalogue import FP32

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
