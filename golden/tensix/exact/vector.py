"""The Vector unit on one lane: fused multiply-add, loads, stores and stochastic rounding."""

from dataclasses import dataclass

from bitpath.golden.formats.catalogue import BF16
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.tensix.declarations.numerics import StochasticCompare, TensixNumerics

# A scalar bfloat16 fused multiply-add with full IEEE 754 behaviour, in seven steps.
#
# The Matrix unit simplifies it: denormals as zero, a part of the significand, one common alignment, cheaper rounding.
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


# SFPLOAD on one lane.
#
# Ref: tt-isa-documentation 3930471, SFPLOAD of both chips; ttsim v1.10.0.


@checked
def loaded(numerics: TensixNumerics, word: int, mode: int, *, old: int = 0, fp16_infinity: bool = False) -> int:
    """Return the lane after SFPLOAD, by its mode, 1 to 15, of a Dst word; opaque 16 bits (6 to 9, 14, 15) in the register's order."""
    sign, low = word >> 15, word % (1 << 10)
    match mode:
        case 1:
            exponent = word >> 10 & 0x1F
            if fp16_infinity and word % (1 << 15) == 0x7FFF:
                return sign << 31 | 255 << 23
            return sign << 31 | (exponent + 127 - 15 if exponent else 0) << 23 | low << 13
        case 2 | 7:
            return word << 16
        case 5:
            return sign << 31 | low % (1 << (7 if numerics.sfpu_sign_magnitude else 8))
        case 8:
            return sign << 31 | word % (1 << 15)
        case 11:
            return 0
        case 12 if numerics.sfpu_sign_magnitude:
            return _twos_complement(word >> 31, word % (1 << 31))
        case 13:
            return _twos_complement(sign, low) if numerics.sfpu_sign_magnitude else sign << 31 | low
        case 14:
            return old >> 16 << 16 | word
        case 15:
            return word << 16 | old % (1 << 16)
    return word


def _twos_complement(sign: int, magnitude: int) -> int:
    return (-magnitude if sign else magnitude) % (1 << 32)


# SFPSTORE on one lane.
#
# Ref: tt-isa-documentation 3930471, SFPSTORE of both chips; ttsim v1.10.0 for FP32 denormals on Wormhole.


@checked
def stored(numerics: TensixNumerics, lane: int, mode: int) -> int:
    """Return the Dst word of a lane by SFPSTORE's mode, 1 to 15; opaque 16 bits (6, 8, 14, 15) in the register's order."""
    low, high = lane % (1 << 16), lane >> 16
    sign, exponent, fraction = lane >> 31, lane >> 23 & 0xFF, lane % (1 << 23)
    if mode in (12, 13) and numerics.sfpu_sign_magnitude and sign:
        lane = sign << 31 | ((1 << 32) - lane) % (1 << 31)
    match mode:
        case 1:
            biased = exponent - 127 + 15
            return sign << 15 | (0 if biased <= 0 else 0x7FFF if biased > 31 else biased << 10 | fraction >> 13)
        case 2:
            return high if exponent else sign << 15
        case 3:
            return sign << 31 if exponent == 0 and numerics.sfpstore_flush else lane
        case 5 | 13:
            return sign << 15 | 16 << 10 | lane % (1 << 10)
        case 6 | 14:
            return low
        case 7:
            return _logical(high) << 16 | low
        case 8:
            return sign << 15 | low % (1 << 15)
        case 9:
            return _logical(low) << 16 | high
        case 11:
            return 0
        case 15:
            return high
    return lane


def _logical(half: int) -> int:
    """Return the upper register half s | m7 | e8 as s | e8 | m7."""
    return half >> 15 << 15 | half % (1 << 8) << 7 | (half >> 8) % (1 << 7)


# SFP_STOCH_RND on one lane: an FP32 number with fewer fraction bits, or a float or a shifted integer as a bounded integer.
#
# Ref: tt-isa-documentation, SFPSTOCHRND and its three pages of flavours, commit 585749d.


RANDOM_BITS = 23
KEPT_FRACTION_BITS = {0: 10, 1: 7}
"""Fraction bits by mode, FP16A and FP16B."""
LARGEST = {2: 255, 3: 127, 4: 255, 5: 127, 6: 65535, 7: 32767}
"""Largest magnitude by mode; the odd ones keep the sign."""


@checked
def rounds_up(numerics: TensixNumerics, discarded: int, count: int, bits: int) -> bool:
    """True if a magnitude with `count` discarded bits goes up, by 23 random bits."""
    if numerics.stochastic_compare is StochasticCompare.TOP_BITS:
        return discarded >= bits % (1 << RANDOM_BITS) >> RANDOM_BITS - count
    return discarded << RANDOM_BITS - count >= bits % (1 << RANDOM_BITS)


@checked
def stochastic_round(numerics: TensixNumerics, code: int, mode: int, bits: int, shift: int = 0) -> int:
    """Return the lane's new word: an FP32 code, or a sign and magnitude; 0x400000 as bits rounds to nearest.

    The modes 4 and 5 divide a sign and magnitude by 2**shift; the others take an FP32 code.
    """
    sign, exponent, fraction = code >> 31, code >> 23 & 0xFF, code & 0x7FFFFF
    if mode in KEPT_FRACTION_BITS:
        if exponent in (0, 255):
            return sign << 31 | 255 << 23 if exponent else 0
        count = 23 - KEPT_FRACTION_BITS[mode]
        kept, rest = divmod(exponent << 23 | fraction, 1 << count)
        return sign << 31 | kept + rounds_up(numerics, rest, count, bits) << count
    if mode in (4, 5):
        units = code % (1 << 31) << 23 >> shift
    elif exponent < 126:
        return 0
    else:
        units = (1 << 23 | fraction) << exponent >> 127
    whole, rest = divmod(units, 1 << 23)
    magnitude = min(whole + rounds_up(numerics, rest, 23, bits), LARGEST[mode])
    return (sign << 31 if mode % 2 and magnitude else 0) | magnitude
