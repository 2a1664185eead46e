"""AMD AIE-ML v2's scalar unit: its operations, its functions, and the bits of status register SR2.

Ref: AM027 (scalar unit), AM029 "AIE-ML v2 Register Reference" (SR2); llvm-aie, target aie2ps, for operations and shifts.
"""

from enum import Enum, IntFlag

WORD_BITS = 32
"""Bits of a scalar register."""


class Sr2(IntFlag):
    """Flags of status register SR2, by their bits there.

    Zero and infinity: the result is one. Invalid: NaN, or an operation without a result. Tiny: the result, rounded with an
    unbounded exponent, is below the smallest normal number and not 0. Huge: that result is above the largest number.
    Inexact: the result is not the exact one.
    """

    TO_FIX_ZERO = 1 << 0
    TO_FIX_INVALID = 1 << 2
    TO_FIX_INEXACT = 1 << 5
    TO_FIX_HUGE = 1 << 6
    TO_FLOAT_ZERO = 1 << 8
    TO_FLOAT_INEXACT = 1 << 13
    ZERO = 1 << 16
    INFINITY = 1 << 17
    INVALID = 1 << 18
    TINY = 1 << 19
    HUGE = 1 << 20
    INEXACT = 1 << 21


class ScalarFunction(Enum):
    """Functions of a float, or of an integer with a binary point."""

    INV = "inv"  # 1 / x
    SQRT = "sqrt"
    INVSQRT = "invsqrt"  # 1 / sqrt(x)


class ScalarOp(Enum):
    """Operations on words, by name. Only those whose comment has a carry change it."""

    ADD = "add"  # carry: bit 32 of the sum
    ADC = "adc"  # with carry; carry as ADD
    SUB = "sub"  # carry: a borrow
    SBC = "sbc"  # less the carry; carry as SUB
    ABS = "abs"  # carry: a is -2**31, which stays
    AND = "and"
    OR = "or"
    XOR = "xor"
    LSHL = "lshl"  # a * 2**b; b is signed, zeros enter from above
    ASHL = "ashl"  # the same, the sign enters from above
    MUL = "mul"
    MAC = "mac"  # acc + a * b
    MSC = "msc"  # acc - a * b
    MIN = "min"
    MAX = "max"
    MINU = "minu"
    MAXU = "maxu"
    LT = "lt"
    LTU = "ltu"
    GE = "ge"
    GEU = "geu"
    EQ = "eq"
    NE = "ne"
    EQZ = "eqz"
    NEZ = "nez"
    SELEQZ = "seleqz"  # a where acc, the machine's r27, is 0; else b
    SELNEZ = "selnez"  # a where it is not
    CLZ = "clz"  # leading zeros
    CLB = "clb"  # leading copies of the sign, the sign included
    POPCOUNT = "popcount"
    EXT_S8 = "ext_s8"  # sign or zero extension of the low bits
    EXT_S16 = "ext_s16"
    EXT_U8 = "ext_u8"
    EXT_U16 = "ext_u16"
