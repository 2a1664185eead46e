"""The Vector unit's multiply-add, and the instructions that it serves: SFPMAD and its relatives, the LUTs, SFPMUL24.

The product keeps 3 guard bits, the last of them sticky. The operand of the smaller exponent is shifted right; its lost bits
count only if some bit is left. One rounding, to nearest even, follows::

    product  p.pppp...p GRS   27 or 28 bits, exponent ex + ey - 127
    addend   0.zzzz...z 000   27 bits, exponent ez
    sum      up to 29 bits, normalised to 1.rrrr...r GRS

====================  ==========================  ==================================================
rule                  Blackhole                   Wormhole
====================  ==========================  ==================================================
two bits shifted out  both are sticky             the lower one alone
below 2**-126         rounded, then signed zero   +0, below 2**-127 before it is rounded
exact zero            -0 if both addends are      +0
NaN                   0x7FC00000                  0x7F800001 with a sign and bits of the sum or-ed in
====================  ==========================  ==================================================

Integers are int64, so that no step overflows.

Ref: tt-isa-documentation, Miscellaneous/FMA 06c5af5; SFPMAD, SFPLUT, SFPLUTFP32 and SFPMUL24 of Blackhole 585749d.
"""

import numpy as np

from bitpath.golden.arrays.bits import code64
from bitpath.golden.arrays.kernels import kernel, piece
from bitpath.golden.tensix.declarations.sfpu import SCHEDULED
from bitpath.golden.tensix.sfpu.lanes_loop import becomes_template, enabled, put

SIGN, INFINITY, FRACTION, HIDDEN = 1 << 31, 0x7F800000, 0x7FFFFF, 1 << 23
CANONICAL_NAN, WORMHOLE_NAN = 0x7FC00000, 0x7F800001
GUARD_BITS = 3
SUM_BITS = 24 + GUARD_BITS
"""Bits of a normalised sum."""
LONGEST_SHIFT = 31
"""Longest shift that leaves a bit of 28."""
NEGATE_A, NEGATE_C, INDIRECT_A, INDIRECT_D = 1, 2, 4, 8
"""Bits of the modifier; Wormhole has no negation."""
INDEX_LREG, INDEX_MASK = 7, 15
"""LReg and its bits that name an operand or the result of the indirect modes."""
ONE, TWO = 0x3F800000, 0x40000000
HALF, ONE_AND_HALF, THREE, FOUR = 0x3F000000, 0x3FC00000, 0x40400000, 0x40800000
"""Bounds of the tables' ranges."""
LUT8, LUT32, LUT16_THREE, LUT16_SIX_TO_3, LUT16_SIX_TO_4 = range(5)
"""Tables: codes of 8 bits; FP32; codes of 16 bits in three ranges, or in six ranges, the last from 3 or from 4 on."""
KEEPS_SIGN = 4
"""Bit of a LUT's modifier: the result takes x's sign."""
UPPER = 1
"""Bit of SFPMUL24's modifier: bits 45 to 23 of the product instead of 22 to 0."""


@piece
def significand(x):
    """Return the significand of a normal FP32 code, 0 of any other finite one."""
    return x & FRACTION | HIDDEN if x & INFINITY else 0


@piece
def is_nan(x):
    """Return whether an FP32 code is NaN."""
    return x & (SIGN - 1) > INFINITY


@piece
def bit_length(x):
    """Return the bits of an integer from 1 to 2**53 - 1."""
    return (code64(x) >> 52) - 1022


@piece
def aligned(x, shift):
    """Shift right; lost bits are or-ed into the last bit unless the result is 0."""
    kept = x >> shift if shift <= LONGEST_SHIFT else 0
    return kept | (kept << shift != x) if kept else 0


