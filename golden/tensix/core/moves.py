"""MOVA2D, MOVB2D, MOVD2A, MOVD2B, MOVB2A and TRNSPSRCB: which rows they move; golden's moves change the words.

The rows are operands plus RWCs, for Dst plus math offset, aligned to their number by clearing low bits.

Ref: tt-isa-documentation 3930471, pages of the instructions; MOVB2A by ttsim v1.10.0.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from bitpath.golden.tensix.core.errors import UndefinedBehavior
from bitpath.golden.tensix.core.source_banks import SourceBanks
from bitpath.golden.tensix.core.source_formats import movb2d_format, movd2b_format, src_a_format, src_b_format
from bitpath.golden.tensix.core.state import State
from bitpath.golden.tensix.declarations.formats import DST16_BF16, DST16_FP16, DST32, SRC_ROWS, Format, WordLayout
from bitpath.golden.tensix.isa import Instruction
from bitpath.golden.tensix.matrix.moves import SHORT_FORMATS, mova2d, movb2a, movb2d, movd2a, trnspsrcb

ONE_ROW, SEVERAL_ROWS = 0, 2
"""Modes of MOVA2D, MOVD2A, MOVD2B and MOVB2A: one row, or eight to Dst and four else."""
COLUMN_0, ONE_ROW_TO_8, FOUR_ROWS = 1, 2, 4
"""Bits of MOVB2D's mode; the second goes before the third."""
TRANSPOSED = slice(16, 32)
"""Rows that TRNSPSRCB exchanges with their columns."""


def execute_mova2d(state: State, thread: int, instruction: Instruction) -> None:
    """Execute MOVA2D."""
    fmt, count = src_a_format(state, thread), _rows(instruction, 8)
    source = _source_rows(state.src_a, instruction["src_row"] + state.rwc[thread].src_a, count)
    _to_dst(state, thread, instruction, fmt, count, lambda old, **options: mova2d(old, source, **options))
    state.step_rwc(thread, instruction["modifier"])


def execute_movb2d(state: State, thread: int, instruction: Instruction) -> None:
    """Execute MOVB2D."""
    fmt, own, mode = movb2d_format(state, thread), src_b_format(state, thread), instruction["mode"]
    count = 8 if mode & ONE_ROW_TO_8 else 4 if mode & FOUR_ROWS else 1
    taken = 1 if mode & ONE_ROW_TO_8 else count
    source = _source_rows(state.src_b, instruction["src_row"] + state.rwc[thread].src_b, taken)

    def move(old: np.ndarray, **options: Any) -> np.ndarray:
        return movb2d(old, source, srcb_format=own, column_0=bool(mode & COLUMN_0), **options)

    _to_dst(state, thread, instruction, fmt, count, move)
    state.step_rwc(thread, instruction["modifier"])


def execute_movd2a(state: State, thread: int, instruction: Instruction) -> None:
    """Execute MOVD2A."""
    row = instruction["src_row"] + state.rwc[thread].src_a
    _from_dst(state, thread, instruction, src_a_format(state, thread), state.src_a, row)


def execute_movd2b(state: State, thread: int, instruction: Instruction) -> None:
    """Execute MOVD2B."""
    row = instruction["src_row"] + state.rwc[thread].src_b
    _from_dst(state, thread, instruction, movd2b_format(state, thread), state.src_b, row)


def execute_movb2a(state: State, thread: int, instruction: Instruction) -> None:
    """Execute MOVB2A."""
    count = _rows(instruction, 4)
    source = _source_rows(state.src_b, instruction["src_b_row"] + state.rwc[thread].src_b, count)
    target = _source_rows(state.src_a, instruction["src_a_row"] + state.rwc[thread].src_a, count)
    target[:] = movb2a(
        source,
        srcb_format=src_b_format(state, thread),
        keep_denormals=bool(state.config.read("zero_flag_disabled_src", thread)),
        numerics=state.numerics,
    )
    state.step_rwc(thread, instruction["modifier"])


def execute_trnspsrcb(state: State, _: int, __: Instruction) -> None:
    """Execute TRNSPSRCB."""
    rows = state.src_b.read[TRANSPOSED]
    rows[:] = trnspsrcb(rows)


def _rows(instruction: Instruction, several: int) -> int:
    """Return how many rows an instruction moves."""
    if instruction["mode"] not in (ONE_ROW, SEVERAL_ROWS):
        raise ValueError(f"mode must be 0 or 2 in {instruction.name}, not {instruction['mode']}")
    return several if instruction["mode"] else 1


def _source_rows(source: SourceBanks, row: int, count: int) -> np.ndarray:
    """Return rows of the Matrix unit's bank, from one aligned to their number; writes reach the register."""
    first = row % SRC_ROWS & ~(count - 1)
    return source.read[first : first + count]


def _layout(fmt: Format, wide: bool) -> WordLayout:
    return DST32 if wide else DST16_FP16 if fmt in SHORT_FORMATS else DST16_BF16


def _to_dst(
    state: State,
    thread: int,
    instruction: Instruction,
    fmt: Format,
    count: int,
    move: Callable[..., np.ndarray],
) -> None:
    """Move rows to Dst by golden's move, a function of the old rows and of options."""
    fp32, low_half = bool(state.config.read("fp32_enabled", thread)), bool(instruction["low_half"])
    layout = _layout(fmt, fmt is Format.TF32 or low_half or (fp32 and state.numerics.moves_follow_fp32))
    row = state.dst_row(thread, instruction["dst"]) & ~(count - 1)
    new = move(
        state.dst.read(row, count, layout),
        srca_format=fmt,
        fp32_enabled=fp32,
        low_half=low_half,
        keep_denormals=bool(state.config.read("zero_flag_disabled_src", thread)),
        numerics=state.numerics,
    )
    state.dst.write(row, new, layout)


def _from_dst(state: State, thread: int, instruction: Instruction, fmt: Format, source: SourceBanks, row: int) -> None:
    """Move Dst rows to the Matrix unit's bank, then step the RWCs."""
    wide = bool(state.config.read("fp32_enabled", thread) or state.config.read("int8_math", thread))
    low_half, count = bool(instruction["low_half"]), _rows(instruction, 4)
    if not wide and (low_half or fmt is Format.TF32):
        what = "low_half" if low_half else "TF32"
        raise UndefinedBehavior(f"Fp32_enabled must be 1 in {instruction.name} with {what}, not 0")
    first = state.dst_row(thread, instruction["dst"]) & ~(count - 1)
    words = state.dst.read(first, count, _layout(fmt, wide))
    _source_rows(source, row, count)[:] = movd2a(words, srca_format=fmt, dst32=wide, low_half=low_half)
    state.step_rwc(thread, instruction["modifier"])
