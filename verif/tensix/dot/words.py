"""Random words of Dst and datums of L1 by class: full range, limits of the formats, and rounding ties."""

from random import Random

from bitpath.golden.formats.catalogue import FP16, FP32, FloatFormat

_EXPONENTS = {
    # Both ends, near 1, and near the ends of FP16's range.
    FP32.name: (0, 1, 2, *range(122, 133), *range(108, 117), *range(139, 147), 253, 254, 255),
    FP16.name: (0, 1, 2, 14, 15, 16, 29, 30, 31),
}


def fraction(rng: Random, bits: int) -> int:
    """Return a random fraction; all zeros or ones; or a pattern that ends in a half or its neighbour."""
    mask = (1 << bits) - 1
    match rng.randrange(4):
        case 0:
            return rng.choice((0, 1, mask, mask - 1))
        case 1:
            place = rng.randrange(bits)
            return (rng.getrandbits(bits) >> place << place | 1 << place) + rng.choice((-1, 0, 0, 1)) & mask
        case _:
            return rng.getrandbits(bits)


def float_code(rng: Random, fmt: FloatFormat, *, near: int | None = None) -> int:
    """Return a code of FP32 or FP16, with an exponent within 12 of ``near`` if given."""
    match rng.randrange(3):
        case 0:
            exponent = rng.getrandbits(fmt.exponent_bits)
        case 1:
            exponent = rng.choice(_EXPONENTS[fmt.name])
        case _:
            base = fmt.bias if near is None else near
            exponent = min(max(base + rng.randint(-12, 2), 0), fmt.exponent_mask)
    sign = rng.getrandbits(1) * fmt.sign_mask
    return sign | exponent << fmt.fraction_bits | fraction(rng, fmt.fraction_bits)


def integer(rng: Random, bits: int) -> int:
    """Return sign and magnitude in ``bits``, the magnitude of random length, often near 127, 255 or its maximum."""
    length = rng.randint(0, bits - 1)
    magnitude = rng.choice((rng.getrandbits(length), rng.randint(120, 135), rng.randint(250, 260)))
    return (rng.getrandbits(1) << bits - 1) | magnitude & (1 << bits - 1) - 1


def row_bits(datums: list[int], bits: int) -> int:
    """Return datums as a row of L1, the first in the lowest bits."""
    return sum(datum << bits * k for k, datum in enumerate(datums))