@piece
def special(x, y, z, exponent, blackhole):
    """Return the result if an operand or the product is NaN or infinite, and True if it is Wormhole's NaN."""
    product_sign, z_sign = (x ^ y) & SIGN, z & SIGN
    x_exponent, y_exponent = x >> 23 & 255, y >> 23 & 255
    infinite_operand = x_exponent == 255 or y_exponent == 255
    infinite_addend = z & (SIGN - 1) == INFINITY
    # Wormhole takes a product of finite numbers that overflows for an infinity here, Blackhole does not.
    infinite_product = infinite_operand or (exponent >= 255 and not blackhole)
    cancels = infinite_addend and infinite_product and z_sign != product_sign
    zero_times_infinity = infinite_operand and (x_exponent == 0 or y_exponent == 0)
    if is_nan(x) or is_nan(y) or zero_times_infinity or cancels:
        return (CANONICAL_NAN, False) if blackhole else (product_sign | WORMHOLE_NAN, True)
    if is_nan(z):
        return (CANONICAL_NAN, False) if blackhole else (z_sign | WORMHOLE_NAN, True)
    return (z, False) if infinite_addend else (product_sign | INFINITY, False)


@piece
def rounded_sum(total, exponent, sign, nan, blackhole):
    """Return the code of a sum with guard bits, normalised and rounded; Wormhole's NaN, unless 0, takes its bits."""
    shift = bit_length(total) - SUM_BITS
    exponent += shift
    if exponent >= 255:
        return nan if nan else sign | INFINITY
    if exponent < 0 and not blackhole:
        return nan
    if exponent <= 0 and blackhole:
        shift, exponent = shift + 1, 0
    if shift <= 0:
        total <<= -shift
    else:
        total = total >> shift | (total & (shift | 1 if blackhole else 1) != 0)
    code = (exponent << 23) + (total >> GUARD_BITS & FRACTION)
    code += (total & 7) + (code & 1) > 4
    if code < HIDDEN:
        return sign if blackhole else nan
    return (nan if nan else sign) | code


@piece
def fma(x, y, z, blackhole):
    """Return the FP32 code of x * y + z by the rules of the module, of codes in int64."""
    x_exponent, y_exponent, z_exponent = x >> 23 & 255, y >> 23 & 255, z >> 23 & 255
    product_sign, z_sign = (x ^ y) & SIGN, z & SIGN
    exact, addend = significand(x) * significand(y), significand(z) << GUARD_BITS
    product = exact >> 20 | (exact & (1 << 20) - 1 != 0)
    exponent, nan = x_exponent + y_exponent - 127, np.int64(0)
    if max(x_exponent, y_exponent, z_exponent, exponent) >= 255:
        result, leaks = special(x, y, z, exponent, blackhole)
        if not leaks:
            return result
        nan, exponent = result, min(exponent, 255)
    if product == 0 or exponent < 0:
        if not nan:
            return z if addend else z_sign & product_sign if blackhole else np.int64(0)
        product, exponent = np.int64(0), np.int64(0)
    largest = max(exponent, z_exponent)
    product, addend = aligned(product, largest - exponent), aligned(addend, largest - z_exponent)
    total = product + addend if product_sign == z_sign else abs(product - addend)
    if total == 0:
        return z_sign & product_sign if blackhole else nan
    return rounded_sum(total, largest, product_sign if product >= addend else z_sign, nan, blackhole)


@piece
def source(words, unit, lane, register, modifier):
    """Return operand A: a register, or the register that LReg 7 names."""
    index = words[INDEX_LREG, unit, lane] & INDEX_MASK if modifier & INDIRECT_A else register
    return np.int64(words[index, unit, lane])


@piece
def put_result(words, unit, lane, register, modifier, value):
    """Write a result to a register, or to the register that LReg 7 names."""
    if modifier & INDIRECT_D and register != SCHEDULED:
        register = words[INDEX_LREG, unit, lane] & INDEX_MASK
    put(words, unit, lane, register, value)


