"""The Vector unit's instructions that calculate a word from one or two: integers, shifts, fields of FP32, conversions.

Words are int64 of 32 bits: B is LReg VB, which mostly is VD, and C is LReg VC.

Ref: tt-isa-documentation, pages of the instructions: of Wormhole 3930471, of Blackhole 585749d; ttsim v1.10.0 for SFPABS.
"""

import numpy as np

from bitpath.golden.arrays.kernels import kernel, piece
from bitpath.golden.tensix.declarations.sfpu import (
    EXPONENTIAL,
    EXPONENTIAL_DOUBLED,
    EXPONENTIAL_END,
    EXPONENTIAL_FIRST,
    FLAGS,
    RECIPROCAL,
)
from bitpath.golden.tensix.sfpu.lanes_loop import WRITABLE, becomes_template, enabled, put
from bitpath.golden.tensix.sfpu.multiply_add_loop import bit_length

LOADI, DIVP2, EXEXP, EXMAN, IADD, SHFT, SHFT2, MOV, ABS, AND, OR, NOT, XOR, LZ = range(14)
SETEXP, SETMAN, SETSGN, CAST, ARECIP = range(14, 19)
"""Instructions by their names without SFP."""
SIGN, EXPONENT, FRACTION, HIDDEN, WORD = 1 << 31, 0x7F800000, 0x7FFFFF, 1 << 23, 0xFFFFFFFF
MAGNITUDE, MINUS_INFINITY = SIGN - 1, 0xFF800000
NO_FLAG, NEGATIVE, NOT_32 = range(3)
"""Flags that an instruction sets: none, of a negative result, of a result other than 32."""
ONE, TWO, FOUR = 0x3F800000, 0x40000000, 0x40800000
RECIPROCALS, EXPONENTIALS = (np.frombuffer(table, np.uint8).astype(np.int64) for table in (RECIPROCAL, EXPONENTIAL))
CAST_ABSOLUTE, CAST_SIGN = 2, 3
"""SFPCAST's modes that give an absolute value and exchange two's complement and sign and magnitude."""


@piece
def negated(x):
    """Return the two's complement of a word."""
    return -x & WORD


@piece
def normalised(x):
    """Return the sign and exponent of a sign and magnitude as FP32, and its magnitude with the top bit in bit 31."""
    magnitude = x & MAGNITUDE
    if magnitude == 0:
        return x & SIGN, np.int64(0)
    length = bit_length(magnitude)
    # The hidden bit adds 1 to the exponent.
    return x & SIGN | (125 + length) << 23, magnitude << 32 - length


@piece
def cast(x):
    """Return a sign and magnitude as FP32, to nearest even."""
    base, fraction = normalised(x)
    return base + (fraction >> 8) + (fraction & 0x80 != 0 and fraction & 0x17F != 0)


@piece
def shifted(x, amount, arithmetic):
    """Shift a word left by a word of two's complement, right if that is negative; its magnitude counts modulo 32."""
    if amount & SIGN == 0:
        return x << (amount & 31) & WORD
    if arithmetic and x & SIGN:
        x -= 1 << 32
    return x >> (-amount & 31) & WORD


@piece
def reciprocal(magnitude):
    """Return SFPARECIP's 1 / x of a positive FP32 code: infinity below 2**-126, 0 from 2**126 on."""
    exponent = magnitude >> 23
    if exponent == 0:
        return np.int64(EXPONENT)
    return 253 - exponent << 23 | RECIPROCALS[magnitude >> 16 & 127] << 16 if exponent < 253 else np.int64(0)


@piece
def exponential(magnitude):
    """Return SFPARECIP's exp(x) of a positive FP32 code; from 2 on it is no approximation."""
    upper, lower = magnitude >> 16, magnitude & 0xFFFF
    if magnitude < HIDDEN:
        return np.int64(ONE)
    if upper < EXPONENTIAL_FIRST:
        return ONE | 1 << 16 | lower
    if upper >= EXPONENTIAL_END:
        return FOUR | lower
    return (ONE if upper < EXPONENTIAL_DOUBLED else TWO) | EXPONENTIALS[upper - EXPONENTIAL_FIRST] << 16 | lower


