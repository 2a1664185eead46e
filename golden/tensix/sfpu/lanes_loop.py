"""Rules that every instruction of the Vector unit shares, on the arrays of `Lanes`.

A lane is disabled if LaneConfig's ROW_MASK has the bit of its row, or if UseLaneFlagsForLaneEnable is set and its flag is not.
ROW_MASK is that of the lane's column in row 0.

Ref: tt-isa-documentation, VectorUnit and LReg: of Wormhole 1354710, of Blackhole f7fda21.
"""

import numpy as np

from bitpath.golden.arrays.kernels import kernel, piece
from bitpath.golden.tensix.declarations.sfpu import (
    FLAGS,
    GENERAL,
    LANE_CONFIG,
    PRNG,
    SCHEDULED,
    USE_FLAGS,
    LaneConfig,
)

WRITABLE = len(GENERAL)
"""LRegs below this one take results, and so does `SCHEDULED`; a result for another LReg is dropped."""
BACKDOOR_CLOSED, ROW_MASK = int(LaneConfig.DISABLE_BACKDOOR_LOAD), int(LaneConfig.ROW_MASK)


@piece
def enabled(words, bits, unit, lane):
    """Return whether an instruction acts on a lane."""
    if words[LANE_CONFIG, unit, lane & 7] & ROW_MASK << (lane >> 3):
        return False
    return bits[FLAGS, unit, lane] or not bits[USE_FLAGS, unit, lane]


@piece
def becomes_template(words, unit, lane, backdoor):
    """Return whether a lane stores a word, whose VD is 12 or more, instead of executing it."""
    return backdoor and words[LANE_CONFIG, unit, lane] & BACKDOOR_CLOSED == 0


@piece
def stepped(state):
    """Return the PRNG's next state, int64: bits 31, 21, 1 and 0 give the new bit 31."""
    parity = state >> 31 ^ state >> 21 ^ state >> 1 ^ state
    return (~parity & 1) << 31 | state >> 1


@piece
def draw(words, unit, lane):
    """Step a lane's PRNG; return the state before the step."""
    state = np.int64(words[PRNG, unit, lane])
    words[PRNG, unit, lane] = stepped(state)
    return state


@piece
def put(words, unit, lane, register, value):
    """Write an LReg if it takes results."""
    if register < WRITABLE or register == SCHEDULED:
        words[register, unit, lane] = value


@kernel
def step_states(states, result):
    """Write the next states, uint32 [n]."""
    for i in range(states.size):
        result[i] = stepped(np.int64(states[i]))
