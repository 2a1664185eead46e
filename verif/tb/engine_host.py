"""What an engine's host sees of it, for the benches of engines with the streams write, command, read and data."""

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import numpy as np
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge

from bitpath.verif.host.player import Segment
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import Bench
from bitpath.verif.kit.coverage import Coverage
from bitpath.verif.kit.streams import resolved

MEETINGS = ("a word waits", "a word goes over while products run", "an answer waits")
"""What the host may meet at a busy engine."""
MOMENTS = ("commands wait", "all commands are taken")
"""At which a reset meets a busy engine."""
LONGEST = 11
"""Log2 of the cycles before which a reset comes."""


def source_of(name: str) -> np.random.Generator:
    """A numpy generator from the run's seed."""
    return np.random.default_rng(pauses.rng(name).getrandbits(64))


async def expect_rest(dut: Any) -> None:
    """An engine with nothing to do takes words and commands, counts nothing, answers nothing."""
    await FallingEdge(dut.clk)
    seen = {name: resolved(getattr(dut, name)) for name in ("write__ready", "command__ready", "read__ready")}
    assert all(seen.values()), f"an engine at rest is not ready: {seen}"
    seen = {name: resolved(getattr(dut, name)) for name in ("busy", "retired", "busy_cycles", "data__valid")}
    assert not any(seen.values()), f"an engine at rest shows {seen}"
    await RisingEdge(dut.clk)


async def watch_host(dut: Any, coverage: Coverage) -> None:
    """Count what the host meets, bins of `MEETINGS`, for ever."""
    while True:
        await FallingEdge(dut.clk)
        if resolved(dut.write__valid) and resolved(dut.busy):
            coverage.hit(MEETINGS[resolved(dut.write__ready)])
        if resolved(dut.data__valid) and not resolved(dut.data__ready):
            coverage.hit(MEETINGS[2])


async def reset_amid(
    frame: Bench, session: Any, rng: Random, count: int, program: Callable[[bool], Iterable[Any]]
) -> None:
    """Programs that a reset breaks off at any moment, a whole one behind each: nothing is left over, nothing comes of it.

    Parameters
    ----------
    session : of the engine's bench.
    count : of programs broken off.
    program : makes one, of what the session queues, from whether it is the first behind a reset.
    """
    dut, player = frame.dut, session.player
    coverage = frame.coverage(MOMENTS)
    for _ in range(count):
        for each in program(False):
            await session.queue(each)
        segment = session.take_segment()
        await player.play([Segment(writes=segment.writes)])
        player.send(Segment(commands=segment.commands))
        # As often in the first few cycles as later.
        await ClockCycles(dut.clk, rng.randint(1, 1 << rng.randint(0, LONGEST)))
        if resolved(dut.busy):
            coverage.hit(MOMENTS[not player.waiting_commands])
        dut.rst.value = 1
        await RisingEdge(dut.clk)
        # What the host has still to say is taken, and nothing made of it. Else one cycle: in more a rank could run empty.
        await player.settle(lambda: not player.waiting_commands)
        dut.rst.value = 0
        await expect_rest(dut)
        session.forget()
        await session.preset()
        await session.run(program(True))
