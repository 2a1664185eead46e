"""Drives every port of the Matrix unit at once, and dates reads of Dst by the cycles in which they are taken."""

from collections import deque

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.rtl.tensix.dot.layouts import DstRow
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import Bench
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.streams import resolved
from bitpath.verif.tensix.matrix.matrix_unit_model import Machine, Operation, Place

INPUTS = ("instruction", "write_a", "write_b", "write_dst", "read_dst")
STUCK = 500
"""Cycles in which nothing moves, after which nothing will."""


class Player:
    """Queues of what the ports are to take; golden executes each entry as it is queued.

    A row of Dst may be written by instructions and from outside in one stretch only where the order is certain: rows
    that instructions write while `write` is busy must not be written by it, until `idle` has returned.

    Parameters
    ----------
    gap, stall : how often inputs and the reader of Dst pause.
    """

    def __init__(self, frame: Bench, numerics: TensixNumerics, *, gap: float = 0.0, stall: float = 0.0):
        self.dut, self.machine = frame.dut, Machine(numerics)
        self.cycle = 0
        self.taken: dict[str, list[int]] = {name: [] for name in INPUTS}
        self.junk = pauses.rng("unread fields")
        self.board = frame.check_stream("dst", stalls=pauses.scattered(stall, pauses.rng("stalls")))
        self.drivers = {
            name: frame.driver(name, pauses.scattered(gap, pauses.rng(f"gaps of {name}"))) for name in INPUTS
        }
        self._ends = [
            (name, getattr(frame.dut, f"{name}__valid"), getattr(frame.dut, f"{name}__ready")) for name in INPUTS
        ]
        self._reads: deque[Place] = deque()
        frame.start("watch", self._watch())

    def issue(self, operation: Operation) -> None:
        """Queue an instruction."""
        self.machine.execute(operation)
        self.send_instruction(operation)

    def send_instruction(self, operation: Operation) -> None:
        """Queue an instruction that golden has been told of already."""
        self.drivers["instruction"].send(operation.fields(self.junk))

    def fill(self, side: str, rows: dict[int, np.ndarray]) -> None:
        """Queue a bank of SrcA ("a") or SrcB ("b")."""
        self.machine.fill(side, rows)
        self.send_fill(side, rows)

    def send_fill(self, side: str, rows: dict[int, np.ndarray]) -> None:
        """Queue a bank that golden has been told of already."""
        for count, (row, values) in enumerate(rows.items(), 1):
            fields = {"values": values.tolist(), "row": row, "last": count == len(rows)}
            self.drivers[f"write_{side}"].send(fields)

    def write(self, place: Place, values: np.ndarray) -> None:
        """Queue a row for Dst."""
        self.machine.write(place, values)
        self.send_write(place, values)

    def send_write(self, place: Place, values: np.ndarray) -> None:
        """Queue a row that golden has been told of already."""
        self.drivers["write_dst"].send({"values": values.tolist(), "address": place.fields()})

    def read(self, place: Place) -> None:
        """Queue a read of a row."""
        self._reads.append(place)
        self.drivers["read_dst"].send(place.fields())

    async def idle(self) -> None:
        """Wait until all that is queued has been taken and answered."""
        moved, still = -1, 0
        while any(driver.pending for driver in self.drivers.values()) or self.board.pending:
            before, moved = moved, self.board.compared + sum(map(len, self.taken.values()))
            still = still + 1 if moved == before else 0
            assert still < STUCK, f"nothing moves: {self._state()}"
            await RisingEdge(self.dut.clk)

    async def cycles(self, count: int) -> None:
        """Let cycles go by."""
        for _ in range(count):
            await RisingEdge(self.dut.clk)

    def _state(self) -> str:
        waiting = {name: driver.pending for name, driver in self.drivers.items()}
        return f"waiting {waiting}, {self.board.pending} rows to come"

    async def _watch(self) -> None:
        while True:
            await FallingEdge(self.dut.clk)
            self.cycle += 1
            went = [name for name, valid, ready in self._ends if resolved(valid) and resolved(ready)]
            if "read_dst" in went:
                # It sees what went over in earlier cycles.
                place = self._reads.popleft()
                done = len(self.taken["instruction"]), len(self.taken["write_dst"])
                words = self.machine.seen(place, *done)
                self.board.expect(
                    pack(DstRow, words.tolist()), f"{place} after {done[0]} instructions, {done[1]} writes"
                )
            for name in went:
                self.taken[name].append(self.cycle)
