"""Driver of all ports of the Matrix unit, which dates each read of Dst by the cycle of its handshake."""

from collections import deque
from functools import partial

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.rtl.tensix.dot.layouts import DstRow
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import Bench
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.streams import resolved
from bitpath.verif.tensix.matrix.model import Machine, Operation, Place

INPUTS = ("instruction", "write_a", "write_b", "write_dst", "read_dst")
STUCK = 500
"""Cycles without a transfer after which a run is stuck."""


class Player:
    """Queues for the ports of the Matrix unit; golden executes each entry when it is queued.

    Instructions and outside writes may target the same row of Dst only in a certain order: while `write` is busy, rows that
    queued instructions write must not be written until `idle` has returned.

    Parameters
    ----------
    gap, stall : probability of a pause of the inputs and of the reader of Dst.
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
        self.machine.execute(operation)
        self.send_instruction(operation)

    def send_instruction(self, operation: Operation) -> None:
        """Queue an instruction that golden has already executed."""
        self.drivers["instruction"].send(operation.fields(self.junk))

    def fill(self, side: str, rows: dict[int, np.ndarray]) -> None:
        """Queue a bank of SrcA ("a") or SrcB ("b")."""
        self.machine.fill(side, rows)
        self.send_fill(side, rows)

    def send_fill(self, side: str, rows: dict[int, np.ndarray]) -> None:
        """Queue a bank that golden already has."""
        for count, (row, values) in enumerate(rows.items(), 1):
            fields = {"values": [values.tolist()], "row": row, "last": count == len(rows)}
            self.drivers[f"write_{side}"].send(fields)

    def write(self, place: Place, values: np.ndarray) -> None:
        self.machine.write(place, values)
        self.send_write(place, values)

    def send_write(self, place: Place, values: np.ndarray) -> None:
        """Queue a row that golden already has."""
        self.drivers["write_dst"].send({"values": values.tolist(), "address": place.fields()})

    def read(self, place: Place) -> None:
        self._reads.append(place)
        self.drivers["read_dst"].send(place.fields())

    async def idle(self) -> None:
        """Wait until every entry has been transferred and every read has its response."""
        moved, still = -1, 0
        while any(driver.pending for driver in self.drivers.values()) or self.board.pending:
            before, moved = moved, self.board.compared + sum(map(len, self.taken.values()))
            still = still + 1 if moved == before else 0
            assert still < STUCK, f"nothing moves: {self._state()}"
            await RisingEdge(self.dut.clk)

    async def cycles(self, count: int) -> None:
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
                # The read sees transfers of earlier cycles only.
                place = self._reads.popleft()
                done = len(self.taken["instruction"]), len(self.taken["write_dst"])
                words = self.machine.seen(place, *done)
                self.board.expect(pack(DstRow, words.tolist()), partial(self.machine.shown, place, *done))
            for name in went:
                self.taken[name].append(self.cycle)
