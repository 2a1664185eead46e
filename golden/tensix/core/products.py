"""MVMUL, DOTPV, GAPOOL, GMPOOL and the element-wise operations: which rows they take, and what golden computes of them.

The rows are those of the RWCs, for Dst with operand and math offset added, aligned by clearing low bits::

    MVMUL, DOTPV         8 Dst rows    8 of SrcB    16 of SrcA
    MVMUL broadcasting   Dst rows 0, 2, 4 and 6 from a base that is not aligned in bit 0, 1 of SrcB, 16 of SrcA
    GAPOOL, GMPOOL       4 Dst rows    8 of SrcB    16 of SrcA
    element-wise         8 Dst rows    8 of SrcB, broadcasting 1    8 of SrcA

Ref: tt-isa-documentation 3930471, pages of the instructions; of Blackhole for the formats.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bitpath.golden.tensix.core.source_formats import src_a_format, src_b_format, style_of
from bitpath.golden.tensix.core.state import State
from bitpath.golden.tensix.declarations.formats import (
    BLOCK_ROWS,
    COLUMNS,
    DST16_BF16,
    DST16_FP16,
    DST32,
    Format,
    Style,
    WordLayout,
)
from bitpath.golden.tensix.isa import Instruction
from bitpath.golden.tensix.matrix.elementwise import elwadd, elwmul, elwsub
from bitpath.golden.tensix.matrix.mvmul import ROW_BROADCAST_ROWS, dotpv, gapool, mvmul, mvmul_row
from bitpath.golden.tensix.matrix.pooling import gmpool
from bitpath.golden.tensix.operands.broadcast import broadcast_src_b
from bitpath.golden.tensix.operands.registers import check_rows

POOLS = ("GAPOOL", "GMPOOL")
POOL_ROWS = 4
"""Dst rows of GAPOOL and GMPOOL."""
BROADCAST_BASE = 0x3F9
"""Bits of the first Dst row of an MVMUL with row broadcast."""
ELEMENTWISE: dict[str, Callable[..., np.ndarray]] = {"ELWMUL": elwmul, "ELWADD": elwadd, "ELWSUB": elwsub}


class Operands(NamedTuple):
    """What an instruction computes with.

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
    def options(self) -> dict[str, Any]:
        """Arguments that golden's operations have in common."""
        return {
            "style": self.style,
            "dst32": self.layout is DST32,
            "srca_format": self.formats[0],
            "srcb_format": self.formats[1],
        }


def execute_product(state: State, thread: int, instruction: Instruction) -> None:
    """Execute an MVMUL, DOTPV, GAPOOL, GMPOOL, ELWMUL, ELWADD or ELWSUB, then flip banks and step the RWCs.

    Raises
    ------
    UndefinedBehavior, ValueError : formats that are undefined or do not go together; rows that golden does not model;
        MVMUL, DOTPV or GAPOOL with Zero_Flag_disabled_src; ELWADD or ELWSUB in another phase than 0.
    """
    operands = operands_of(state, thread, instruction)
    if instruction.name in ELEMENTWISE:
        _elementwise(state, instruction, operands)
    elif instruction.name == "GMPOOL":
        _pool(state, instruction, operands)
    else:
        if operands.keeps_denormals:
            raise ValueError("Zero_Flag_disabled_src must be 0: golden does not model denormals of SrcB here")
        if instruction.name == "GAPOOL":
            _pool(state, instruction, operands)
        elif instruction["broadcast_row"]:
            _multiply_row(state, operands)
        else:
            _multiply(state, instruction, operands)
    state.flip_sources(thread, instruction["flip"])
    state.step_rwc(thread, instruction["modifier"])


def operands_of(state: State, thread: int, instruction: Instruction) -> Operands:
    """Return what an instruction computes with; raises as `src_a_format`."""
    formats = src_a_format(state, thread), src_b_format(state, thread)
    style = style_of(state, thread, formats[0])
    wide = style is Style.INT8 or state.config.read("fp32_enabled", thread)
    counters, broadcasts = state.rwc[thread], bool(instruction.fields.get("broadcast_row"))
    if instruction.name in POOLS:
        kept = ~(POOL_ROWS - 1)
    else:
        kept = BROADCAST_BASE if broadcasts and instruction.name not in ELEMENTWISE else ~(BLOCK_ROWS - 1)
    return Operands(
        style=style,
        formats=formats,
        layout=DST32 if wide else DST16_FP16 if style is Style.FP16 else DST16_BF16,
        phase=(counters.fidelity_phase + state.config.of_thread("fidelity_base", thread)) % 4,
        keeps_denormals=bool(state.config.read("zero_flag_disabled_src", thread)),
        src_a_row=counters.src_a & ~(BLOCK_ROWS - 1),
        src_b_row=counters.src_b if broadcasts else counters.src_b & ~(BLOCK_ROWS - 1),
        dst_row=state.dst_row(thread, instruction["dst"]) & kept,
    )


