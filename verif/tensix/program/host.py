"""The host's side of a core: it writes L1, pushes words, notes the executed ones, and reads L1."""

from dataclasses import dataclass, field

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.tensix.core.programs import CoreProgram
from bitpath.golden.tensix.core.state import THREADS
from bitpath.rtl.tensix.core.config import TensixCoreConfig
from bitpath.rtl.tensix.core.tensix_core import l1_write_layout
from bitpath.rtl.tensix.core.thread import Executed
from bitpath.rtl.tensix.faults import Fault
from bitpath.rtl.tensix.stream.expanders import MOP_WRITE
from bitpath.verif.kit.unit_bench import Bench, pack, pauses, resolved, unpack
from bitpath.verif.tensix.program.programs import WORD_BYTES

QUIET_CYCLES = 16
"""Cycles of rest after which nothing more comes: expanders take fewer between two words."""
LIMIT_CYCLES = 100_000
"""Most cycles between two executed words."""


@dataclass
class Run:
    """Executed words of each thread, in order, with their cycles, counted from the first word pushed."""

    words: list[list[int]] = field(default_factory=lambda: [[] for _ in range(THREADS)])
    cycles: list[list[int]] = field(default_factory=lambda: [[] for _ in range(THREADS)])
    length: int = 0

    def of_opcode(self, thread: int, opcode: int) -> list[int]:
        """Return the cycles of a thread's words with an opcode."""
        both = zip(self.words[thread], self.cycles[thread], strict=True)
        return [cycle for word, cycle in both if word >> 24 == opcode]


class CoreHost:
    """Drives the streams of a core.

    Parameters
    ----------
    frame : bench frame of the test.
    config : configuration of the core.
    gap : probability of a pause of the words, and of one before an answer is taken.
    """

    def __init__(self, frame: Bench, config: TensixCoreConfig, *, gap: float = 0.0):
        self.dut, self.config = frame.dut, config
        gaps = [pauses.scattered(gap, pauses.rng(f"words {thread}")) for thread in range(THREADS)]
        self._words = [frame.driver(f"words_{thread}", gaps[thread]) for thread in range(THREADS)]
        self._mops = [frame.driver(f"mop_{thread}") for thread in range(THREADS)]
        self._writes, self._reads = frame.driver("write"), frame.driver("read")
        self._answers: list[int] = []
        frame.monitor("data", self._answers.append, pauses.scattered(gap, pauses.rng("data")))

    def faults(self) -> list[tuple[Fault, int]]:
        """Return the fault of each thread, and the words before it."""
        return [
            tuple(
                kind(resolved(getattr(self.dut, f"{name}_{thread}")))
                for name, kind in (("fault", Fault), ("fault_number", int))
            )
            for thread in range(THREADS)
        ]

    def check_accepted(self, case: str = "the program") -> None:
        """Raise AssertionError if a thread has refused a word."""
        for thread, (fault, number) in enumerate(self.faults()):
            assert fault is Fault.NONE, f"{case}: thread {thread} refuses word {number}, counted from 0: {fault.name}"

    async def write(self, address: int, content: np.ndarray) -> None:
        """Write bytes, whole 64-byte words, to L1."""
        layout = l1_write_layout(self.config)
        for place in range(0, content.size, WORD_BYTES):
            word = int.from_bytes(content[place : place + WORD_BYTES].tobytes(), "little")
            self._writes.send_bits(pack(layout, {"data": word, "address": (address + place) // WORD_BYTES}))
        await self._writes.drained()

    async def read(self, address: int, count: int) -> np.ndarray:
        """Return bytes of L1, uint8."""
        self._answers.clear()
        words = range(address // WORD_BYTES, -(-(address + count) // WORD_BYTES))
        for word in words:
            self._reads.send_bits(word)
        while len(self._answers) < len(words):
            await RisingEdge(self.dut.clk)
        content = b"".join(word.to_bytes(WORD_BYTES, "little") for word in self._answers)
        return np.frombuffer(content, np.uint8)[address % WORD_BYTES :][:count].copy()

    async def start(self, program: CoreProgram, cycles: int) -> None:
        """Play a program for some cycles and leave it."""
        await self._push(program)
        for _ in range(cycles):
            await RisingEdge(self.dut.clk)
        for driver in self._words:
            driver.drop()

    def configure_mops(self, program: CoreProgram) -> None:
        """Send the MOP words of all threads."""
        for mop, words in zip(self._mops, program.mops, strict=True):
            for place, word in enumerate(words):
                mop.send_bits(pack(MOP_WRITE, {"place": place, "word": word}))

    async def _push(self, program: CoreProgram) -> None:
        """Write memory and MOP words, and push the words."""
        for address, content in program.memory:
            await self.write(address, content)
        self.configure_mops(program)
        for mop in self._mops:
            await mop.drained()
        for driver, words in zip(self._words, program.words, strict=True):
            for word in words:
                driver.send_bits(word)

    async def play(self, program: CoreProgram) -> Run:
        """Write memory and MOP words, push the words, and wait until nothing more happens."""
        await self._push(program)
        run, quiet, last = Run(), 0, 0
        while quiet < QUIET_CYCLES:
            await FallingEdge(self.dut.clk)
            for thread in range(THREADS):
                executed = unpack(Executed, resolved(getattr(self.dut, f"executed_{thread}")))
                if executed.valid:
                    run.words[thread].append(executed.word)
                    run.cycles[thread].append(run.length)
                    last = run.length
            rests = not resolved(self.dut.busy) and not any(driver.pending for driver in self._words)
            quiet = quiet + 1 if rests else 0
            run.length += 1
            assert run.length < last + LIMIT_CYCLES, "the core must come to rest"
        run.length -= QUIET_CYCLES
        return run
