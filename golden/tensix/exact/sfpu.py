"""The Vector unit's operations on one lane: words of 32 bits in, a word out. `sfpu_unit` executes instructions with them.

Ref: tt-isa-documentation, a page for each instruction, of Wormhole 3930471 and of Blackhole 585749d; Miscellaneous/FMA/fma.c;
ttsim v1.10.0 where a field of `TensixNumerics` says so.
"""

from collections.abc import Sequence

from bitpath.golden.scalar.checked import check_length, checked
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.declarations.numerics import StochasticCompare, TensixNumerics
from bitpath.golden.tensix.declarations.sfpu import (
    EXPONENTIAL,
    EXPONENTIAL_DOUBLED,
    EXPONENTIAL_END,
    EXPONENTIAL_FIRST,
    GENERAL,
    RECIPROCAL,
)

SIGN, MAGNITUDE, WORD = 1 << 31, (1 << 31) - 1, (1 << 32) - 1
FRACTION_BITS, BIAS = 23, 127
HIDDEN, FRACTION = 1 << FRACTION_BITS, (1 << FRACTION_BITS) - 1
INFINITY, ONE, TWO, FOUR = 0x7F800000, 0x3F800000, 0x40000000, 0x40800000
INFINITE = 255
"""Exponent field of infinities and NaN."""
FP16_REBIAS = BIAS - 15


def _exponent(code: int) -> int:
    return code >> FRACTION_BITS & 0xFF


def _signed(word: int) -> int:
    return word - ((word & SIGN) << 1)


# SFPMAD and its family: FP32 multiply-add, partly fused.
#
#     product   1.m * 1.m, 2 integer and 23 fraction bits, 3 guard bits, the last one sticky
#     addend        1.m, 1 integer and 23 fraction bits, 3 guard bits of zero
#
# The operand of the smaller exponent goes right; its discarded bits are sticky unless all of it is discarded. The sum is rounded
# once, to nearest even.


NAN = 0x7FC00000
"""Blackhole's NaN."""
LEAKING_NAN = 0x7F800001
"""Wormhole's NaN; a sign and bits of the sum are ORed into it."""
GUARD_BITS = 3
SUM_BITS = 1 + FRACTION_BITS + GUARD_BITS


@checked
def mad(chip: Chip, a: int, b: int, c: int) -> int:
    """Return a * b + c in FP32; denormals count as zeros.

    Wormhole's exact zeros are +0, its NaN is `LEAKING_NAN` with bits of the sum, and of two bits that the sum's normalisation
    shifts out only the lower one is sticky. A product is infinite if its exponent alone overflows, and zero if it is negative.
    """
    wormhole = chip is Chip.WORMHOLE
    (exponent_a, x), (exponent_b, y), (exponent_c, addend) = map(_significand, (a, b, c))
    sign, sign_c = (a ^ b) & SIGN, c & SIGN
    exponent = exponent_a + exponent_b - BIAS
    operand_infinite = INFINITE in (exponent_a, exponent_b)
    infinite = operand_infinite or exponent >= INFINITE
    nan_product = (exponent_a == INFINITE and (x != HIDDEN or y == 0)) or (
        exponent_b == INFINITE and (y != HIDDEN or x == 0)
    )
    nan_addend, addend_infinite = exponent_c == INFINITE and addend != HIDDEN, c & MAGNITUDE == INFINITY
    if addend_infinite and sign != sign_c and (infinite if wormhole else operand_infinite):
        nan_product = True
    nan = (sign if nan_product else sign_c) | LEAKING_NAN if nan_product or nan_addend else 0
    if nan and not wormhole:
        return NAN
    if not nan and addend_infinite:
        return c
    if not nan and infinite:
        return sign | INFINITY
    product, addend = _sticky(x * y, FRACTION_BITS - GUARD_BITS), addend << GUARD_BITS
    exponent = min(exponent, INFINITE)
    if product == 0 or exponent < 0:
        if not nan:
            return c if addend else 0 if wormhole else sign & sign_c
        product = exponent = 0
    return _sum(wormhole, (sign, exponent, product), (sign_c, exponent_c, addend), nan)


def _significand(code: int) -> tuple[int, int]:
    """Return the exponent field, and the significand with its hidden bit or 0."""
    exponent = _exponent(code)
    return exponent, HIDDEN | code & FRACTION if exponent else 0


def _sticky(value: int, shift: int) -> int:
    """Shift right; the discarded bits are ORed into the last bit kept."""
    return value >> shift | (value & (1 << shift) - 1 != 0)


