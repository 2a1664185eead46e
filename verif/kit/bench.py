"""The frame of a bench: configuration, clock and reset, the ends of its streams, and the checks at its end."""

import json
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import cocotb
from amaranth.lib import wiring
from amaranth.lib.wiring import In
from cocotb.clock import Clock
from cocotb.simtime import get_sim_time
from cocotb.triggers import FallingEdge, ReadOnly, RisingEdge, Timer

from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.rtl.common.config import from_dict
from bitpath.verif.kit import pauses
from bitpath.verif.kit.coverage import Coverage
from bitpath.verif.kit.handshakes import Look, Onlooker
from bitpath.verif.kit.packing import width
from bitpath.verif.kit.recording import Recorder
from bitpath.verif.kit.scoreboard import Scoreboard
from bitpath.verif.kit.streams import StreamDriver, StreamMonitor, integer_of, resolved

PERIOD_NS = 10
RESET_CYCLES = 2
DRAIN_CYCLES = 1000
"""Cycles without any new result after which what is still expected is given up."""
PATIENCE_CYCLES = 1500
"""Cycles in which nothing is transferred or compared after which a test is given up."""
ENGINE_PATIENCE_CYCLES = 50_000
"""The same for engines, which work on a command for long without a transfer."""
RECORDING = "BITPATH_STIMULUS"
"""The environment variable that names the file where what enters and leaves a design is recorded; of a run's further tests,
the files beside it."""
ENOUGH = "BITPATH_STIMULUS_CYCLES"
"""The environment variable with the recorded cycles after which a test ends, whatever it has not hit by then."""
MUTANT = "BITPATH_MUTANT"
"""The environment variable with the number of the mutant that a netlist of many is to be; without it, it is none."""
MUTANT_PORT = "mutsel"
"""The input of such a netlist that chooses."""


def config_from_environment(config_type: type) -> Any:
    """The configuration that the runner passed."""
    return from_dict(config_type, json.loads(os.environ["BITPATH_CONFIG"]))


def quiet_ports(dut: Any, signature: wiring.Signature) -> None:
    """Set every input to 0, so that nothing unknown enters the design.

    Raises unless the design's ports are as wide as the signature says: those of a stale or foreign build are not.
    """
    for path, member, _ in signature.flatten(signature.create()):
        name = "__".join(map(str, path))
        handle = getattr(dut, name, None)
        # A constant member, such as the ready of a stream that is always ready, is not a port; nor is one of no bits.
        if handle is None:
            continue
        if len(handle) != width(member.shape):
            raise AssertionError(
                f"port {name} is {len(handle)} bits wide, the configuration says {width(member.shape)}"
            )
        if member.flow is In:
            handle.value = 0


