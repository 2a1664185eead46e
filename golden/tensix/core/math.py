"""The Matrix unit's instructions in a program: moves, products, and rows and banks that are cleared."""

from typing import Any, NamedTuple

import numpy as np

from bitpath.golden.tensix.core.state import (
    ALU,
    SourceBanks,
    State,
    UndefinedBehavior,
    movb2d_format,
    movd2b_format,
    src_a_format,
    src_b_format,
)
from bitpath.golden.tensix.core.unpacker import MINUS_INFINITY
from bitpath.golden.tensix.declarations.formats import (
    BLOCK_ROWS,
    COLUMNS,
    DST16_BF16,
    DST16_FP16,
    DST16_ROWS,
    DST32,
    EXPONENT5_FORMATS,
    FACE,
    SRC_ROWS,
    STYLE_FORMATS,
    Chip,
    Format,
    Style,
    WordLayout,
)
from bitpath.golden.tensix.isa import Instruction
from bitpath.golden.tensix.matrix.elementwise import elwadd_of, elwmul_of
from bitpath.golden.tensix.matrix.moves import (
    SHORT_FORMATS,
    from_dst_of,
    placed_format,
    to_dst_of,
    to_src_a_of,
    trnspsrcb,
)
from bitpath.golden.tensix.matrix.mvmul import ROW_BROADCAST_ROWS, product_in_dst_of, product_of
from bitpath.golden.tensix.matrix.pooling import gmpool_of
from bitpath.golden.tensix.operands.arguments import broadcast_src_b, check_source, source_format
from bitpath.golden.tensix.operands.registers import check_rows

# MOVA2D, MOVB2D, MOVD2A, MOVD2B, MOVB2A and TRNSPSRCB: which rows they move; golden's moves change the words.
#
# The rows are operands plus RWCs, for Dst plus math offset, aligned to their number by clearing low bits.
#
# Ref: tt-isa-documentation 3930471, pages of the instructions; MOVB2A by ttsim v1.10.0.


ONE_ROW, SEVERAL_ROWS = 0, 2
"""Modes of MOVA2D, MOVD2A, MOVD2B and MOVB2A: one row, or eight to Dst and four else."""
COLUMN_0, ONE_ROW_TO_8, FOUR_ROWS = 1, 2, 4
"""Bits of MOVB2D's mode; the second goes before the third."""
TRANSPOSED = slice(16, 32)
"""Rows that TRNSPSRCB exchanges with their columns."""


class Move(NamedTuple):
    """How a thread's moves read and write rows.

    Attributes
    ----------
    formats : the one that decides how Dst holds the datums, and SrcB's own where it masks them.
    fp32, int8, keeps_denormals : Fp32_enabled, INT8_math_enabled and Zero_Flag_disabled_src.
    """

    formats: tuple[Format, Format | None]
    fp32: bool
    int8: bool
    keeps_denormals: bool


def _move(state: State, thread: int, name: str, *_: int | None) -> Move:
    fields = "fp32_enabled", "int8_math", "zero_flag_disabled_src"
    fp32, int8, keeps = (bool(state.config.read(each, thread)) for each in fields)
    own = src_b_format(state, thread) if name == "MOVB2D" else None
    return Move((MOVE_FORMATS[name](state, thread), own), fp32, int8, keeps)


def _move_of(state: State, thread: int, name: str) -> Move:
    """Return the settings of an instruction that moves; raises as `src_a_format`."""
    return state.configured(ALU, _move, thread, name, state.src_a.implied, state.src_b.implied)


MOVE_FORMATS = {
    "MOVA2D": src_a_format,
    "MOVB2D": movb2d_format,
    "MOVD2A": src_a_format,
    "MOVD2B": movd2b_format,
    "MOVB2A": src_b_format,
}


def execute_mova2d(state: State, thread: int, instruction: Instruction) -> None:
    """Execute MOVA2D."""
    move, count = _move_of(state, thread, "MOVA2D"), _rows(instruction, 8)
    source = _source_rows(state.src_a, instruction["src_row"] + state.rwc[thread].src_a, count)
    _to_dst(state, thread, instruction, move, count, source)