def _aligned(value: int, shift: int) -> int:
    """Shift right with a sticky bit, unless nothing is kept."""
    return _sticky(value, shift) if value >> shift else 0


def _sum(wormhole: bool, product: tuple[int, int, int], addend: tuple[int, int, int], nan: int) -> int:
    """Add two numbers of sign, exponent field and significand with guard bits; `nan` is Wormhole's NaN or 0."""
    (sign, exponent, x), (sign_c, exponent_c, y) = product, addend
    top = max(exponent, exponent_c)
    x, y = _aligned(x, top - exponent), _aligned(y, top - exponent_c)
    total = x + y if sign == sign_c else abs(x - y)
    negative = sign if x >= y else sign_c
    if total == 0:
        return nan if wormhole else sign & sign_c
    shift = total.bit_length() - SUM_BITS
    top += shift
    if top >= INFINITE:
        return nan or negative | INFINITY
    if top < 0 and wormhole:
        return nan
    if top <= 0 and not wormhole:
        shift, top = shift + 1, 0
    discarded = total & (1 if wormhole else shift | 1)
    total = total << -shift if shift <= 0 else total >> shift | (discarded != 0)
    code = (top << FRACTION_BITS) + (total >> GUARD_BITS & FRACTION)
    code += (total & 7) + (code & 1) > 4
    if code < HIDDEN:
        return nan if wormhole else negative
    return (nan or negative) | code


@checked
def mul24(a: int, b: int, c: int, *, upper: bool = False) -> int:
    """Return the lower or the upper 23 bits of the product of the lower 23 bits of `a` and `b`, as SFPMUL24 does.

    `c` other than 0 goes through the adder of the floats, which the page does not guarantee.
    """
    product = (a & FRACTION) * (b & FRACTION)
    total = product >> FRACTION_BITS if upper else product & FRACTION
    exponent, addend = _significand(c)
    if exponent == 0:
        return total
    # The product counts as a float of this exponent field.
    own = BIAS + 2
    top = max(own, exponent)
    addend <<= GUARD_BITS
    kept = addend >> (top - exponent & 31)
    total >>= top - own & 31
    if kept == 0:
        return total
    discarded = addend - (kept << (top - exponent & 31))
    return total + kept + ((discarded > 0xFFFF) << 16) & FRACTION


# Tables: SFPLUT, SFPLUTFP32 and SFPARECIP.


KEEP_SIGN = 4
"""Bit of the modifier of SFPLUT and SFPLUTFP32 that gives the result the sign of LReg 3."""
SIX_ENTRIES, LAST_AT_FOUR, THREE_ENTRIES = 2, 3, 10
"""Modifiers of SFPLUTFP32 whose tables have 16-bit entries."""
HALF, ONE_AND_HALF, THREE = 0x3F000000, 0x3FC00000, 0x40400000


@checked
def lut(chip: Chip, registers: Sequence[int], mode: int) -> int:
    """Return SFPLUT's factor * abs(LReg 3) + addend: bits 15:8 and 7:0 of LReg 0 below 1, of LReg 1 below 2, else of LReg 2."""
    check_length("registers", registers, len(GENERAL))
    magnitude = registers[3] & MAGNITUDE
    entry = registers[_range(magnitude)]
    return _with_sign(mad(chip, _lut8(entry >> 8 & 0xFF), magnitude, _lut8(entry & 0xFF)), registers[3], mode)


@checked
def lut_fp32(chip: Chip, registers: Sequence[int], mode: int) -> int:
    """Return SFPLUTFP32's factor * abs(LReg 3) + addend, from LReg 0 to 2 and 4 to 6, or both from halves of LReg 0 to 2."""
    check_length("registers", registers, len(GENERAL))
    magnitude = registers[3] & MAGNITUDE
    which = _range(magnitude)
    factor, addend = registers[which], registers[4 + which]
    if mode & THREE_ENTRIES == THREE_ENTRIES:
        factor, addend = _lut16(factor >> 16), _lut16(factor & 0xFFFF)
    elif mode & SIX_ENTRIES:
        last = FOUR if mode & LAST_AT_FOUR == LAST_AT_FOUR else THREE
        upper = 16 * (magnitude >= (HALF, ONE_AND_HALF, last)[which])
        factor, addend = _lut16(factor >> upper & 0xFFFF), _lut16(addend >> upper & 0xFFFF)
    return _with_sign(mad(chip, factor, magnitude, addend), registers[3], mode)