@kernel
def multiply_add(words, bits, blackhole, modifier, immediate, va, vb, vc, vd, backdoor):
    """Execute SFPMAD and its relatives; an immediate that is not negative is operand A."""
    for unit in range(words.shape[1]):
        for lane in range(words.shape[2]):
            if becomes_template(words, unit, lane, backdoor) or not enabled(words, bits, unit, lane):
                continue
            a = source(words, unit, lane, va, modifier) if immediate < 0 else immediate
            b, c = np.int64(words[vb, unit, lane]), np.int64(words[vc, unit, lane])
            if modifier & NEGATE_A:
                a ^= SIGN
            if modifier & NEGATE_C:
                c ^= SIGN
            put_result(words, unit, lane, vd, modifier, fma(a, b, c, blackhole))


@piece
def from_lut8(code):
    """Return the FP32 code of a table's s | e3 | m4: 2**-e * 1.m; all ones are 0."""
    return 0 if code == 255 else (code >> 7) << 31 | (127 - (code >> 4 & 7)) << 23 | (code & 15) << 19


@piece
def from_lut16(code):
    """Return the FP32 code of a table's s | e5 | m10: 2**(e - 15) * 1.m, even if e is 0; if it is 31 a zero."""
    exponent = code >> 10 & 31
    return (code >> 15) << 31 | (0 if exponent == 31 else 112 + exponent) << 23 | (code & 1023) << 13


@kernel
def look_up(words, bits, blackhole, table, modifier, vd, backdoor):
    """Execute SFPLUT or SFPLUTFP32 with a table: factor * abs(LReg 3) + addend."""
    for unit in range(words.shape[1]):
        for lane in range(words.shape[2]):
            if becomes_template(words, unit, lane, backdoor) or not enabled(words, bits, unit, lane):
                continue
            x = np.int64(words[3, unit, lane])
            b = x & SIGN - 1
            entry = 0 if b < ONE else 1 if b < TWO else 2
            factor, addend = np.int64(words[entry, unit, lane]), np.int64(words[4 + entry, unit, lane])
            if table == LUT8:
                factor, addend = from_lut8(factor >> 8 & 255), from_lut8(factor & 255)
            elif table == LUT16_THREE:
                factor, addend = from_lut16(factor >> 16), from_lut16(factor & 0xFFFF)
            elif table != LUT32:
                last = THREE if table == LUT16_SIX_TO_3 else FOUR
                upper = b >= (HALF if entry == 0 else ONE_AND_HALF if entry == 1 else last)
                half = 16 if upper else 0
                factor, addend = from_lut16(factor >> half & 0xFFFF), from_lut16(addend >> half & 0xFFFF)
            result = fma(factor, b, addend, blackhole)
            if modifier & KEEPS_SIGN:
                result = result & SIGN - 1 | x & SIGN
            put_result(words, unit, lane, vd, modifier, result)


@piece
def shifted_sum(product, z):
    """Return SFPMUL24's sum of a product and VC, as the multiply-add's path gives it; a VC of exponent 0 adds nothing."""
    exponent = z >> 23 & 255
    if exponent == 0:
        return product
    addend, largest = significand(z) << GUARD_BITS, max(exponent, 129)
    product >>= largest - 129 & 31
    shift = largest - exponent & 31
    kept = addend >> shift
    if kept:
        product = product + kept + ((kept << shift ^ addend) > 0xFFFF) * 0x10000 & FRACTION
    return product


@kernel
def multiply_integers(words, bits, modifier, va, vb, vc, vd, backdoor):
    """Execute SFPMUL24: bits 22 to 0, or 45 to 23, of the product of 23-bit integers."""
    for unit in range(words.shape[1]):
        for lane in range(words.shape[2]):
            if becomes_template(words, unit, lane, backdoor) or not enabled(words, bits, unit, lane):
                continue
            a, b = source(words, unit, lane, va, modifier), np.int64(words[vb, unit, lane])
            product = (a & FRACTION) * (b & FRACTION)
            product = product >> 23 if modifier & UPPER else product & FRACTION
            product = shifted_sum(product, np.int64(words[vc, unit, lane]))
            put_result(words, unit, lane, vd, modifier, product)
