"""Cycle model of the engine for back-to-back commands."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

from bitpath.golden.aie_ml_v2.declarations.modes import ACCUMULATOR_PATHS, TIMINGS, Datapath
from bitpath.golden.aie_ml_v2.matmul.cycles import MacInstruction
from bitpath.rtl.aie_ml_v2.engine.command import AieEngineConfig
from bitpath.verif.aie_ml_v2.engine.model import RowCommand, tile_words

BEGIN = 2
"""Cycles from a command's offer to its first beat: one in the queue, one in the memories."""
ANSWER = 1
"""Cycles from a request for an accumulator's word to the word."""


@dataclass
class Pace:
    """Schedule of the beats; cycle 0 is the offer of the first command.

    Attributes
    ----------
    instructions, issues : every instruction, as golden's cycle model takes it, and the cycle of its first beat.
    waits : beats that waited for a store.
    end : the last busy cycle.
    """

    config: AieEngineConfig
    instructions: list[MacInstruction] = field(default_factory=list)
    issues: list[int] = field(default_factory=list)
    waits: int = 0
    end: int = 0
    _front: int = 0
    _written: dict[int, tuple[int, str]] = field(default_factory=dict)
    _writes: set[int] = field(default_factory=set)
    _released: dict[int, int] = field(default_factory=dict)
    _store_free: int = 0

    def run(self, commands: Sequence[RowCommand]) -> int:
        """The cycles for which ``busy`` is high."""
        for index, command in enumerate(commands):
            self._front = max(self._front, index + BEGIN)
            self._issue(command)
            if command.address is not None:
                self._store(command)
        return self.end + 1

    def _places(self, command: RowCommand) -> list[tuple[int, int]]:
        """Register and place of each group of lanes, in order."""
        unit = self.config.unit
        registers = [(command.accumulator + tile) % unit.accumulators for tile in range(command.tiles)]
        parts = tile_words(self.config, command.kind)
        return [(register, register * unit.parts + part) for register, part in product(registers, range(parts))]

    def _issue(self, command: RowCommand) -> None:
        datapath = command.kind.mode.datapath
        places = self._places(command)
        for step in range(command.steps):
            for number, (register, place) in enumerate(places):
                reads = step > 0 or not command.clear
                hands_on = command.address is not None and step == command.steps - 1 and number == len(places) - 1
                free = self._store_free if hands_on else 0
                # A beat passes to the memories in the cycle after its accumulator is released.
                self._beat(datapath, place, reads=reads, free=free, released=self._released.get(register, -BEGIN) + 2)
                read = (place,) if reads else ()
                each = MacInstruction(mode=command.kind.mode.name, destination=place, accumulators=read)
                self.instructions.append(each)

    def _beat(self, datapath: Datapath, place: int, *, reads: bool, free: int, released: int) -> None:
        """Issue at the first cycle that memories, accumulators, the write port and stores allow."""
        timing, path = TIMINGS[datapath], ACCUMULATOR_PATHS[datapath]
        more = timing.issue_interval - 1
        cycle = max(self._front, released)
        self.waits += cycle > self._front
        if reads and place in self._written:
            written, writer = self._written[place]
            waits = not (self.config.unit.numerics.accumulator_bypass and writer == path)
            cycle = max(cycle, written + 1 + waits - timing.accumulator_read)
        if not more:
            self.waits += free > cycle
            cycle = max(cycle, free)
        while cycle + timing.write - 1 in self._writes:
            cycle += 1
        last = max(cycle + more, free)
        self.waits += last > cycle + more
        write = last - more + timing.write - 1
        self._writes.add(write)
        self._written[place] = write, path
        self._front = last + 1
        self.issues.append(cycle)
        self.end = max(self.end, write)

    def _store(self, command: RowCommand) -> None:
        """Schedule the reads of a store, one word a cycle, each no earlier than its write."""
        cycle = self._front - 1
        for register, place in self._places(command):
            cycle = max(cycle + 1, self._written[place][0])
            self._released[register] = cycle
        self.end = max(self.end, cycle + ANSWER)
        self._store_free = cycle + ANSWER + 1
