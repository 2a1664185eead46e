"""Cycle-accurate player of programs on the vector unit: compares issues, writes and values with golden; host accesses."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from cocotb.triggers import FallingEdge, Timer

from bitpath.golden.aie_ml_v2.declarations.modes import TIMINGS
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.vector.config import VectorMacConfig, beat_layout
from bitpath.rtl.aie_ml_v2.vector.vector_mac import place_layout, word_bits, write_layout, written_layout
from bitpath.verif.aie_ml_v2.mac.mac import row_of
from bitpath.verif.aie_ml_v2.vector.tiles import Instruction
from bitpath.verif.kit.bench import Bench
from bitpath.verif.kit.mismatches import Context
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.streams import resolved

Place = tuple[int, int]
Word = tuple[int, Context]
"""A result word, and what a mismatch shows of it."""
LIMIT = 400
"""Cycles after which a program is considered hung."""


@dataclass
class Log:
    """Cycles of the first beats, of the last beats, and of the result writes."""

    issued: list[int] = field(default_factory=list)
    last_beats: list[int] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    superseded: int = 0


class VectorPlayer:
    """Driver and checker of all ports.

    Parameters
    ----------
    frame : of the test.
    config : of the unit.
    junk : fills what is not valid.
    """

    def __init__(self, frame: Bench, config: VectorMacConfig, junk: Random):
        self.frame, self.dut, self.config, self.junk = frame, frame.dut, config, junk
        self.place_layout = place_layout(config)
        self.registers: dict[Place, int] = {}
        self._contexts: dict[Place, Context] = {}  # of the registers' words
        self.values = frame.scoreboard("value", word_bits(config), {"": FP32}, output="o")
        self.places = frame.scoreboard("place", self.place_layout)
        for name in ("i", "write", "read", "o"):
            frame.onlook(name)
        frame.onlook("written", lambda: self.written().valid)

    def place_bits(self, place: Place) -> int:
        """Return the payload of an accumulator word's address."""
        return pack(self.place_layout, {"index": place[0], "part": place[1]})

    def written(self) -> Any:
        """The result that is written in this cycle, if it is valid."""
        return written_layout(self.config).from_bits(resolved(self.dut.written))

    async def preload(self) -> None:
        """Write every word of all accumulators, one a cycle."""
        dut, config = self.dut, self.config
        layout = write_layout(config)
        dut.o__ready.value = 1
        await FallingEdge(dut.clk)
        for place in ((index, part) for index in range(config.accumulators) for part in range(config.parts)):
            self.registers[place] = self.junk.getrandbits(word_bits(config))
            dut.write__payload.value = pack(layout, {"place": self.place_bits(place), "word": self.registers[place]})
            dut.write__valid.value = 1
            await Timer(1, unit="ns")
            assert resolved(dut.write__ready), f"nothing is on its way, and a write to {place} waits"
            await FallingEdge(dut.clk)
        dut.write__valid.value = 0

    async def read_all(self) -> None:
        """Read every word back and compare."""
        dut = self.dut
        dut.read__valid.value = 1
        for place, word in self.registers.items():
            dut.read__payload.value = self.place_bits(place)
            await FallingEdge(dut.clk)
            assert resolved(dut.o__valid), f"no answer to a read of {place}"
            self.values.expect(word, self._contexts.get(place, f"register {place[0]}, part {place[1]}, preloaded"))
            self.values.got(resolved(dut.o__payload))
        dut.read__valid.value = 0

    def expected(self, program: Sequence[Instruction]) -> list[Word]:
        """Return the words that a program writes, instruction by instruction, and update ``registers``."""
        words = []
        for each in program:
            context = partial(each.shown, self.config, dict(self.registers))
            words.append((each.result(self.config, self.registers), context))
            self.registers[each.dst, each.part], self._contexts[each.dst, each.part] = words[-1]
        return words

    async def run(self, program: Sequence[Instruction], words: Sequence[Word], gaps: Iterator[bool]) -> Log:
        """Play a program; every result is read in the cycle of its write and compared, unless another is due there."""
        dut, log = self.dut, Log()
        beats = deque(
            (number, bits, last)
            for number, each in enumerate(program)
            for bits, last in marked(list(each.beats(self.config, self.junk)))
        )
        due: deque[tuple[int, Place]] = deque()  # cycle of the write, place
        reading: tuple[Place, Word] | None = None
        in_second = False
        cycle, offered, idle = 0, False, 0
        flying = deque(zip((self.place_bits((each.dst, each.part)) for each in program), words, strict=True))
        dut.o__ready.value = 1
        while beats or due:
            assert idle < LIMIT, "the unit waits for ever"
            offered = bool(beats) and (offered or not next(gaps))
            number, bits, last = (
                beats[0] if offered else (0, self.junk.getrandbits(beat_layout(self.config).size), False)
            )
            dut.i__valid.value, dut.i__payload.value = int(offered), bits
            landed = self._landed(cycle, due, flying, log)
            later = {place for _, place in due}
            dut.read__valid.value = int(landed is not None)
            if landed is not None:
                dut.read__payload.value = self.place_bits(landed[0])
            await Timer(1, unit="ns")
            assert resolved(dut.busy) == int(offered or in_second or bool(due) or landed is not None), "busy is wrong"
            reading = None
            if landed is not None:
                assert resolved(dut.read__ready) == int(landed[0] not in later), f"read of {landed[0]} at its write"
                log.superseded += landed[0] in later
                reading = None if landed[0] in later else landed
            idle += 1
            if offered and resolved(dut.i__ready):
                beats.popleft()
                idle, offered = 0, False
                if not in_second:
                    log.issued.append(cycle)
                in_second = not last
                if last:
                    each = program[number]
                    log.last_beats.append(cycle)
                    timing = TIMINGS[row_of(each.mode).datapath]
                    due.append((cycle + timing.write - len(timing.operand_reads), (each.dst, each.part)))
            await FallingEdge(dut.clk)
            if reading is not None:
                assert resolved(dut.o__valid), f"no answer to a read of {reading[0]}"
                self.values.expect(*reading[1])
                self.values.got(resolved(dut.o__payload))
            cycle += 1
        dut.i__valid.value = 0
        dut.read__valid.value = 0
        return log

    def _landed(self, cycle: int, due: deque, flying: deque, log: Log) -> tuple[Place, Word] | None:
        """Check the result written in this cycle, if there is one, against the due one."""
        written = self.written()
        expected = bool(due) and due[0][0] == cycle
        assert bool(written.valid) == expected, f"cycle {cycle}: a result {'is missing' if expected else 'too many'}"
        if not expected:
            return None
        log.written.append(cycle)
        _, place = due.popleft()
        bits, word = flying.popleft()
        self.places.expect(bits, f"register {place[0]}, part {place[1]}")
        self.places.got(written.place.as_bits())
        return place, word


def marked(beats: list[Any]) -> list[tuple[Any, bool]]:
    """Return the beats, each with True if it is its instruction's last."""
    return [(bits, k == len(beats) - 1) for k, bits in enumerate(beats)]
