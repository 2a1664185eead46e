"""Moves between lanes and registers: SFPSWAP, SFPSHFT2's lane modes, SFPTRANSP and SFPCONFIG.

Ref: tt-isa-documentation, pages of the instructions: of Wormhole 3930471, of Blackhole 585749d, 47385dd and 1354710.
"""

import numpy as np

from bitpath.golden.arrays.kernels import kernel
from bitpath.golden.tensix.declarations.sfpu import (
    COLUMNS,
    FIRST_TEMPLATE,
    FLAGS,
    HAS_ROTATED,
    LANE_CONFIG,
    LANES,
    ROTATED,
    USE_FLAGS,
    LaneConfig,
)
from bitpath.golden.tensix.sfpu.lanes_loop import WRITABLE, becomes_template, enabled, put
from bitpath.golden.tensix.sfpu.predicate_loop import less

COPY, CHAINED_COPY, ROTATE_AND_COPY, ROTATE, SHIFT = range(5)
"""Modes of SFPSHFT2 that move lanes or registers."""
INDEX_ENABLE, INVERT_SWAP = int(LaneConfig.ENABLE_DEST_INDEX), int(LaneConfig.EXCHANGE_SRCB_SRCC)
WRITE, OR, AND = 0, 1, 2
"""Operations of SFPCONFIG on Misc and LaneConfig; 3 is the exclusive or."""


@kernel
def swap(words, bits, always, minimum_rows, vc, vd, backdoor):
    """Execute SFPSWAP: exchange always, or leave the minimum in VD in some rows and the maximum in the others."""
    for unit in range(words.shape[1]):
        for lane in range(words.shape[2]):
            if becomes_template(words, unit, lane, backdoor) or not enabled(words, bits, unit, lane):
                continue
            config = words[LANE_CONFIG, unit, lane]
            c, d = words[vc, unit, lane], words[vd, unit, lane]
            if not always:
                smaller = less(np.int64(c), np.int64(d))
                swaps = smaller == (minimum_rows >> (lane >> 3) & 1 != 0)
                if swaps == (config & INVERT_SWAP != 0):
                    continue
            limit = 4 if config & INDEX_ENABLE else WRITABLE
            if vc < limit:
                words[vc, unit, lane] = d
            if vd < limit:
                words[vd, unit, lane] = c
            if config & INDEX_ENABLE:
                c_index, d_index = 4 + (vc & 3), 4 + (vd & 3)
                c, d = words[c_index, unit, lane], words[d_index, unit, lane]
                words[c_index, unit, lane] = d
                words[d_index, unit, lane] = c


@kernel
def move_lanes(words, bits, mode, vc, vd, blackhole, backdoor):
    """Execute SFPSHFT2 in a mode from 0 to 4."""
    for unit in range(words.shape[1]):
        c, first = words[vc, unit].copy(), words[0, unit].copy()
        for lane in range(LANES):
            if becomes_template(words, unit, lane, backdoor):
                continue
            left = lane - 1 if lane & 7 else lane + 7
            moved = c[left]
            if mode == COPY:
                moved = np.uint32(0)
            elif mode == CHAINED_COPY:
                moved = first[lane + COLUMNS] if lane < LANES - COLUMNS else np.uint32(0)
            elif mode == SHIFT and lane & 7 == 0:
                # Wormhole's bug: the lane that should become 0 takes a lane of the last rotated register.
                moved = np.uint32(0) if blackhole else words[ROTATED, unit, left]
            if enabled(words, bits, unit, lane):
                if mode <= ROTATE_AND_COPY:
                    for register in range(3):
                        words[register, unit, lane] = words[register + 1, unit, lane]
                    words[3, unit, lane] = moved
                else:
                    put(words, unit, lane, vd, moved)
        if (mode in (ROTATE_AND_COPY, ROTATE)) and vd < FIRST_TEMPLATE:
            words[ROTATED, unit] = c
            bits[HAS_ROTATED, unit] = True


@kernel
def transpose(words, bits, backdoor):
    """Execute SFPTRANSP: exchange rows and registers of LRegs 0 to 3 and of 4 to 7 in every column."""
    for unit in range(words.shape[1]):
        before = words[:WRITABLE, unit].copy()
        for lane in range(LANES):
            if becomes_template(words, unit, lane, backdoor) or not enabled(words, bits, unit, lane):
                continue
            row, column = lane // COLUMNS, lane % COLUMNS
            for register in range(WRITABLE):
                words[register, unit, lane] = before[register & 4 | row, (register & 3) * COLUMNS + column]


@kernel
def configure(words, bits, place, immediate, operation, mask, columns):
    """Execute SFPCONFIG: write bits of a place of `words` in some columns; a negative immediate stands for row 0 of LReg 0."""
    for unit in range(words.shape[1]):
        for lane in range(LANES):
            column = lane & 7
            off = bits[USE_FLAGS, unit, column] and not bits[FLAGS, unit, column]
            if off or columns >> column & 1 == 0:
                continue
            old = np.int64(words[place, unit, lane])
            value = np.int64(words[0, unit, column]) if immediate < 0 else immediate
            if operation == OR:
                value |= old
            elif operation == AND:
                value &= old
            elif operation != WRITE:
                value ^= old
            words[place, unit, lane] = value & mask | old & ~mask
