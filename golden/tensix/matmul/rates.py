"""Rates of a Tensix matrix unit and of the boards, computed from the numbers of `bitpath.golden.tensix.matmul.cycles`."""

from bitpath.golden.formats.rates import Rate
from bitpath.golden.formats.sources import documented, inferred
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, Fidelity, Format
from bitpath.golden.tensix.matmul.cycles import (
    BOARD_UNITS,
    CLOCK_GHZ,
    OPERATIONS,
    UNPACKER_BYTES,
    UNPACKER_START,
    board_tflops,
    tflops,
    tile_cycles,
)
from bitpath.golden.tensix.operands.fidelity import phases

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
    """Return the declared numbers, then what follows from them, each beside the published figure."""
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
            formula=f"{cycles.compute} cycles of a tile's product / {cycles.data} cycles to unpack a tile",
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
