"""Host-side checks for benches of engines with the streams write, command, read and data."""

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge

from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import Bench
from bitpath.verif.kit.coverage import Coverage
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


async def watch_host(dut: Any, coverage: Coverage) -> None:
    """Count the events of `MEETINGS`; runs until cancelled."""
    while True:
        await FallingEdge(dut.clk)
        if resolved(dut.write__valid) and resolved(dut.busy):
            coverage.hit(MEETINGS[resolved(dut.write__ready)])
        if resolved(dut.data__valid) and not resolved(dut.data__ready):
            coverage.hit(MEETINGS[2])


async def reset_amid(
    frame: Bench, session: Any, rng: Random, count: int, program: Callable[[bool], Iterable[Any]]
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
