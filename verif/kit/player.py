"""The player of segments on an engine inside the simulator, for the benches of all engines."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from cocotb.simtime import get_sim_time
from cocotb.triggers import Event, FallingEdge, RisingEdge, Timer

from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import PERIOD_NS, Bench
from bitpath.verif.kit.streams import resolved

POLL_CYCLES = 256
"""Between looks at ``busy``: Python must not be woken every cycle of a long operation."""


@dataclass
class Segment:
    """The part of a program that the engine's memories hold at once.

    Attributes
    ----------
    writes : to memories, as payloads of the stream ``write``.
    commands : that run once the writes are done, as payloads.
    results : output tiles that it leaves in the result memory: row and column of the tile, and its first word.
    """

    writes: list[int] = field(default_factory=list)
    commands: list[int] = field(default_factory=list)
    results: list[tuple[int, int, int]] = field(default_factory=list)


class EnginePlayer:
    """The host's side of a bench of an engine with the streams ``write``, one for its commands, one for reads, ``data``.

    Parameters
    ----------
    frame : the running bench.
    commands, reads : names of the streams of commands and of requests for an answer.
    gaps, stalls : of the commands, and of the answers.
    """

    def __init__(
        self,
        frame: Bench,
        *,
        commands: str,
        reads: str,
        gaps: Iterator[bool] | None = None,
        stalls: Iterator[bool] | None = None,
    ):
        self.dut = frame.dut
        self._write = frame.driver("write")
        self._commands = frame.driver(commands, gaps)
        self._reads = frame.driver(reads)
        self._answers: list[int] = []
        self._times: list[int] = []
        self._wanted = 0
        self._answered = Event()
        self._monitor = frame.monitor("data", self._got, stalls or pauses.never())
        self._monitor.hold()

    async def play(self, segments: Iterable[Segment], progress: Callable[[int], None] | None = None) -> None:
        """Run the segments of a program; ``progress`` is called at intervals with the engine's ``retired`` count."""
        for segment in segments:
            for write in segment.writes:
                self._write.send_bits(write)
            await self._write.drained()
            for command in segment.commands:
                self._commands.send_bits(command)
            while self._commands.pending or resolved(self.dut.busy):
                await Timer(POLL_CYCLES * PERIOD_NS, unit="ns")
                await FallingEdge(self.dut.clk)
                if progress is not None:
                    progress(resolved(self.dut.retired))
            await RisingEdge(self.dut.clk)

    @property
    def waiting_commands(self) -> int:
        """Commands that the engine has not taken."""
        return self._commands.pending

    def drop_commands(self) -> None:
        """Withdraw the commands that the engine has not taken."""
        self._commands.drop()

    def send(self, segment: Segment) -> None:
        """Queue a segment's writes and commands side by side, and wait for nothing."""
        for write in segment.writes:
            self._write.send_bits(write)
        for command in segment.commands:
            self._commands.send_bits(command)

    async def ask(self, requests: Iterable[Any]) -> list[int]:
        """The answers to requests, in order, as payloads."""
        requests = list(requests)
        if not requests:
            return []
        self._answers.clear()
        self._times.clear()
        self._wanted = len(requests)
        self._answered.clear()
        self._monitor.release()
        for request in requests:
            self._reads.send(request)
        await self._answered.wait()
        self._monitor.hold()
        await RisingEdge(self.dut.clk)
        return list(self._answers)

    def answer_times(self, parts: int) -> np.ndarray:
        """Return the times in ps at which the last answers came, uint64, each once for all ``parts`` values of an answer."""
        return np.repeat(np.array(self._times, np.uint64), parts)

    def _got(self, answer: int) -> None:
        self._answers.append(answer)
        self._times.append(int(get_sim_time("ps")))
        if len(self._answers) == self._wanted:
            self._answered.set()

    async def settle(self, done: Callable[[], bool]) -> None:
        """Wait, cycle by cycle, until it is done."""
        while not done():
            await RisingEdge(self.dut.clk)


class MemoryPlayer(EnginePlayer):
    """The host of an engine that takes commands and leaves its results in a memory, a word for each address.

    Parameters
    ----------
    frame, gaps, stalls : as `EnginePlayer` has them.
    """

    def __init__(self, frame: Bench, *, gaps: Iterator[bool] | None = None, stalls: Iterator[bool] | None = None):
        super().__init__(frame, commands="command", reads="read", gaps=gaps, stalls=stalls)
        self._faults = frame.signature.members["fault"].shape

    @property
    def word_bytes(self) -> int:
        """Bytes of a result word."""
        return len(self.dut.data__payload) // 8

    async def read(self, address: int, words: int) -> np.ndarray:
        """Bytes of the result memory, uint8 [words * word_bytes]."""
        answers = await self.ask(range(address, address + words))
        return np.frombuffer(b"".join(word.to_bytes(self.word_bytes, "little") for word in answers), np.uint8)

    async def output_tiles(
        self, segments: Iterable[Segment], words: int, progress: Callable[[int], None] | None = None
    ) -> AsyncIterator[tuple[int, int, np.ndarray]]:
        """Play segments; after each, yield row, column and bytes of the output tiles of ``words`` words that it left.

        Raises AssertionError if the engine refuses a command.
        """
        for segment in segments:
            await self.play([segment], progress)
            fault, number = self._faults(resolved(self.dut.fault)), resolved(self.dut.fault_number)
            assert not fault.value, f"the engine refuses command {number}, counted from 0: {fault.name}"
            for row, column, address in segment.results:
                yield row, column, await self.read(address, words)
