"""What an engine's host sees of it, for the benches of engines with the streams write, command, read and data."""

from typing import Any

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.verif.kit import pauses
from bitpath.verif.kit.coverage import Coverage
from bitpath.verif.kit.streams import resolved

MEETINGS = ("a word waits", "a word goes over while products run", "an answer waits")
"""What the host may meet at a busy engine."""


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
