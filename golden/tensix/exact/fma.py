"""A scalar bfloat16 fused multiply-add with full IEEE 754 behaviour, in seven steps, which the Matrix unit simplifies."""

from dataclasses import dataclass

from bitpath.golden.formats.catalogue import BF16
from bitpath.golden.scalar.codec import Kind, decode

# The simplifications: denormals as zero, a part of the significand, one common alignment, cheaper rounding.
#
# Ref: Peter Cawley, "Tenstorrent Wormhole Series Part 7: Bits of the MatMul", which lists the steps.


PRECISION = BF16.precision
EMIN = BF16.emin - BF16.fraction_bits
"""Weight of the lowest bit of a denormal."""


@dataclass(frozen=True)
class Normalised:
    """``(-1)**sign * significand * 2**exponent``, the significand of 8 bits with its top bit set, or 0."""

    sign: int
    significand: int
    exponent: int


def fma(x: int, y: int, z: int) -> int:
    """Return the bfloat16 code of ``x * y + z``, rounded once to nearest even."""
    # Step 1, decompose and attach the hidden bit; step 2, normalise denormals.
    operands = [decode(BF16, code) for code in (x, y, z)]
    a, b, c = (_normalise(each.sign, each.significand, each.exponent) for each in operands)
    sign = a.sign ^ b.sign
    # Step 3, handle special operands: NaN and infinity.
    special = _special([each.kind for each in operands], a, b, c)
    if special is not None:
        return special
    # Step 4, multiply: xor the signs, add the exponents, multiply the significands.
    product, exponent = a.significand * b.significand, a.exponent + b.exponent
    # Step 5, align to the smaller exponent, which loses no bits, and add.
    if product == 0 and c.significand == 0:
        return BF16.sign_mask if sign and c.sign else 0
    lowest = min(each for each, significand in ((exponent, product), (c.exponent, c.significand)) if significand)
    total = 0
    for negative, significand, weight in ((sign, product, exponent), (c.sign, c.significand, c.exponent)):
        if significand:
            total += (-1) ** negative * (significand << weight - lowest)
    if total == 0:
        return 0
    # Step 6, normalise to 8 bits, or fewer for a denormal; step 7, round to nearest even.
    return _round(int(total < 0), abs(total), lowest)


def _normalise(sign: int, significand: int, exponent: int) -> Normalised:
    shift = PRECISION - significand.bit_length() if significand else 0
    return Normalised(sign, significand << shift, exponent - shift)


def _special(kinds: list[Kind], a: Normalised, b: Normalised, c: Normalised) -> int | None:
    """Return the result where an operand is NaN or infinite, else None."""
    sign = a.sign ^ b.sign
    first, second, third = kinds
    if Kind.NAN in kinds:
        return BF16.nan_code
    if Kind.INFINITY in (first, second):
        zero_times_infinity = Kind.FINITE in (first, second) and 0 in (a.significand, b.significand)
        cancels = third is Kind.INFINITY and c.sign != sign
        return BF16.nan_code if zero_times_infinity or cancels else _infinity(sign)
    return _infinity(c.sign) if third is Kind.INFINITY else None


def _infinity(sign: int) -> int:
    return BF16.infinity_code | (BF16.sign_mask if sign else 0)


def _round(sign: int, magnitude: int, exponent: int) -> int:
    """Round ``magnitude * 2**exponent`` to a code."""
    shift = max(magnitude.bit_length() - PRECISION, EMIN - exponent)
    if shift <= 0:
        significand = magnitude << -shift
    else:
        kept, rest, half = magnitude >> shift, magnitude & (1 << shift) - 1, 1 << shift - 1
        significand = kept + (rest > half or (rest == half and kept & 1 == 1))
    biased = exponent + shift + BF16.bias + BF16.fraction_bits
    # A denormal has no hidden bit to add the 1 that its exponent of emin lacks; a carry out of the fraction adds one.
    code = (biased - 1 << BF16.fraction_bits) + significand
    return min(code, BF16.infinity_code) | (BF16.sign_mask if sign else 0)