def _src_a(state: State, operands: Operands) -> np.ndarray:
    """Return SrcA's 16 rows, which must start where golden's MVMUL may."""
    row = operands.src_a_row
    check_rows(src_a_row=row, src_b_row=0, dst_row=0, dst32=False, numerics=state.numerics)
    return state.src_a.read[row : row + COLUMNS]


def _src_b(state: State, operands: Operands) -> np.ndarray:
    """Return the aligned block of 8 SrcB rows."""
    row = operands.src_b_row & ~(BLOCK_ROWS - 1)
    return state.src_b.read[row : row + BLOCK_ROWS]


def _multiply(state: State, instruction: Instruction, operands: Operands) -> None:
    operation = mvmul if instruction.name == "MVMUL" else dotpv
    old = state.dst.read(operands.dst_row, BLOCK_ROWS, operands.layout)
    sources = _src_b(state, operands), _src_a(state, operands)
    new = operation(old, *sources, phase=operands.phase, numerics=state.numerics, **operands.options)
    state.dst.write(operands.dst_row, new, operands.layout)


def _multiply_row(state: State, operands: Operands) -> None:
    """Add one SrcB row @ SrcA to the Dst rows that row broadcast writes."""
    old = state.dst.read(operands.dst_row, BLOCK_ROWS, operands.layout)
    sources = state.src_b.read[operands.src_b_row][np.newaxis], _src_a(state, operands)
    new = mvmul_row(old, *sources, phase=operands.phase, numerics=state.numerics, **operands.options)
    rows = range(BLOCK_ROWS - 1) if state.numerics.row_broadcast_writes_all else ROW_BROADCAST_ROWS
    for each in rows:
        state.dst.write(operands.dst_row + each, new[each : each + 1], operands.layout)


def _pool(state: State, instruction: Instruction, operands: Operands) -> None:
    """GAPOOL, or GMPOOL, to which an undefined Dst row is below everything; golden takes a block of 8 rows and leaves 4."""
    maximum = instruction.name == "GMPOOL"
    old = np.zeros((BLOCK_ROWS, COLUMNS), np.uint32)
    old[:POOL_ROWS] = state.dst.read(operands.dst_row, POOL_ROWS, operands.layout, ones=maximum)
    sources = old, _src_b(state, operands), _src_a(state, operands)
    if maximum:
        argmax = bool(instruction["argmax"])
        new = gmpool(*sources, argmax=argmax, numerics=state.numerics, **operands.options)
    else:
        new = gapool(*sources, phase=operands.phase, numerics=state.numerics, **operands.options)
    state.dst.write(operands.dst_row, new[:POOL_ROWS], operands.layout)


def _elementwise(state: State, instruction: Instruction, operands: Operands) -> None:
    src_b = broadcast_src_b(
        _src_b(state, operands),
        row=operands.src_b_row % BLOCK_ROWS if instruction["broadcast_row"] else None,
        column_0=bool(instruction["broadcast_column"]),
    )
    options = operands.options | {"keep_src_b_denormals": operands.keeps_denormals, "numerics": state.numerics}
    if instruction.name == "ELWMUL":
        options["phase"] = operands.phase
    elif operands.phase:
        raise ValueError(f"the fidelity phase must be 0 in {instruction.name}, not {operands.phase}")
    else:
        options["accumulate"] = bool(instruction["add_dst"])
    old = state.dst.read(operands.dst_row, BLOCK_ROWS, operands.layout)
    src_a = state.src_a.read[operands.src_a_row : operands.src_a_row + BLOCK_ROWS]
    new = ELEMENTWISE[instruction.name](old, src_b, src_a, **options)
    state.dst.write(operands.dst_row, new, operands.layout)
