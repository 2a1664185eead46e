"""Host-side checks for benches of engines with the streams write, command, read and data."""

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from random import Random
from typing import Any, Self

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge

from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import Bench
from bitpath.verif.kit.coverage import Coverage
from bitpath.verif.kit.packing import image_words
from bitpath.verif.kit.player import EnginePlayer, MemoryPlayer, Segment
from bitpath.verif.kit.scoreboard import Scoreboard
from bitpath.verif.kit.streams import resolved

MEETINGS = ("a word waits", "a word goes over while products run", "an answer waits")
"""Events that the host can observe at a busy engine."""
MOMENTS = ("commands wait", "all commands are taken")
"""Moments at which a reset can hit a busy engine."""
LONGEST = 11
"""Log2 of the latest cycle of a reset."""
TRIES = 4
"""Attempts for each reset of a busy engine; a short program has often ended before its reset."""
EARLY_WORDS = 32
"""Words read directly after a reset, longer than any write in flight could take to reach the memory."""


def source_of(name: str) -> np.random.Generator:
    """Return a numpy generator derived from the run's seed."""
    return np.random.default_rng(pauses.rng(name).getrandbits(64))


@dataclass
class FirstFault:
    """The first command or host write that an engine must refuse, by golden.

    Attributes
    ----------
    taken : commands since the reset, or since the fault was cleared.
    fault : its code; 0 for none.
    number : the commands before it.
    """

    taken: int = 0
    fault: int = 0
    number: int = 0

    def refuse(self, fault: int) -> None:
        if not self.fault:
            self.fault, self.number = fault, self.taken

    def check(self, dut: Any) -> None:
        """Compare the engine's fault and number."""
        found = resolved(dut.fault), resolved(dut.fault_number) if self.fault else 0
        assert found == (self.fault, self.number), f"fault and number are {found}, not {(self.fault, self.number)}"

    async def clear(self, dut: Any) -> None:
        dut.clear.value = 1
        await RisingEdge(dut.clk)
        dut.clear.value = 0
        await RisingEdge(dut.clk)
        self.taken = self.fault = self.number = 0
        self.check(dut)


async def expect_rest(dut: Any, streams: Iterable[str] = ("write", "command", "read")) -> None:
    """Check that an idle engine is ready on these streams, counts nothing and answers nothing."""
    await FallingEdge(dut.clk)
    seen = {name: resolved(getattr(dut, f"{name}__ready")) for name in streams}
    assert all(seen.values()), f"an engine at rest is not ready: {seen}"
    seen = {name: resolved(getattr(dut, name)) for name in ("busy", "retired", "busy_cycles", "data__valid")}
    assert not any(seen.values()), f"an engine at rest shows {seen}"
    await RisingEdge(dut.clk)


class EngineSession:
    """Queues commands while an engine's memories have room, runs them, and compares its result memory with golden's.

    Golden executes a command when it is queued, before anything is driven. Every word of the result memory is compared, also
    words that no command wrote. A bench's session adds its model: `contents`, `products` and `preset`.

    Parameters
    ----------
    frame : bench frame of the test.
    config : configuration of the engine.
    gap, stall : probability of a pause of commands and of responses.
    """

    products: int
    """Products since reset, including those in the queue."""
    model: Any

    def __init__(self, frame: Bench, config: Any, *, gap: float = 0.0, stall: float = 0.0):
        self.config, self.dut = config, frame.dut
        self.player = MemoryPlayer(
            frame, gaps=pauses.scattered(gap, pauses.rng("command")), stalls=pauses.scattered(stall, pauses.rng("data"))
        )
        self.board = frame.scoreboard("result memory", 8 * self.player.word_bytes)
        self.faults = FirstFault()
        self._junk = source_of("junk")
        self._segment = Segment()

    @classmethod
    async def begin(cls, frame: Bench, config: Any, **how: Any) -> Self:
        """Return the session of an idle engine with random contents; ``how`` are keyword arguments of the session."""
        await expect_rest(frame.dut)
        session = cls(frame, config, **how)
        await session.preset()
        return session

    async def preset(self) -> None:
        """Write random contents that golden knows."""
        raise NotImplementedError

    def contents(self) -> np.ndarray:
        """Return a copy of golden's result memory after all queued commands, uint8."""
        raise NotImplementedError

    async def queue(self, command: Any) -> Any:
        """Place a command's operands and queue it; run the queue first if there is no room."""
        raise NotImplementedError

    async def run(self, commands: Iterable[Any]) -> None:
        """Queue commands, run them and compare."""
        for command in commands:
            await self.queue(command)
        await self.flush()

    def refuse(self, fault: Enum, command: int) -> None:
        """Queue a command that the engine refuses with this fault."""
        self.faults.refuse(fault.value)
        self.faults.taken += 1
        self._segment.commands.append(command)

    def take_segment(self) -> Segment:
        """Return the queued commands for a test that drives them itself."""
        segment, self._segment = self._segment, Segment()
        return segment

    async def flush(self) -> np.ndarray:
        """Run the queue, compare the result memory and return it, uint8."""
        await self.player.play([self.take_segment()])
        retired = resolved(self.dut.retired)
        assert retired == self.products, f"{retired} products are counted, {self.products} were sent"
        self.faults.check(self.dut)
        return await self.compare()

    async def compare(self, addresses: range | None = None) -> np.ndarray:
        """Compare words of the result memory (default: all) with golden; return the received words, uint8."""
        addresses = range(self.config.result_depth) if addresses is None else addresses
        size = self.player.word_bytes
        expected = image_words(self.contents()[addresses.start * size : addresses.stop * size], size)
        received = await self.player.read(addresses.start, len(addresses))
        for address, right, real in zip(addresses, expected, image_words(received, size), strict=True):
            self.board.compare(real, right, partial(self.model.shown, address))
        return received