def _range(magnitude: int) -> int:
    return (magnitude >= ONE) + (magnitude >= TWO)


def _with_sign(code: int, of: int, mode: int) -> int:
    return of & SIGN | code & MAGNITUDE if mode & KEEP_SIGN else code


def _lut8(code: int) -> int:
    """Return the FP32 code of a byte s | e3 | m4, which is 2**-e * 1.m, or of 0xFF, which is 0."""
    return 0 if code == 0xFF else code >> 7 << 31 | BIAS - (code >> 4 & 7) << FRACTION_BITS | (code & 0xF) << 19


def _lut16(code: int) -> int:
    """Return the FP32 code of s | e5 | m10, which is 2**(e - 15) * 1.m, or a zero if e is 31."""
    exponent = code >> 10 & 0x1F
    return code >> 15 << 31 | (0 if exponent == 31 else exponent + FP16_REBIAS) << FRACTION_BITS | (code & 0x3FF) << 13


@checked
def approximate(mode: int, b: int, c: int) -> int:
    """Return SFPARECIP's 1 / c (0); 1 / abs(c) if b is negative, else c (1); exp(abs(c)) with the sign of c (2 to 15)."""
    sign, magnitude = c & SIGN, c & MAGNITUDE
    if mode == 0:
        return sign | _reciprocal(magnitude)
    if mode == 1:
        return _reciprocal(magnitude) if b & SIGN else c
    return sign | _exponential(magnitude)


def _reciprocal(code: int) -> int:
    exponent = 2 * BIAS - 1 - _exponent(code)
    if exponent == 2 * BIAS - 1:
        return INFINITY
    return exponent << FRACTION_BITS | RECIPROCAL[code >> 16 & 0x7F] << 16 if exponent > 0 else 0


def _exponential(code: int) -> int:
    upper, lower = code >> 16, code & 0xFFFF
    if code < HIDDEN:
        return ONE
    if upper < EXPONENTIAL_FIRST:
        return ONE | 1 << 16 | lower
    if upper >= EXPONENTIAL_END:
        return FOUR | lower
    return (ONE if upper < EXPONENTIAL_DOUBLED else TWO) | EXPONENTIAL[upper - EXPONENTIAL_FIRST] << 16 | lower


# Integers: SFPIADD, shifts, SFPLZ, SFPABS, SFPCAST.


@checked
def integer_add(mode: int, b: int, c: int, immediate: int) -> int:
    """Return SFPIADD's c + immediate of 12 bits (bit 0 of the mode), c - b (bit 1) or c + b."""
    if mode & 1:
        return c + immediate - ((immediate & 0x800) << 1) & WORD
    return (c - b if mode & 2 else c + b) & WORD


@checked
def shifted(x: int, amount: int, *, arithmetic: bool = False) -> int:
    """Shift left by a signed amount of 32 bits, or right if it is negative, by its magnitude modulo 32."""
    if not amount & SIGN:
        return x << amount % 32 & WORD
    return (_signed(x) if arithmetic else x) >> -amount % 32 & WORD


@checked
def leading_zeros(x: int) -> int:
    """Return the leading zeros of 32 bits."""
    return 32 - x.bit_length()


@checked
def absolute(numerics: TensixNumerics, mode: int, x: int) -> int:
    """Return SFPABS's two's complement magnitude, in which the least integer stays, or with mode 1 that of FP32, in which NaN stays."""
    if not x & SIGN:
        return x
    if not mode & 1:
        return -x & WORD
    kept = x & MAGNITUDE > INFINITY or (x & MAGNITUDE == INFINITY and not numerics.sfpabs_clears_infinity)
    return x if kept else x & MAGNITUDE


@checked
def cast(mode: int, x: int, bits: int = 0) -> int:
    """Return SFPCAST's FP32 number of a sign and magnitude, to nearest even (0) or by 7 of 32 random bits (1).

    Blackhole: two's complement magnitude (2), two's complement of a sign and magnitude or back (3).
    """
    sign, magnitude = x & SIGN, x & MAGNITUDE
    if mode > 1:
        complement = -x & WORD if sign else x
        return complement if mode == 2 else sign | complement
    if magnitude == 0:
        return sign
    length = magnitude.bit_length()
    normalised = magnitude << 32 - length
    code = (length + BIAS - 2 << FRACTION_BITS) + (normalised >> 8)
    up_to_even = normalised & 0x80 and normalised & 0x17F
    return sign | code + bool(normalised & 0xFE > bits >> 9 & 0xFE if mode else up_to_even)