def execute_movb2d(state: State, thread: int, instruction: Instruction) -> None:
    """Execute MOVB2D."""
    move, mode = _move_of(state, thread, "MOVB2D"), instruction["mode"]
    count = 8 if mode & ONE_ROW_TO_8 else 4 if mode & FOUR_ROWS else 1
    taken = 1 if mode & ONE_ROW_TO_8 else count
    source = _source_rows(state.src_b, instruction["src_row"] + state.rwc[thread].src_b, taken)
    _to_dst(state, thread, instruction, move, count, source, column_0=bool(mode & COLUMN_0))


def execute_movd2a(state: State, thread: int, instruction: Instruction) -> None:
    """Execute MOVD2A."""
    row = instruction["src_row"] + state.rwc[thread].src_a
    _from_dst(state, thread, instruction, state.src_a, row)


def execute_movd2b(state: State, thread: int, instruction: Instruction) -> None:
    """Execute MOVD2B."""
    row = instruction["src_row"] + state.rwc[thread].src_b
    _from_dst(state, thread, instruction, state.src_b, row)


def execute_movb2a(state: State, thread: int, instruction: Instruction) -> None:
    """Execute MOVB2A."""
    count = _rows(instruction, 4)
    source = _source_rows(state.src_b, instruction["src_b_row"] + state.rwc[thread].src_b, count)
    target = _source_rows(state.src_a, instruction["src_a_row"] + state.rwc[thread].src_a, count)
    move = _move_of(state, thread, "MOVB2A")
    target[:] = state.settled(to_src_a_of, move.formats[0], move.keeps_denormals)(source)
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
    move: Move,
    count: int,
    source: np.ndarray,
    *,
    column_0: bool = False,
) -> None:
    """Move rows to Dst, then step the RWCs."""
    low_half = bool(instruction["low_half"])
    follows = move.fp32 and state.numerics.moves_follow_fp32
    if follows and low_half:
        raise UndefinedBehavior(f"low_half must be 0 in {instruction.name} with Fp32_enabled, not 1")
    operation = state.settled(to_dst_of, move.formats, column_0, move.fp32, move.int8, low_half, move.keeps_denormals)
    fmt = move.formats[0]
    placed = placed_format(state.numerics, fmt, move.fp32, move.int8)
    layout = _layout(placed, fmt is Format.TF32 or low_half or follows)
    row = state.dst_row(thread, instruction["dst"]) & ~(count - 1)
    if low_half:
        old = state.dst.read(row, count, layout, stale=state.numerics.low_half_shows_stale)
    else:
        old = np.empty((count, COLUMNS), np.uint32)
    state.dst.write(row, operation(old, source), layout)
    state.step_rwc(thread, instruction["modifier"])


def _from_dst(state: State, thread: int, instruction: Instruction, source: SourceBanks, row: int) -> None:
    """Move Dst rows to the Matrix unit's bank, then step the RWCs."""
    move = _move_of(state, thread, instruction.name)
    fmt, wide = move.formats[0], move.fp32 or move.int8
    low_half, count = bool(instruction["low_half"]), _rows(instruction, 4)
    if not wide and (low_half or fmt is Format.TF32):
        what = "low_half" if low_half else "TF32"
        raise UndefinedBehavior(f"Fp32_enabled must be 1 in {instruction.name} with {what}, not 0")
    first = state.dst_row(thread, instruction["dst"]) & ~(count - 1)
    words = state.dst.read(first, count, _layout(fmt, wide))
    _source_rows(source, row, count)[:] = state.settled(from_dst_of, fmt, wide, low_half)(words)
    state.step_rwc(thread, instruction["modifier"])


# MVMUL, DOTPV, GAPOOL, GMPOOL and the element-wise operations: which rows they take, and what golden computes of them.
#
# The rows are those of the RWCs, for Dst with operand and math offset added, aligned by clearing low bits::
#
#     MVMUL, DOTPV         8 Dst rows    8 of SrcB    16 of SrcA
#     MVMUL broadcasting   Dst rows 0, 2, 4 and 6 from a base that is not aligned in bit 0, 1 of SrcB, 16 of SrcA
#     GAPOOL, GMPOOL       4 Dst rows    8 of SrcB    16 of SrcA
#     element-wise         8 Dst rows    8 of SrcB, broadcasting 1    8 of SrcA
#
# Ref: tt-isa-documentation 3930471, pages of the instructions; of Blackhole for the formats.


