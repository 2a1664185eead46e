"""Known answers of ttsim v1.10.0 through the Matrix unit.

``BITPATH_KAT_DIR`` is their folder, ``BITPATH_ARCHIVE`` the archive. Each row of the RTL is compared with the known answer, not
with golden. Rows that are undefined are not written.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import cocotb
import numpy as np
from cocotb.triggers import RisingEdge

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, SRC_ROWS, STYLE_OWN_FORMAT, Format, Style
from bitpath.rtl.tensix.dot.layouts import DstRow
from bitpath.rtl.tensix.matrix.instruction import MatrixUnitConfig, Opcode, Zeroed
from bitpath.rtl.tensix.matrix.matrix_unit import MatrixUnit
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import Bench, bench, config_from_environment
from bitpath.verif.kit.packing import pack
from bitpath.verif.tensix.matrix.model import PAIRS, Operation

CONFIG = config_from_environment(MatrixUnitConfig)
LIMIT = {"timeout_time": 2, "timeout_unit": "ms"}
COLUMN_0, ROW_0 = 1, 2
"""Bits of an archive's broadcast."""
ALL_DEFINED = np.ones(BLOCK_ROWS, bool)
PER_BANK = SRC_ROWS // COLUMNS
"""Cases per SrcA bank, 16 rows each."""


@dataclass(frozen=True, eq=False)
class Case:
    """An instruction without its rows, its operands, and Dst afterwards."""

    opcode: Opcode
    style: Style
    dst32: bool
    phase: int
    formats: tuple[Format, Format]
    accumulate: bool
    broadcast_row: bool
    broadcast_column: bool
    keep_src_b_denormals: bool
    defined: np.ndarray
    src_a: np.ndarray
    src_b: np.ndarray
    before: np.ndarray
    after: np.ndarray

    def operation(self, slot: int, pair: int, *, release: bool) -> Operation:
        """Return the instruction on operands ``number`` of the bank, in the first block of a pair."""
        return Operation(
            opcode=self.opcode,
            style=self.style,
            dst32=self.dst32,
            phase=self.phase,
            formats=self.formats,
            accumulate=self.accumulate,
            broadcast_row=self.broadcast_row,
            broadcast_column=self.broadcast_column,
            keep_src_b_denormals=self.keep_src_b_denormals,
            src_a_row=slot * COLUMNS,
            src_b_row=slot * BLOCK_ROWS,
            dst_row=pair * BLOCK_ROWS * (1 if self.dst32 else 2),
            release_a=release,
            release_b=release,
        )


def cases(name: str) -> list[Case]:
    """Return the cases of an archive."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / name) as file:
        archive = dict(file)
    found = []
    for case, style_index in enumerate(archive["style"]):
        style = Style(str(archive["style_names"][style_index]))
        opcode = str(archive["op_names"][archive["op"][case]]) if "op" in archive else "MVMUL"
        own = STYLE_OWN_FORMAT[style]
        broadcast = int(archive["broadcast"][case]) if "broadcast" in archive else 0
        formats = tuple(Format(archive[fmt][case]) if fmt in archive else own for fmt in ("fmtA", "fmtB"))
        found.append(
            Case(
                opcode=Opcode[opcode],
                style=style,
                dst32=bool(archive["use32"][case]),
                phase=int(archive["phase"][case]),
                formats=formats,
                accumulate="accum" in archive and bool(archive["accum"][case]),
                broadcast_row=bool(broadcast & ROW_0),
                broadcast_column=bool(broadcast & COLUMN_0),
                keep_src_b_denormals="keep_denormals" in archive and bool(archive["keep_denormals"][case]),
                defined=archive["dst_defined"][case].astype(bool) if "dst_defined" in archive else ALL_DEFINED,
                src_a=archive["srcA"][case],
                src_b=archive["srcB"][case],
                before=archive["dst_in"][case],
                after=archive["dst_out"][case],
            )
        )
    return found


def batches(every: list[Case], size: int) -> list[list[Case]]:
    """Return the cases in order, in batches."""
    return [every[first : first + size] for first in range(0, len(every), size)]


async def play(frame: Bench, every: list[Case]) -> None:
    """Run as many cases as Dst has pairs of blocks, then the next batch."""
    junk = pauses.rng("unread fields")
    board = frame.check_stream("dst")
    names = ("instruction", "write_a", "write_b", "write_dst", "read_dst")
    drivers = {name: frame.driver(name) for name in names}

    async def taken(*waited: str) -> None:
        while any(drivers[name].pending for name in waited):
            await RisingEdge(frame.dut.clk)

    for batch in batches(every, PAIRS):
        operations = []
        for first, group in enumerate(batches(batch, PER_BANK)):
            for slot, case in enumerate(group):
                last = case is group[-1]
                operations.append(case.operation(slot, first * PER_BANK + slot, release=last))
                for side, rows in (("write_a", case.src_a), ("write_b", case.src_b)):
                    for k, row in enumerate(rows):
                        fields = {"row": slot * len(rows) + k, "last": last and k == len(rows) - 1}
                        drivers[side].send({"values": [row.tolist()], **fields})
        drivers["instruction"].send(Operation(opcode=Opcode.ZEROACC, zeroed=Zeroed.ALL).fields(junk))
        await taken("instruction")
        for case, operation in zip(batch, operations, strict=True):
            for place, row, defined in zip(operation.place.block, case.before, case.defined, strict=True):
                if defined:
                    drivers["write_dst"].send({"values": row.tolist(), "address": place.fields()})
        await taken("write_dst")
        for operation in operations:
            drivers["instruction"].send(operation.fields(junk))
        await taken("instruction")
        for number, (case, operation) in enumerate(zip(batch, operations, strict=True)):
            for place, row in zip(operation.place.block, case.after, strict=True):
                board.expect(pack(DstRow, row.tolist()), f"case {number}, {operation}, {place}")
                drivers["read_dst"].send(place.fields())
        await taken("read_dst")


@cocotb.test(**LIMIT)
async def known_answers(dut):
    """Every row of every case."""
    every = cases(os.environ["BITPATH_ARCHIVE"])
    async with bench(dut, MatrixUnit(CONFIG).signature) as frame:
        await play(frame, every)