@piece
def field(operation, modifier, immediate, b, c):
    """Return the result of an instruction on the fields of FP32."""
    if operation == DIVP2:
        if modifier & 1 == 0:
            return c & ~EXPONENT | immediate << 23
        return c if c & EXPONENT == EXPONENT else c & ~EXPONENT | c + (immediate << 23) & EXPONENT
    if operation == EXEXP:
        return (c >> 23 & 255) - (0 if modifier & 1 else 127) & WORD
    if operation == EXMAN:
        return c & FRACTION | (0 if modifier & 1 else HIDDEN)
    if operation == SETEXP:
        exponent = immediate if modifier & 1 else b >> 23 & 255 if modifier & 2 else b & 255
        return c & ~EXPONENT | exponent << 23
    if operation == SETMAN:
        return c & ~FRACTION | (immediate if modifier & 1 else b & FRACTION)
    return c & MAGNITUDE | (immediate << 31 if modifier & 1 else b & SIGN)


@piece
def bitwise(operation, b, c):
    """Return the result of an instruction on each bit by itself."""
    if operation == AND:
        return b & c
    if operation == OR:
        return b | c
    return b ^ c if operation == XOR else c ^ WORD


@piece
def approximated(modifier, b, c):
    """Return the result of SFPARECIP."""
    if modifier == 0:
        return c & SIGN | reciprocal(c & MAGNITUDE)
    if modifier == 1:
        return reciprocal(c & MAGNITUDE) if b & SIGN else c
    return c & SIGN | exponential(c & MAGNITUDE)


@piece
def absolute(modifier, c):
    """Return the result of SFPABS; bit 1 of the modifier leaves minus infinity as it is."""
    if modifier & 1 == 0:
        return negated(c) if c & SIGN else c
    return c if c > MINUS_INFINITY - (modifier >> 1) else c & MAGNITUDE


@piece
def converted(modifier, c):
    """Return the result of SFPCAST without random bits."""
    if modifier == CAST_ABSOLUTE:
        return negated(c) if c & SIGN else c
    if modifier == CAST_SIGN:
        return SIGN | negated(c) if c & SIGN else c
    return cast(c)


@piece
def calculated(operation, modifier, immediate, b, c):
    """Return the result of an instruction whose modifier `execute` has prepared."""
    if operation == LOADI:
        return b & modifier | immediate
    if operation == MOV:
        return c ^ SIGN if modifier & 1 else c
    if operation == IADD:
        return c + (immediate if modifier & 1 else -b if modifier & 2 else b) & WORD
    if operation == SHFT:
        return shifted(c if modifier & 5 == 5 else b, immediate if modifier & 1 else c, modifier & 2)
    if operation == SHFT2:
        return shifted(b, c if immediate < 0 else immediate, 0)
    if operation == ABS:
        return absolute(modifier, c)
    if operation == LZ:
        c = c & MAGNITUDE if modifier & 4 else c
        return 32 - bit_length(c) if c else np.int64(32)
    if operation == CAST:
        return converted(modifier, c)
    if operation == ARECIP:
        return approximated(modifier, b, c)
    if operation in (AND, OR, XOR, NOT):
        return bitwise(operation, b, c)
    return field(operation, modifier, immediate, b, c)


@kernel
def calculate(words, bits, operation, modifier, immediate, vb, vc, vd, sets, inverts, every, backdoor):
    """Execute an instruction in the enabled lanes, or in every lane; set and then invert flags if VD is below 8."""
    for unit in range(words.shape[1]):
        for lane in range(words.shape[2]):
            if becomes_template(words, unit, lane, backdoor) or not (every or enabled(words, bits, unit, lane)):
                continue
            b, c = np.int64(words[vb, unit, lane]), np.int64(words[vc, unit, lane])
            result = calculated(operation, modifier, immediate, b, c)
            put(words, unit, lane, vd, result)
            if vd < WRITABLE:
                if sets == NEGATIVE:
                    bits[FLAGS, unit, lane] = result & SIGN != 0
                elif sets == NOT_32:
                    bits[FLAGS, unit, lane] = result != 32
                if inverts:
                    bits[FLAGS, unit, lane] = not bits[FLAGS, unit, lane]