async def watch_host(dut: Any, coverage: Coverage) -> None:
    """Count the events of `MEETINGS`; runs until cancelled."""
    while True:
        await FallingEdge(dut.clk)
        if resolved(dut.write__valid) and resolved(dut.busy):
            coverage.hit(MEETINGS[resolved(dut.write__ready)])
        if resolved(dut.data__valid) and not resolved(dut.data__ready):
            coverage.hit(MEETINGS[2])


async def reset_amid(
    frame: Bench, session: EngineSession, rng: Random, count: int, program: Callable[[bool], Iterable[Any]]
) -> None:
    """Interrupt programs by a one-cycle reset at random moments, each followed by a complete program.

    After the reset the engine must be idle and the result memory must not change; each byte must have its value before the
    program or golden's value after one of its commands. The program that follows is compared as usual.

    Parameters
    ----------
    session : session of the engine's bench.
    count : number of programs to interrupt while work is in flight.
    program : function that queues one program; its argument is True for the first one after a reset.
    """
    dut, player = frame.dut, session.player
    coverage = frame.coverage(MOMENTS)
    board = frame.scoreboard("result memory behind a reset", 8 * player.word_bytes)
    broken = 0
    for _ in range(TRIES * count):
        history, products = [session.contents()], [session.products]
        for each in program(False):
            await session.queue(each)
            history.append(session.contents())
            products.append(session.products)
        segment = session.take_segment()
        await player.play([Segment(writes=segment.writes)])
        player.send(Segment(commands=segment.commands))
        if moment := await some_moment(player, len(segment.commands), rng):
            coverage.hit(moment)
            broken += 1
        storing = bisect_right(products, resolved(dut.retired)) - 1
        await session.begin_on(await _reset(dut, player, board, np.stack(history), storing, rng))
        await session.run(program(True))
        if broken == count:
            return
    raise AssertionError(f"of {TRIES * count} programs {broken} were broken off, {count} were to be")


async def some_moment(player: EnginePlayer, commands: int, rng: Random) -> str:
    """Wait for a random moment after ``count`` commands were sent; return which of `MOMENTS` it is, or ""."""
    # Early cycles are as likely as late ones; nothing is taken in the first cycle.
    await ClockCycles(player.dut.clk, 1 + rng.randint(1, 1 << rng.randint(0, LONGEST)))
    await FallingEdge(player.dut.clk)
    busy = resolved(player.dut.busy) and player.waiting_commands < commands
    return MOMENTS[not player.waiting_commands] if busy else ""


async def _reset(
    dut: Any, player: MemoryPlayer, board: Scoreboard, history: np.ndarray, storing: int, rng: Random
) -> np.ndarray:
    """Reset for one cycle; compare the result memory, uint8, with golden's after each command, uint8 [commands + 1, bytes].

    ``storing`` is the last computed command, whose results may be in flight; 0 for none.
    """
    words = history.reshape(len(history), -1, player.word_bytes)
    depth = words.shape[1]
    likely = np.flatnonzero((words[storing] != words[max(storing - 1, 0)]).any(axis=1))
    first = rng.choice(likely.tolist() or range(depth))
    addresses = [address % depth for address in range(first, first + EARLY_WORDS)]
    dut.rst.value = 1
    # The first read is in the first cycle after the reset, so that a late write becomes visible.
    reading = cocotb.start_soon(player.ask(addresses))
    await RisingEdge(dut.clk)
    # In a longer reset a pipeline stage could drain; a command offered longer would be accepted.
    player.drop_commands()
    dut.rst.value = 0
    await expect_rest(dut)
    early = await reading
    found = await player.read(0, depth)
    for address, word in zip(addresses, early, strict=True):
        board.expect(word, f"word {address}, read at once behind a reset")
        board.got(int.from_bytes(found.reshape(depth, -1)[address].tobytes(), "little"))
    foreign = np.flatnonzero(~(history == found).any(axis=0))
    assert not foreign.size, f"word {foreign[0] // player.word_bytes} holds what no command has written"
    return found