POOLS = ("GAPOOL", "GMPOOL")
POOL_ROWS = 4
"""Dst rows of GAPOOL and GMPOOL."""
BROADCAST_BASE = 0x3F9
"""Bits of the first Dst row of an MVMUL with row broadcast."""
ELEMENTWISE = ("ELWMUL", "ELWADD", "ELWSUB")
ONE_BLOCK = np.zeros(1, np.int64), np.zeros(1, np.int64)
"""Numbers of the only block of SrcB and of SrcA."""


class Operands(NamedTuple):
    """Formats and rows of an instruction's operands.

    Attributes
    ----------
    formats : SrcA's and SrcB's.
    src_a_row, src_b_row, dst_row : first rows, aligned as the instruction aligns them.
    """

    style: Style
    formats: tuple[Format, Format]
    layout: WordLayout
    phase: int
    keeps_denormals: bool
    src_a_row: int
    src_b_row: int
    dst_row: int

    @property
    def dst32(self) -> bool:
        """True if Dst's words have 32 bits."""
        return self.layout is DST32


def execute_product(state: State, thread: int, instruction: Instruction) -> None:
    """Execute an MVMUL, DOTPV, GAPOOL, GMPOOL, ELWMUL, ELWADD or ELWSUB, then flip banks and step the RWCs.

    Raises
    ------
    UndefinedBehavior, ValueError : formats that are undefined or do not go together; rows that golden does not model;
        MVMUL, DOTPV or GAPOOL with Zero_Flag_disabled_src; ELWADD or ELWSUB in another phase than 0.
    """
    operands = operands_of(state, thread, instruction)
    if instruction.name in ELEMENTWISE:
        state.dst.write(operands.dst_row, _elementwise(state, instruction, operands), operands.layout)
    elif instruction.name == "GMPOOL":
        state.dst.write(operands.dst_row, _maximum(state, instruction, operands), operands.layout)
    else:
        if operands.keeps_denormals:
            raise ValueError("Zero_Flag_disabled_src must be 0: golden does not model denormals of SrcB here")
        if instruction.fields.get("broadcast_row"):
            _multiply_row(state, operands)
        else:
            _multiply(state, operands, POOL_ROWS if instruction.name == "GAPOOL" else BLOCK_ROWS)
    state.flip_sources(thread, instruction["flip"])
    state.step_rwc(thread, instruction["modifier"])


def operands_of(state: State, thread: int, instruction: Instruction) -> Operands:
    """Return formats and rows of an instruction's operands; raises as `src_a_format`."""
    alu = state.alu(thread)
    counters, broadcasts = state.rwc[thread], bool(instruction.fields.get("broadcast_row"))
    if instruction.name in POOLS:
        kept = ~(POOL_ROWS - 1)
    else:
        kept = BROADCAST_BASE if broadcasts and instruction.name not in ELEMENTWISE else ~(BLOCK_ROWS - 1)
    return Operands(
        style=alu.style,
        formats=alu.formats,
        layout=alu.layout,
        phase=(counters.fidelity_phase + alu.fidelity_base) % 4,
        keeps_denormals=alu.keeps_denormals,
        src_a_row=counters.src_a & ~(BLOCK_ROWS - 1),
        src_b_row=counters.src_b if broadcasts else counters.src_b & ~(BLOCK_ROWS - 1),
        dst_row=state.dst_row(thread, instruction["dst"]) & kept,
    )


def _check_sources(operands: Operands, src_b: np.ndarray, src_a: np.ndarray) -> None:
    """Raise ValueError for formats that do not go together, and for words that their formats do not have."""
    for which, words, fmt in (("a", src_a, operands.formats[0]), ("b", src_b, operands.formats[1])):
        if fmt not in STYLE_FORMATS[operands.style]:
            source_format(f"src{which}_format", fmt, operands.style)
        if fmt in EXPONENT5_FORMATS:
            check_source(f"src_{which}", words, len(words), fmt)


