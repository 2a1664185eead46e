"""Issue cycles of instructions, and the throughput of a matmul.

Ref: tt-isa-documentation 3930471, MatrixUnit, Dst and UNPACR_Regular; Peter Cawley, "Tenstorrent Wormhole Series Part 7"
(boards, and the vendor's fp8 figure of 16/18).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bitpath.golden.arrays.arguments import check_choice, checked, integer, member
from bitpath.golden.formats.sources import Rate, documented, inferred
from bitpath.golden.tensix.convert.unpack import L1_BYTES
from bitpath.golden.tensix.declarations.formats import (
    BLOCK_FLOATS,
    BLOCK_ROWS,
    COLUMNS,
    PHASES,
    TILE,
    Chip,
    Fidelity,
    Format,
)
from bitpath.golden.tensix.matmul.matmul import MvmulInstruction, tile_instructions
from bitpath.golden.tensix.operands.arguments import format_member, phases

MVMUL_LATENCY = 5
"""Cycles from an MVMUL's issue to the first cycle in which its Dst block may be read: 4 between, in which it may not."""
CLOCK_GHZ = 1.0
TILE_DATUMS = TILE * TILE
UNPACKER_START = 2
"""Address cycles of an UNPACR, before its first word; no other UNPACR begins in them."""

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
class UnpackRates:
    """Bytes of L1 that an unpacker takes in a cycle.

    Attributes
    ----------
    bytes : by Throttle_mode: x1, x2, x4, x8.
    wide_factor : of datums wider than 8 bits at x4.
    modes : number of modes; x8 is for 8-bit datums alone.
    """

    bytes: tuple[int, ...] = (16, 32, 64, 128)
    wide_factor: int = 1
    modes: int = 3


UNPACK_RATES = {Chip.WORMHOLE: UnpackRates(), Chip.BLACKHOLE: UnpackRates(wide_factor=2, modes=4)}
"""Wormhole: tt-isa-documentation 3930471, UNPACR_Regular; Blackhole: ttsim v1.10.0."""
FASTEST = 2
"""Throttle_mode x4."""
UNPACKER_BYTES = UNPACK_RATES[Chip.WORMHOLE].bytes[FASTEST]
"""Bytes of L1 per cycle of a Wormhole unpacker at its fastest."""
NARROW_BITS = 8
COMPRESSED = (Format.BFP2, Format.BFP2A)
"""Formats that are unpacked at x1 whatever the mode."""


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


@checked
def unpack_cycles(format: Format | int | str, *, throttle: int = FASTEST, chip: str | Chip = "wormhole") -> int:
    """Return the cycles that an unpacker takes for a tile of 1024 datums in L1, if it has the port of L1 for itself.

    ``2 + bytes / rate``: the exponents of block floats come through a port of their own and take no cycle of the datums'.
    BFP2 takes 16 bytes a cycle in every mode.

    Parameters
    ----------
    format : format in L1.
    throttle : Throttle_mode, 0 to 2 for 16, 32 and 64 bytes a cycle. Blackhole's 3 takes 128 bytes of 8-bit datums, and its 2
        takes 128 bytes of wider ones.
    chip : "wormhole" or "blackhole".

    Raises
    ------
    TypeError, ValueError : another format or chip, or a mode that the chip or the format lacks.
    """
    fmt, chip = format_member("format", format), member("chip", chip, Chip)
    rates = UNPACK_RATES[chip]
    throttle = integer("throttle", throttle, range(rates.modes), f" for {chip.value}")
    bits = BLOCK_FLOATS[fmt].datum_bits if fmt in BLOCK_FLOATS else 8 * L1_BYTES[fmt]
    if throttle > FASTEST and bits != NARROW_BITS:
        raise ValueError(
            f"throttle must be at most {FASTEST} for {fmt.name}, whose datums do not have {NARROW_BITS} bits"
        )
    rate = rates.bytes[0 if fmt in COMPRESSED else throttle]
    if throttle == FASTEST and bits > NARROW_BITS:
        rate *= rates.wide_factor
    return UNPACKER_START + math.ceil(TILE_DATUMS * bits // 8 / rate)


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


# Rates of a Tensix matrix unit and of the boards, computed from the numbers of `bitpath.golden.tensix.matmul.cycles`.


_ISA = documented("tt-isa-documentation 3930471, MatrixUnit")
_UNPACKER = documented("tt-isa-documentation 3930471, UNPACR_Regular")
_SERIES = documented('Peter Cawley, "Tenstorrent Wormhole Series Part 7"')
_FIGURES = {
    ("n150s", Fidelity.LOFI): "294.9",
    ("n150s", Fidelity.HIFI2): "147.5",
    ("n150s", Fidelity.HIFI4): "73.7",
    ("n300s", Fidelity.LOFI): "524.3",
    ("n300s", Fidelity.HIFI2): "262.1",
    ("n300s", Fidelity.HIFI4): "131.1",
}
"""TFLOPS of the boards in the article."""


def rates_table() -> tuple[Rate, ...]:
    """Return the declared numbers, then the numbers that follow from them, each beside the published figure."""
    rows = [
        Rate(quantity="clock", value=CLOCK_GHZ, unit="GHz", source=_SERIES),
        *(Rate(quantity=f"matrix units, {board}", value=count, unit="units", source=_SERIES) for board, count in BOARD_UNITS.items()),
        Rate(quantity="unpacker", value=UNPACKER_BYTES, unit="bytes/cycle", source=_UNPACKER),
        Rate(quantity="unpacker, start", value=UNPACKER_START, unit="cycles", source=_UNPACKER),
    ]  # fmt: skip
    operations = OPERATIONS["MVMUL"]
    rows += [
        Rate(
            quantity=f"MVMUL, {count} phase{'s' if count > 1 else ''}",
            value=tflops("MVMUL", count),
            unit="TFLOPS",
            formula=f"{BLOCK_ROWS} * {COLUMNS} * {operations // BLOCK_ROWS // COLUMNS} * {CLOCK_GHZ:g} GHz"
            + (f" / {count}" if count > 1 else ""),
            source=_ISA,
            published=figure,
        )
        for count, figure in enumerate(("4.096", "2.048", "1.366", "1.024"), 1)
    ]
    rows += [
        Rate(
            quantity=f"{board}, {fidelity.value}",
            value=board_tflops(board, fidelity),
            unit="TFLOPS",
            formula=f"{BOARD_UNITS[board]} * {tflops('MVMUL', len(phases(fidelity))):g} TFLOPS",
            source=_SERIES,
            published=figure,
        )
        for (board, fidelity), figure in _FIGURES.items()
    ]
    cycles = tile_cycles(Format.FP8, Fidelity.LOFI)
    rows += [
        Rate(
            quantity="FP8 in LoFi, part of the peak",
            value=cycles.compute / cycles.bound,
            unit="",
            formula=f"{cycles.compute} cycles of a tile's product / {cycles.data} cycles to unpack a tile, one a product",
            source=inferred("Part 7: the vendor's fp8 figure is 16/18 of the peak, as if bound by data movement"),
            published="0.889",
        ),
        *(
            Rate(
                quantity=f"{board}, FP8 in LoFi",
                value=board_tflops(board, Fidelity.LOFI, Format.FP8),
                unit="TFLOPS",
                formula=f"{board_tflops(board, Fidelity.LOFI):.6g} TFLOPS * {cycles.compute} / {cycles.bound}",
            )
            for board in BOARD_UNITS
        ),
    ]
    return tuple(rows)
