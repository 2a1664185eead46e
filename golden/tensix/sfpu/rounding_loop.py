"""SFP_STOCH_RND, and the other instructions that draw random numbers: SFPCAST's stochastic mode, SFPMOV of the PRNG.

A magnitude whose d discarded bits are D goes up where D >= P >> (23 - d), with 23 random bits P. To nearest, ties away from
zero, is P = 0x400000. To zero is P = 0x7FFFFF, which still rounds a D of all ones up; a D of 0 goes up where the top d bits of P
are 0.

Ref: tt-isa-documentation, SFPSTOCHRND and its three pages of flavours, SFPCAST, SFPMOV: commit 585749d.
"""

import numpy as np

from bitpath.golden.arrays.kernels import kernel, piece
from bitpath.golden.tensix.sfpu.lanes_loop import becomes_template, draw, enabled, put
from bitpath.golden.tensix.sfpu.simple_loop import normalised

RANDOM_BITS = 23
RANDOM_MASK = (1 << RANDOM_BITS) - 1
FP16A, FP16B, UINT8, INT8, INT32_TO_UINT8, INT32_TO_INT8, UINT16, INT16, CAST, RANDOM = range(10)
"""Modes of SFP_STOCH_RND by their numbers; then SFPCAST and SFPMOV, which draw a number too."""
NEAREST, ZERO = 0, 2
"""Roundings without random bits; 1 is stochastic."""
NEAREST_BITS, ZERO_BITS = 0x400000, RANDOM_MASK
"""P of these."""
HALF_EXPONENT = 126
"""Exponent field of 0.5; numbers below it become 0 in every rounding."""
LARGEST_EXPONENT = 127 + 16
"""Exponent field from which on an integer saturates."""


@piece
def float_rounded(x, count, random, top_bits):
    """Return FP32 without its lowest bits: zeros and denormals as +0, NaN as the infinity of its sign."""
    exponent, discarded = x >> 23 & 255, x & (1 << count) - 1
    if exponent == 0:
        return np.int64(0)
    if exponent == 255:
        return x & 0xFF800000
    fraction = discarded << RANDOM_BITS - count
    up = discarded >= random >> RANDOM_BITS - count if top_bits else fraction >= random
    return x - discarded + (up << count)


@piece
def compared_bits(rounding, drawn):
    """Return P of a rounding."""
    return NEAREST_BITS if rounding == NEAREST else ZERO_BITS if rounding == ZERO else drawn & RANDOM_MASK


@piece
def rounded(x, mode, random, shift, top_bits):
    """Return the result of SFP_STOCH_RND of a word by a mode from 0 to 7."""
    if mode in (FP16A, FP16B):
        return float_rounded(x, 13 if mode == FP16A else 16, random, top_bits)
    if mode in (INT32_TO_UINT8, INT32_TO_INT8):
        scaled = (x & 0x7FFFFFFF) << RANDOM_BITS >> shift
    else:
        exponent = x >> 23 & 255
        if exponent < HALF_EXPONENT:
            return np.int64(0)
        scaled = (x & RANDOM_MASK | 1 << 23) << min(exponent, LARGEST_EXPONENT) - HALF_EXPONENT >> 1
    keeps_sign = mode & 1
    largest = (1 << (16 if mode in (UINT16, INT16) else 8) - keeps_sign) - 1
    magnitude = min((scaled >> RANDOM_BITS) + (scaled & RANDOM_MASK >= random), largest)
    return magnitude | (x & 1 << 31 if keeps_sign and magnitude else 0)


@kernel
def round_words(x, mode, rounding, random, shift, top_bits, result):
    """Write SFP_STOCH_RND, uint32 [n], of words with random bits and shifts, uint32 [n]."""
    for i in range(x.size):
        drawn, amount = compared_bits(rounding, np.int64(random[i])), np.int64(shift[i]) & 31
        result[i] = rounded(np.int64(x[i]), mode, drawn, amount, top_bits)


@kernel
def round_lanes(words, bits, mode, shift, rounding, vb, vc, vd, top_bits, backdoor):
    """Execute an instruction of the module; a negative shift stands for the one in LReg VB."""
    for unit in range(words.shape[1]):
        for lane in range(words.shape[2]):
            if becomes_template(words, unit, lane, backdoor) or not enabled(words, bits, unit, lane):
                continue
            state, x = draw(words, unit, lane), np.int64(words[vc, unit, lane])
            result = state
            if mode == CAST:
                base, fraction = normalised(x)
                result = base + (fraction >> 8) + (fraction & 0xFE > state >> 9 & 0xFE)
            elif mode != RANDOM:
                amount = np.int64(words[vb, unit, lane]) & 31 if shift < 0 else shift
                result = rounded(x, mode, compared_bits(rounding, state), amount, top_bits)
            put(words, unit, lane, vd, result)
