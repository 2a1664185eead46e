"""ZEROACC, ZEROSRC and CLEARDVALID: rows of Dst become undefined, banks become zero or are given back.

Ref: tt-isa-documentation 3930471, ZEROACC, ZEROSRC and CLEARDVALID; ttsim v1.10.0 for Blackhole's tiles.
"""

import numpy as np

from bitpath.golden.tensix.core.source_banks import SourceBanks
from bitpath.golden.tensix.core.state import State
from bitpath.golden.tensix.core.unpacr_nop import MINUS_INFINITY
from bitpath.golden.tensix.declarations.chips import Chip
from bitpath.golden.tensix.declarations.formats import DST16_ROWS, FACE
from bitpath.golden.tensix.isa import Instruction

ZERO_ROW, FACE_ROWS, HALF, ALL = range(4)
"""Modes of ZEROACC: one row, 16 rows, half of Dst, all of it."""
BLOCK_MASK = 0xFF
"""Bits of ZEROACC's operand that number blocks of 16 rows."""


def zeroacc(state: State, thread: int, instruction: Instruction) -> None:
    """Execute ZEROACC: rows of 16 bits, or of a 32-bit row its upper half's, become undefined.

    Raises
    ------
    ValueError : `revert`, which golden does not model.
    """
    mode, operand = instruction["mode"], instruction["operand"]
    if state.chip is Chip.BLACKHOLE and instruction["revert"]:
        raise ValueError("revert must be 0 in ZEROACC: golden does not model it; not 1")
    if mode == ZERO_ROW:
        wide = state.config.read("fp32_enabled", thread) or state.config.read("int8_math", thread)
        state.dst.defined[state.dst.rows(state.dst_row(thread, operand), 1, dst32=bool(wide))] = False
    elif mode == FACE_ROWS:
        wide = bool(instruction["dst32"])
        block = _block(state, thread, operand & BLOCK_MASK, wide)
        if block < DST16_ROWS // FACE // (2 if wide else 1):
            state.dst.defined[state.dst.rows(block * FACE, FACE, dst32=wide)] = False
    elif mode == HALF:
        first = DST16_ROWS // 2 * (operand & 1)
        state.dst.defined[first : first + DST16_ROWS // 2] = False
    else:
        state.dst.defined[:] = False
    if mode in (ZERO_ROW, FACE_ROWS):
        state.step_rwc(thread, instruction["modifier"])


def zerosrc(state: State, _: int, instruction: Instruction) -> None:
    """Execute ZEROSRC: the unpacker's bank, the Matrix unit's or both, become 0; SrcA may become minus infinity."""
    words = MINUS_INFINITY if instruction["negative_infinity"] else 0, 0
    for bit, source in enumerate((state.src_a, state.src_b)):
        if instruction["sources"] >> bit & 1:
            _banks(source, instruction)[:] = words[bit]


def cleardvalid(state: State, _: int, instruction: Instruction) -> None:
    """Execute CLEARDVALID: banks go back to the unpackers, with `reset` all of them."""
    for bit, source in enumerate((state.src_a, state.src_b)):
        if instruction["reset"]:
            source.reset()
        elif instruction["flip"] >> bit & 1:
            source.give_back(flip=not instruction["keep_reading"])


def _block(state: State, thread: int, operand: int, wide: bool) -> int:
    """Return the block of 16 rows; Blackhole goes on in the half that the RWC and the math offset name."""
    absolute = state.chip is Chip.WORMHOLE or state.config.read("zeroacc_absolute_tile_mode", thread)
    offset = state.rwc[thread].dst + state.config.of_thread("math_offset", thread)
    if absolute or not offset & (0x300 if wide else 0x200):
        return operand
    return operand + (16 if wide else 32)


def _banks(source: SourceBanks, instruction: Instruction) -> np.ndarray:
    if instruction["both_banks"]:
        return source.words
    return source.read if instruction["matrix_bank"] else source.written
