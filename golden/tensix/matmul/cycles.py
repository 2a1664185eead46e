"""Issue cycles of instructions, and the throughput of a matmul.

Ref: tt-isa-documentation 3930471, MatrixUnit, Dst and UNPACR_Regular; Peter Cawley, "Tenstorrent Wormhole Series Part 7"
(boards, and the vendor's fp8 figure of 16/18).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bitpath.golden.arrays.arguments import check_choice, integer
from bitpath.golden.tensix.convert.unpack import L1_BYTES
from bitpath.golden.tensix.declarations.formats import (
    BLOCK,
    BLOCK_FLOATS,
    BLOCK_ROWS,
    COLUMNS,
    PHASES,
    TILE,
    Fidelity,
    Format,
)
from bitpath.golden.tensix.matmul.matmul import MvmulInstruction, tile_instructions
from bitpath.golden.tensix.operands.fidelity import phases

MVMUL_LATENCY = 5
"""Cycles from an MVMUL's issue to the first cycle in which its Dst block may be read: 4 between, in which it may not."""
CLOCK_GHZ = 1.0
TILE_DATUMS = TILE * TILE
UNPACKER_BYTES = 64
"""Bytes of L1 per cycle of an unpacker at its fastest."""
UNPACKER_START = 2
"""Cycles before the first of them."""

BOARD_UNITS = {"n150s": 72, "n300s": 128}
"""Matrix units in use on each board."""

_DOT = 2 * COLUMNS
"""Operations of one 16-term dot product with its addition to Dst."""
OPERATIONS = {
    "MVMUL": BLOCK_ROWS * COLUMNS * _DOT,
    "DOTPV": BLOCK_ROWS * COLUMNS * _DOT,
    "GAPOOL": BLOCK_ROWS // 2 * COLUMNS * _DOT,
    # One row of dot products, each added to four rows of Dst.
    "MVMUL_ROW": COLUMNS * (_DOT - 1) + BLOCK_ROWS // 2 * COLUMNS,
    "ELWMUL": BLOCK_ROWS * COLUMNS * 2,
    "GMPOOL": COLUMNS * COLUMNS,
    "ELWADD": BLOCK_ROWS * COLUMNS * 2,
    "ELWADD_OVERWRITE": BLOCK_ROWS * COLUMNS,
}
"""Floating-point operations of one instruction, the maximum counted as one."""
PHASED = ("MVMUL", "DOTPV", "GAPOOL", "MVMUL_ROW", "ELWMUL")
"""Instructions that run once for each phase; the others run once."""


@dataclass(frozen=True, kw_only=True)
class TileCycles:
    """Cycles of one 32x32x32 tile product.

    Attributes
    ----------
    compute : issue cycles of its MVMULs, Dst stalls included.
    data : cycles to unpack one operand's tile.
    """

    compute: int
    data: int

    @property
    def bound(self) -> int:
        """Cycles in a steady state where unpacking and computing overlap."""
        return max(self.compute, self.data)


def issue_cycles(instructions: Sequence[MvmulInstruction]) -> list[int]:
    """Return the cycle in which each MVMUL issues: one a cycle, waiting for its Dst block to be written."""
    readable: dict[int, int] = {}
    cycles: list[int] = []
    now = -1
    for each in instructions:
        now = max(now + 1, readable.get(each.dst_row, 0))
        readable[each.dst_row] = now + MVMUL_LATENCY
        cycles.append(now)
    return cycles


def unpack_cycles(fmt: Format) -> int:
    """Return the cycles that an unpacker at its fastest takes for a tile in L1, exponents included."""
    if fmt in BLOCK_FLOATS:
        tile_bytes = TILE_DATUMS * BLOCK_FLOATS[fmt].datum_bits // 8 + TILE_DATUMS // BLOCK
    else:
        tile_bytes = TILE_DATUMS * L1_BYTES[fmt]
    return UNPACKER_START + math.ceil(tile_bytes / UNPACKER_BYTES)


def tile_cycles(fmt: Format, fidelity: str | Fidelity) -> TileCycles:
    """Return the cycles of a tile product whose operands lie in L1 in a format."""
    return TileCycles(compute=issue_cycles(tile_instructions(fidelity))[-1] + 1, data=unpack_cycles(fmt))


def tflops(operation: str, phase_count: int = 1) -> float:
    """Return one unit's TFLOP/s with an instruction a cycle at 1 GHz.

    Parameters
    ----------
    operation : a name of `OPERATIONS`.
    phase_count : fidelity phases run, 1 to 4; 1 for operations without phases.
    """
    check_choice("operation", operation, OPERATIONS)
    limits = range(1, (PHASES if operation in PHASED else 1) + 1)
    phase_count = integer("phase_count", phase_count, limits, f" for {operation}")
    return OPERATIONS[operation] * CLOCK_GHZ / 1000 / phase_count


def board_tflops(board: str, fidelity: str | Fidelity, fmt: Format | None = None) -> float:
    """Return a board's matrix TFLOP/s; with a format, bound by the unpacking of its tiles too."""
    check_choice("board", board, BOARD_UNITS)
    peak = BOARD_UNITS[board] * tflops("MVMUL", len(phases(fidelity)))
    if fmt is None:
        return peak
    cycles = tile_cycles(fmt, fidelity)
    return peak * cycles.compute / cycles.bound
