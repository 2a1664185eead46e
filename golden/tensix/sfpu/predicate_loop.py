"""Lane flags and their stack: SFPSETCC, SFPENCC, SFPCOMPC, SFPPUSHC, SFPPOPC, SFPLE and SFPGT.

Ref: tt-isa-documentation, pages of the instructions: of Wormhole 3930471, of Blackhole 585749d and f7fda21.
"""

import numpy as np

from bitpath.golden.arrays.kernels import kernel, piece
from bitpath.golden.tensix.declarations.encodings import BY_NAME
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.declarations.sfpu import STACK_DEPTH
from bitpath.golden.tensix.sfpu.lanes_loop import (
    DEPTH,
    FLAGS,
    STACK_FLAGS,
    STACK_USE_FLAGS,
    USE_FLAGS,
    becomes_template,
    enabled,
    put,
)

SETCC, ENCC, COMPC, PUSHC, POPC, LE, GT = (
    BY_NAME[Chip.BLACKHOLE][f"SFP{each}"].opcode for each in "SETCC ENCC COMPC PUSHC POPC LE GT".split()
)
SIGN = 1 << 31
FROM_IMMEDIATE, CLEAR = 1, 8
"""Bits of SFPSETCC's modifier; 2 and 4 choose the comparison."""
INVERT_ENABLE, SET_ENABLE, SET_FLAGS = 1, 2, 8
"""Bits of SFPENCC's modifier."""
SET_FLAG, CHANGE_STACK, STACK_OR, SET_REGISTER = 1, 2, 4, 8
"""Bits of the modifier of SFPLE and SFPGT."""
LAST_FUNCTION, INVERT, ALL_TRUE = 12, 13, 14
"""Codes of SFPPUSHC and SFPPOPC: Boolean functions up to the first, then the negation, true, and, behind it, false."""


@piece
def less(x, y):
    """Return whether a sign and magnitude, or FP32 in its total order, is below another; -0 is below +0."""
    x = x ^ SIGN if x & SIGN == 0 else ~x & 0xFFFFFFFF
    y = y ^ SIGN if y & SIGN == 0 else ~y & 0xFFFFFFFF
    return x < y


@piece
def function(code, a, b):
    """Return a Boolean function of two flags by SFPPOPC's code, 1 to 12."""
    if code <= 2:
        return b == (code == 1)
    if code == 11 or code == 12:
        return (a == b) == (code == 12)
    # Pairs of codes from 3 on: conjunction and disjunction, of a or not a with b or not b.
    a, b = a == (code < 7), b == (code in (3, 4, 7, 8))
    return a and b if code & 1 else a or b


@piece
def compared(word, modifier):
    """Return a flag of SFPSETCC: the word, as two's complement, is below 0, not 0, at least 0, or 0."""
    found = word & SIGN != 0 if modifier & 2 == 0 else word != 0
    return found != (modifier & 4 != 0)


@kernel
def predicate(words, bits, operation, modifier, immediate, vb, vc, vd, blackhole, backdoor):
    """Execute an instruction of the module."""
    for unit in range(words.shape[1]):
        for lane in range(words.shape[2]):
            if becomes_template(words, unit, lane, backdoor):
                continue
            on, depth = enabled(words, bits, unit, lane), words[DEPTH, unit, lane]
            flag, use = bits[FLAGS, unit, lane], bits[USE_FLAGS, unit, lane]
            top = np.int64(depth) - 1
            if operation == SETCC:
                if on:
                    if not use or modifier & CLEAR:
                        flag = False
                    elif modifier & FROM_IMMEDIATE:
                        flag = immediate != 0
                    else:
                        flag = compared(np.int64(words[vc, unit, lane]), modifier)
            elif operation == ENCC:
                if modifier & SET_ENABLE:
                    use = immediate & 1 != 0
                elif modifier & INVERT_ENABLE:
                    use = not use
                flag = immediate & 2 != 0 if modifier & SET_FLAGS else True
            elif operation == COMPC:
                below = top < 0 or bits[STACK_FLAGS + top, unit, lane]
                nested = top < 0 or bits[STACK_USE_FLAGS + top, unit, lane]
                flag = below and nested and use and not flag
            elif operation == LE or operation == GT:
                x, y = np.int64(words[vc, unit, lane]), np.int64(words[vb, unit, lane])
                found = less(x, y) == (operation == GT)
                if modifier & CHANGE_STACK and top >= 0:
                    old = bits[STACK_FLAGS + top, unit, lane]
                    bits[STACK_FLAGS + top, unit, lane] = old or found if modifier & STACK_OR else old and found
                if on:
                    if modifier & SET_REGISTER:
                        put(words, unit, lane, vd, 0xFFFFFFFF if found else 0)
                    if modifier & SET_FLAG:
                        flag = found
            elif operation == PUSHC:
                if modifier == 0:
                    top += 1
                    words[DEPTH, unit, lane] = depth + 1
                    below = flag
                elif modifier <= LAST_FUNCTION:
                    below = function(modifier, bits[STACK_FLAGS + top, unit, lane], flag)
                elif modifier == INVERT:
                    flag = not flag
                    below = flag
                else:
                    below = modifier == ALL_TRUE
                bits[STACK_FLAGS + top, unit, lane] = below
                bits[STACK_USE_FLAGS + top, unit, lane] = use if modifier <= INVERT else True
            else:
                below = top >= 0 and bits[STACK_FLAGS + top, unit, lane]
                nested = top >= 0 and bits[STACK_USE_FLAGS + top, unit, lane]
                if modifier == 0:
                    words[DEPTH, unit, lane] = depth - 1
                elif depth == STACK_DEPTH and not blackhole:
                    # Wormhole's bug: the top overwrites the bottom.
                    bits[STACK_FLAGS, unit, lane], bits[STACK_USE_FLAGS, unit, lane] = below, nested
                if modifier == 0:
                    flag, use = below, nested
                elif modifier <= LAST_FUNCTION:
                    flag, use = function(modifier, flag, below), nested
                elif modifier == INVERT:
                    flag = not flag
                else:
                    flag, use = modifier == ALL_TRUE, True
            bits[FLAGS, unit, lane], bits[USE_FLAGS, unit, lane] = flag, use