class Bench:
    """What a test uses; made by :func:`bench`.

    Attributes
    ----------
    dut : the design under test.
    signature : its ports.
    scoreboards, coverages : all checked at the end.
    cycles, seconds : of the whole test, the reset included, in simulated cycles and in processor time; known at its end.
    """

    def __init__(self, dut: Any, signature: wiring.Signature):
        self.dut = dut
        self.signature = signature
        self.scoreboards: list[Scoreboard] = []
        self.coverages: list[Coverage] = []
        self._background: dict[str, cocotb.task.Task] = {}
        self._ends: list[StreamDriver | StreamMonitor] = []
        # These say nothing of whether a test gets on: a port may be always valid.
        self._onlookers: list[Onlooker] = []
        self.cycles, self.seconds = 0, 0.0

    def payload_shape(self, name: str) -> Any:
        """The payload of the stream port ``name``."""
        return self.signature.members[name].signature.members["payload"].shape

    def start(self, name: str, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run something for the whole test. That it ends by itself is a failure: a dead monitor sees no errors."""
        self._background[name] = cocotb.start_soon(coroutine)

    def driver(self, name: str, gaps: Iterator[bool] | None = None) -> StreamDriver:
        """A driver of the input stream ``name``, running."""
        shape = self.payload_shape(name)
        driver = StreamDriver(self.dut, name, shape, gaps or pauses.never(), pauses.rng(f"{name} junk"))
        self._ends.append(driver)
        self.start(f"driver of {name}", driver.run())
        return driver

    def monitor(self, name: str, sink: Callable[[int], None], stalls: Iterator[bool] | None = None) -> StreamMonitor:
        """A monitor of the output stream ``name``, running."""
        shape = self.payload_shape(name)
        monitor = StreamMonitor(self.dut, name, shape, stalls or pauses.never(), sink)
        self._ends.append(monitor)
        self.start(f"monitor of {name}", monitor.run())
        return monitor

    def onlook(self, name: str, valid: str | Look | None = None, ready: str | Look | None = None) -> Onlooker:
        """Count what happens at a port that the test drives, or reads, by hand.

        Parameters
        ----------
        name : of the port, or of the port and behind a space the number of its part.
        valid, ready : names of the ports that qualify it, or functions that look at them; None for what is always so. Without
            both they are those of the stream ``name``.
        """
        if valid is ready is None:
            valid, ready = f"{name}__valid", f"{name}__ready"
        into = self.signature.members[name.partition(" ")[0]].flow is In
        if not self._onlookers:
            self.start("onlookers", self._look_on())
        self._onlookers.append(Onlooker(name, into=into, valid=self._look(valid), ready=self._look(ready)))
        return self._onlookers[-1]

    async def _look_on(self) -> None:
        while True:
            await FallingEdge(self.dut.clk)
            # What others set at this edge is what the next rising one takes.
            await ReadOnly()
            for onlooker in self._onlookers:
                onlooker.look()

    def _look(self, at: str | Look | None) -> Look | None:
        handle = getattr(self.dut, at, None) if isinstance(at, str) else None
        return at if callable(at) else None if handle is None else partial(integer_of, handle)

    def scoreboard(self, name: str, shape: Any, formats: Mapping[str, FloatFormat] | None = None) -> Scoreboard:
        """A scoreboard that must drain by the end of the test and must have compared something."""
        self.scoreboards.append(Scoreboard(name, shape, formats))
        return self.scoreboards[-1]

    def check_stream(
        self, name: str, formats: Mapping[str, FloatFormat] | None = None, stalls: Iterator[bool] | None = None
    ) -> Scoreboard:
        """A scoreboard with a monitor of the output stream ``name`` before it."""
        scoreboard = self.scoreboard(name, self.payload_shape(name), formats)
        self.monitor(name, scoreboard.got, stalls)
        return scoreboard

    def coverage(self, bins: Any) -> Coverage:
        """Coverage whose bins must all be hit by the end of the test."""
        self.coverages.append(Coverage(bins))
        return self.coverages[-1]

    @property
    def moved(self) -> int:
        """Payloads transferred and values compared until now."""
        return sum(end.transferred for end in self._ends) + sum(board.compared for board in self.scoreboards)

    async def reset(self) -> None:
        """Quiet all inputs and reset once more, whatever is in flight; for tests that drive by hand. Ends just behind a
        rising edge. One cycle only: in a longer reset a rank whose valid bit has none would run empty by itself."""
        quiet_ports(self.dut, self.signature)
        for end in self._ends:
            if isinstance(end, StreamDriver):
                end.forget()
        await _reset(self.dut, 1)

    async def watch(self, patience: int) -> None:
        """Fail once nothing has moved for ``patience`` cycles, or up to twice as many."""
        seen = -1
        while self.moved != seen:
            seen = self.moved
            await Timer(patience * PERIOD_NS, unit="ns")
        raise AssertionError(f"nothing has moved for {patience} cycles")

    async def drain(self) -> None:
        """Wait until nothing expected is pending, or nothing has come for :data:`DRAIN_CYCLES` cycles."""
        idle, seen = 0, -1
        while any(scoreboard.pending for scoreboard in self.scoreboards) and idle < DRAIN_CYCLES:
            compared = sum(scoreboard.compared for scoreboard in self.scoreboards)
            idle, seen = (idle + 1 if compared == seen else 0), compared
            await RisingEdge(self.dut.clk)

    def finish(self) -> None:
        """Every check at the end of a test."""
        for name, task in self._background.items():
            if task.done():
                raise AssertionError(f"{name} ended before the test")
        for scoreboard in self.scoreboards:
            scoreboard.finish()
        for coverage in self.coverages if ENOUGH not in os.environ else ():
            coverage.finish()

    def leave_record(self) -> None:
        """Give the runner the test's record."""
        with Path(os.environ["BITPATH_RECORDS"]).open("a") as records:
            records.write(json.dumps(self.record()) + "\n")

    def record(self) -> dict[str, Any]:
        """What the runner reads: counts, the coverage bins, what streams met, and how much was simulated in which time."""
        return {
            "cycles": self.cycles,
            "seconds": self.seconds,
            "compared": sum(scoreboard.compared for scoreboard in self.scoreboards),
            "mismatches": sum(len(scoreboard.mismatches) for scoreboard in self.scoreboards),
            "coverage": {name: count for coverage in self.coverages for name, count in coverage.counts.items()},
            "streams": {
                f"{end.name}: {event}": count
                for end in (*self._ends, *self._onlookers)
                for event, count in end.handshakes.events.items()
            },
        }


@asynccontextmanager
async def bench(
    dut: Any, signature: wiring.Signature, *, drain: bool = True, patience: int | None = PATIENCE_CYCLES
) -> AsyncIterator[Bench]:
    """Check and quiet the ports, start clock and reset, hand out a :class:`Bench`, then drain, check and record.

    Parameters
    ----------
    signature : of the component that the configuration gives.
    drain : False for a test that compares by hand and leaves nothing in flight.
    patience : cycles for which the design may be silent; None for a run whose length nobody knows.
    """
    start, start_ns = time.process_time(), get_sim_time("ns")
    if MUTANT in os.environ:
        getattr(dut, MUTANT_PORT).value = int(os.environ[MUTANT])
    quiet_ports(dut, signature)
    frame = Bench(dut, signature)
    recorder = None
    if RECORDING in os.environ:
        enough = int(os.environ[ENOUGH]) if ENOUGH in os.environ else None
        recorder = Recorder(dut, signature, Path(os.environ[RECORDING]), enough)
    # A combinational design has no clock.
    if hasattr(dut, "clk"):
        # The simulator drives it: a clock in Python would cost two callbacks a cycle.
        Clock(dut.clk, PERIOD_NS, unit="ns", impl="gpi").start()
    if recorder is not None:
        frame.start("recorder", recorder.run())
    if hasattr(dut, "clk"):
        await _reset(dut, RESET_CYCLES)
        if patience is not None:
            frame.start("watch", frame.watch(patience))
    yield frame
    if drain and hasattr(dut, "clk"):
        await frame.drain()
    frame.seconds = time.process_time() - start
    frame.cycles = round((get_sim_time("ns") - start_ns) / PERIOD_NS)
    if hasattr(dut, "clk") and not resolved(dut.clk):
        # The next test's clock begins high: from low that would be an edge before the inputs that it takes.
        await RisingEdge(dut.clk)
    if recorder is not None:
        recorder.save()
    frame.leave_record()
    frame.finish()


async def _reset(dut: Any, cycles: int) -> None:
    dut.rst.value = 1
    for _ in range(cycles):
        await RisingEdge(dut.clk)
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    await RisingEdge(dut.clk)