# Fields of FP32: SFPSETEXP, SFPSETMAN, SFPSETSGN, SFPEXEXP, SFPEXMAN and SFPDIVP2.


@checked
def set_exponent(mode: int, b: int, c: int, immediate: int) -> int:
    """Return c with the exponent field of the immediate (bit 0 of the mode), that of b (bit 1) or b's lowest 8 bits."""
    exponent = immediate & 0xFF if mode & 1 else _exponent(b) if mode & 2 else b & 0xFF
    return c & (SIGN | FRACTION) | exponent << FRACTION_BITS


@checked
def set_fraction(mode: int, b: int, c: int, immediate: int) -> int:
    """Return c with b's lowest 23 bits as fraction, or with the 12 of the immediate above 11 zeros (bit 0 of the mode)."""
    return c & ~FRACTION | (immediate << 11 if mode & 1 else b & FRACTION)


@checked
def set_sign(mode: int, b: int, c: int, immediate: int) -> int:
    """Return c with the sign of b, or with the immediate's (bit 0 of the mode)."""
    return c & MAGNITUDE | (immediate << 31 if mode & 1 else b & SIGN)


@checked
def exponent_of(mode: int, c: int) -> int:
    """Return SFPEXEXP's exponent of c as two's complement; bit 0 of the mode leaves the bias in it."""
    return _exponent(c) - (0 if mode & 1 else BIAS) & WORD


@checked
def significand_of(mode: int, c: int) -> int:
    """Return SFPEXMAN's fraction of c, with the hidden bit unless bit 0 of the mode is set."""
    return c & FRACTION | (0 if mode & 1 else HIDDEN)


@checked
def scaled(mode: int, c: int, immediate: int) -> int:
    """Return SFPDIVP2's c with the exponent field of the immediate, or with their sum modulo 256 (bit 0 of the mode).

    Infinities and NaN stay in the sum.
    """
    exponent = _exponent(c)
    if mode & 1 and exponent == INFINITE:
        return c
    exponent = immediate + (exponent if mode & 1 else 0) & 0xFF
    return c & (SIGN | FRACTION) | exponent << FRACTION_BITS


# Comparisons and conditions.


@checked
def less(x: int, y: int) -> bool:
    """True if x is below y as sign and magnitude, -0 below +0; so floats have a total order with NaN outermost."""
    return _order(x) < _order(y)


def _order(x: int) -> int:
    return ~(x & MAGNITUDE) if x & SIGN else x


@checked
def condition(mode: int, c: int) -> bool:
    """Return SFPSETCC's c < 0 (0), c != 0 (2), c >= 0 (4) or c == 0 (6) of two's complement."""
    return (bool(c & SIGN), c != 0, not c & SIGN, c == 0)[mode // 2]


@checked
def boolean(code: int, a: bool, b: bool) -> bool:
    """Return the function of SFPPUSHC and SFPPOPC with a code of 1 to 12."""
    # Results for (a, b) of (0, 0), (0, 1), (1, 0) and (1, 1).
    table = ("0101", "1010", "0001", "0111", "0010", "1011", "0100", "1101", "1000", "1110", "0110", "1001")
    return table[code - 1][2 * a + b] == "1"


# Immediates, and the words of Dst.


@checked
def immediate_word(mode: int, old: int, immediate: int) -> int:
    """Return the lane after SFPLOADI: BF16 (0), FP16 (1), unsigned (2), signed (4), upper half (8), lower half (10)."""
    match mode:
        case 0:
            return immediate << 16
        case 1:
            exponent = (immediate >> 10 & 0x1F) + FP16_REBIAS
            return immediate >> 15 << 31 | exponent << FRACTION_BITS | (immediate & 0x3FF) << 13
        case 2:
            return immediate
        case 4:
            return immediate - ((immediate & 0x8000) << 1) & WORD
        case 8:
            return immediate << 16 | old & 0xFFFF
    return old >> 16 << 16 | immediate


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


# Random numbers: 32 bits of each lane.
#
# Ref: tt-isa-documentation, VectorUnit.


@checked
def random_step(state: int) -> int:
    """Return the state after this one: shifted right, bit 31 the negated parity of bits 31, 21, 1 and 0."""
    parity = (state & 0x80200003).bit_count() % 2
    return (1 - parity) << 31 | state >> 1