def _src_a(state: State, operands: Operands) -> np.ndarray:
    """Return SrcA's 16 rows, which must start where golden's MVMUL may."""
    row = operands.src_a_row
    if row % state.numerics.src_a_row_step or row + COLUMNS > SRC_ROWS:
        check_rows(src_a_row=row, src_b_row=0, dst_row=0, dst32=False, numerics=state.numerics)
    return state.src_a.read[row : row + COLUMNS]


def _src_b(state: State, operands: Operands) -> np.ndarray:
    """Return the aligned block of 8 SrcB rows."""
    row = operands.src_b_row & ~(BLOCK_ROWS - 1)
    return state.src_b.read[row : row + BLOCK_ROWS]


def _multiply(state: State, operands: Operands, rows: int) -> None:
    """Add SrcB @ SrcA to as many Dst rows."""
    src_b, src_a = _src_b(state, operands)[:rows], _src_a(state, operands)
    _check_sources(operands, src_b, src_a)
    settings = operands.style, operands.dst32, operands.phase, operands.formats
    operation, fields = state.settled(product_in_dst_of, *settings)
    state.dst.update(operation, operands.dst_row, operands.layout, src_b, src_a, *fields)


def _multiply_row(state: State, operands: Operands) -> None:
    """Add one SrcB row @ SrcA to the Dst rows that row broadcast writes."""
    src_b, src_a = state.src_b.read[[operands.src_b_row] * BLOCK_ROWS], _src_a(state, operands)
    _check_sources(operands, src_b, src_a)
    old = state.dst.read(operands.dst_row, BLOCK_ROWS, operands.layout)
    operation = state.settled(product_of, operands.style, operands.dst32, operands.phase, operands.formats)
    new = operation(old.reshape(1, -1), src_b[np.newaxis], src_a[np.newaxis], ONE_BLOCK).reshape(BLOCK_ROWS, COLUMNS)
    rows = range(BLOCK_ROWS - 1) if state.numerics.row_broadcast_writes_all else ROW_BROADCAST_ROWS
    for each in rows:
        state.dst.write(operands.dst_row + each, new[each : each + 1], operands.layout)


def _maximum(state: State, instruction: Instruction, operands: Operands) -> np.ndarray:
    """Return GMPOOL's four rows; an undefined Dst row is below everything."""
    src_b, src_a = _src_b(state, operands), _src_a(state, operands)
    _check_sources(operands, src_b, src_a)
    old = state.dst.read(operands.dst_row, POOL_ROWS, operands.layout, ones=True)
    operation = state.settled(gmpool_of, operands.style, operands.dst32, bool(instruction["argmax"]))
    return operation(old[np.newaxis], src_b[np.newaxis], src_a[np.newaxis])[0]


def _elementwise(state: State, instruction: Instruction, operands: Operands) -> np.ndarray:
    """Return eight Dst rows with products, sums or differences."""
    src_b, name = _src_b(state, operands), instruction.name
    if instruction["broadcast_row"] or instruction["broadcast_column"]:
        row = operands.src_b_row % BLOCK_ROWS if instruction["broadcast_row"] else None
        src_b = broadcast_src_b(src_b, row=row, column_0=bool(instruction["broadcast_column"]))
    common = operands.formats, operands.keeps_denormals
    settings: tuple[Any, ...]
    if name == "ELWMUL":
        settings = elwmul_of, operands.style, operands.dst32, operands.phase, *common
    elif operands.phase:
        raise ValueError(f"the fidelity phase must be 0 in {name}, not {operands.phase}")
    else:
        signs = name == "ELWSUB", bool(instruction["add_dst"])
        settings = elwadd_of, operands.style, operands.dst32, *common, *signs
    old = state.dst.read(operands.dst_row, BLOCK_ROWS, operands.layout)
    src_a = state.src_a.read[operands.src_a_row : operands.src_a_row + BLOCK_ROWS]
    _check_sources(operands, src_b, src_a)
    new = state.settled(*settings)(old.reshape(1, -1), src_b.reshape(1, -1), src_a.reshape(1, -1))
    return new.reshape(BLOCK_ROWS, COLUMNS)


# ZEROACC, ZEROSRC and CLEARDVALID: rows of Dst become undefined, banks become zero or are given back.
#
# Ref: tt-isa-documentation 3930471, ZEROACC, ZEROSRC and CLEARDVALID; ttsim v1.10.0 for Blackhole's tiles.


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
