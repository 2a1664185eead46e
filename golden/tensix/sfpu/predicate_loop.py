"""Lane flags and their stack: SFPSETCC, SFPENCC, SFPCOMPC, SFPPUSHC, SFPPOPC, SFPLE and SFPGT.

Ref: tt-isa-documentation, pages of the instructions: of Wormhole 3930471, of Blackhole 585749d and f7fda21.
"""

import numpy as np

from bitpath.golden.arrays.kernels import kernel, piece
from bitpath.golden.tensix.declarations.sfpu import DEPTH, FLAGS, STACK_DEPTH, STACK_FLAGS, STACK_USE_FLAGS, USE_FLAGS
from bitpath.golden.tensix.sfpu.lanes_loop import becomes_template, enabled, put

SETCC, ENCC, COMPC, PUSHC, POPC, LE, GT = range(7)
"""Instructions by their names without SFP."""
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
    """Return True if a sign and magnitude, or an FP32 code in total order, is below another; -0 is below +0."""
    x = x ^ SIGN if x & SIGN == 0 else ~x & 0xFFFFFFFF
    y = y ^ SIGN if y & SIGN == 0 else ~y & 0xFFFFFFFF
    return x < y


@piece
def function(code, a, b):
    """Return a Boolean function of two flags by SFPPOPC's code, 1 to 12."""
    if code <= 2:
        return b == (code == 1)
    if code > 10:
        return (a == b) == (code == 12)
    # Pairs of codes from 3 on: conjunction and disjunction, of a or not a with b or not b.
    a, b = a == (code < 7), b == (code in (3, 4, 7, 8))
    return a and b if code & 1 else a or b


@piece
def compared(word, modifier):
    """Return a flag of SFPSETCC: the word, as two's complement, is below 0, not 0, at least 0, or 0."""
    found = word & SIGN != 0 if modifier & 2 == 0 else word != 0
    return found != (modifier & 4 != 0)


@piece
def top_of(words, bits, unit, lane, empty):
    """Return flags and use_flags of the stack's top, or `empty` for both."""
    top = np.int64(words[DEPTH, unit, lane]) - 1
    if top < 0:
        return empty, empty
    return bits[STACK_FLAGS + top, unit, lane], bits[STACK_USE_FLAGS + top, unit, lane]


@piece
def put_top(words, bits, unit, lane, flag, use):
    """Replace the stack's top."""
    top = np.int64(words[DEPTH, unit, lane]) - 1
    bits[STACK_FLAGS + top, unit, lane], bits[STACK_USE_FLAGS + top, unit, lane] = flag, use


@piece
def set_condition(word, modifier, immediate, use):
    """Return the flag after SFPSETCC in an enabled lane."""
    if not use or modifier & CLEAR:
        return False
    return immediate != 0 if modifier & FROM_IMMEDIATE else compared(word, modifier)


@piece
def compare(words, bits, unit, lane, modifier, found, vd, flag):
    """Return the flag after SFPLE or SFPGT; write the register, and the stack of disabled lanes too."""
    if modifier & CHANGE_STACK and words[DEPTH, unit, lane]:
        old, use = top_of(words, bits, unit, lane, False)
        put_top(words, bits, unit, lane, old or found if modifier & STACK_OR else old and found, use)
    if not enabled(words, bits, unit, lane):
        return flag
    if modifier & SET_REGISTER:
        put(words, unit, lane, vd, 0xFFFFFFFF if found else 0)
    return found if modifier & SET_FLAG else flag


@piece
def push(words, bits, unit, lane, modifier, flag, use):
    """Return the flag after SFPPUSHC."""
    if modifier == 0:
        words[DEPTH, unit, lane] += 1
        put_top(words, bits, unit, lane, flag, use)
    elif modifier <= LAST_FUNCTION:
        below, _ = top_of(words, bits, unit, lane, False)
        put_top(words, bits, unit, lane, function(modifier, below, flag), use)
    elif modifier == INVERT:
        flag = not flag
        put_top(words, bits, unit, lane, flag, use)
    else:
        put_top(words, bits, unit, lane, modifier == ALL_TRUE, True)
    return flag


@piece
def pop(words, bits, unit, lane, modifier, flag, use, blackhole):
    """Return flags and use_flags after SFPPOPC."""
    below, nested = top_of(words, bits, unit, lane, False)
    if modifier == 0:
        words[DEPTH, unit, lane] -= 1
        return below, nested
    if words[DEPTH, unit, lane] == STACK_DEPTH and not blackhole:
        # Wormhole's bug: the top overwrites the bottom.
        bits[STACK_FLAGS, unit, lane], bits[STACK_USE_FLAGS, unit, lane] = below, nested
    if modifier <= LAST_FUNCTION:
        return function(modifier, flag, below), nested
    return (not flag, use) if modifier == INVERT else (modifier == ALL_TRUE, True)


@kernel
def predicate(words, bits, operation, modifier, immediate, vb, vc, vd, blackhole, backdoor):
    """Execute an instruction of the module."""
    for unit in range(words.shape[1]):
        for lane in range(words.shape[2]):
            if becomes_template(words, unit, lane, backdoor):
                continue
            flag, use = bits[FLAGS, unit, lane], bits[USE_FLAGS, unit, lane]
            c = np.int64(words[vc, unit, lane])
            if operation == SETCC:
                if enabled(words, bits, unit, lane):
                    flag = set_condition(c, modifier, immediate, use)
            elif operation == ENCC:
                if modifier & SET_ENABLE:
                    use = immediate & 1 != 0
                elif modifier & INVERT_ENABLE:
                    use = not use
                flag = immediate & 2 != 0 if modifier & SET_FLAGS else True
            elif operation == COMPC:
                below, nested = top_of(words, bits, unit, lane, True)
                flag = below and nested and use and not flag
            elif operation == PUSHC:
                flag = push(words, bits, unit, lane, modifier, flag, use)
            elif operation == POPC:
                flag, use = pop(words, bits, unit, lane, modifier, flag, use, blackhole)
            else:
                found = less(c, np.int64(words[vb, unit, lane])) == (operation == GT)
                flag = compare(words, bits, unit, lane, modifier, found, vd, flag)
            bits[FLAGS, unit, lane], bits[USE_FLAGS, unit, lane] = flag, use
