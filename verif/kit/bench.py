"""Bench harness: configuration, clock, reset, stream drivers and monitors, and the checks at the end of a test."""

import json
import os
import time
from collections import Counter
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

from bitpath.golden.formats.records import from_dict
from bitpath.verif.kit import pauses
from bitpath.verif.kit.coverage import Coverage
from bitpath.verif.kit.handshakes import Look, Onlooker
from bitpath.verif.kit.marks import Marks
from bitpath.verif.kit.packing import width
from bitpath.verif.kit.recording import Recorder
from bitpath.verif.kit.scoreboard import Scoreboard
from bitpath.verif.kit.streams import StreamDriver, StreamMonitor, integer_of, resolved
from bitpath.verif.kit.values import Number

PERIOD_NS = 10
RESET_CYCLES = 2
DRAIN_CYCLES = 1000
"""Cycles without a new result after which draining stops and pending results count as missing."""
PATIENCE_CYCLES = 1500
"""Cycles without a transfer or a comparison after which a test fails."""
ENGINE_PATIENCE_CYCLES = 50_000
"""The same limit for engines, which compute a long time without a transfer."""
RECORDING = "BITPATH_STIMULUS"
"""Environment variable with the path of the recording of a design's ports; further tests of a run use numbered files."""
ENOUGH = "BITPATH_STIMULUS_CYCLES"
"""Environment variable with the number of recorded cycles after which a test ends early."""
MUTANT = "BITPATH_MUTANT"
"""Environment variable with the number of the active mutant in a netlist of many; unset for the original design."""
MUTANT_PORT = "mutsel"
"""Input of such a netlist that selects the mutant."""


def config_from_environment(config_type: type) -> Any:
    """Return the configuration that the runner passed."""
    return from_dict(config_type, json.loads(os.environ["BITPATH_CONFIG"]))


def quiet_ports(dut: Any, signature: wiring.Signature) -> None:
    """Set every input to 0, so that nothing unknown enters the design.

    Raises if the design's ports differ in width from the signature, as in a stale or foreign build.
    """
    for path, member, _ in signature.flatten(signature.create()):
        name = "__".join(map(str, path))
        handle = getattr(dut, name, None)
        # Constant members, such as an always-1 ready, and zero-width members are not ports.
        if handle is None:
            continue
        if len(handle) != width(member.shape):
            raise AssertionError(
                f"port {name} is {len(handle)} bits wide, the configuration says {width(member.shape)}"
            )
        if member.flow is In:
            handle.value = 0


class Bench:
    """Harness of one test; made by :func:`bench`.

    Attributes
    ----------
    dut : the design under test.
    signature : its signature.
    scoreboards, coverages : checked at the end of the test.
    cycles, seconds : simulated cycles and processor time of the whole test, including the reset; set at its end.
    """

    def __init__(self, dut: Any, signature: wiring.Signature):
        self.dut = dut
        self.signature = signature
        self.scoreboards: list[Scoreboard] = []
        self.coverages: list[Coverage] = []
        self._background: dict[str, cocotb.task.Task] = {}
        self._ends: list[StreamDriver | StreamMonitor] = []
        # These do not show progress: a port may be always valid.
        self._onlookers: list[Onlooker] = []
        self._marks = Marks(dut) if hasattr(dut, "mismatch") else None
        self._start_ps = get_sim_time("ps")
        self.cycles, self.seconds = 0, 0.0

    def payload_shape(self, name: str) -> Any:
        """Return the payload's shape of the stream port ``name``; "i__3" is stream 3 of an array."""
        return self.signature.members[name.partition("__")[0]].signature.members["payload"].shape

    def start(self, name: str, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine for the whole test; it must not end early, since a dead monitor reports no errors."""
        self._background[name] = cocotb.start_soon(coroutine)

    def driver(self, name: str, gaps: Iterator[bool] | None = None) -> StreamDriver:
        """Start a driver of the input stream ``name``."""
        shape = self.payload_shape(name)
        driver = StreamDriver(self.dut, name, shape, gaps or pauses.never(), pauses.rng(f"{name} junk"))
        self._ends.append(driver)
        self.start(f"driver of {name}", driver.run())
        return driver

    def monitor(self, name: str, sink: Callable[[int], None], stalls: Iterator[bool] | None = None) -> StreamMonitor:
        """Start a monitor of the output stream ``name``."""
        shape = self.payload_shape(name)
        monitor = StreamMonitor(self.dut, name, shape, stalls or pauses.never(), sink)
        self._ends.append(monitor)
        self.start(f"monitor of {name}", monitor.run())
        return monitor

    def onlook(self, name: str, valid: str | Look | None = None, ready: str | Look | None = None) -> Onlooker:
        """Count the handshake events of a port that the test drives or reads by hand.

        Parameters
        ----------
        name : name of the port, optionally followed by a space and the number of its part.
        valid, ready : names of the ports that qualify it, or functions that read them; None if always 1. Without both, the
            ports of the stream ``name`` are used.
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
            # Inputs set at this edge are sampled at the next rising edge.
            await ReadOnly()
            for onlooker in self._onlookers:
                onlooker.look()

    def _look(self, at: str | Look | None) -> Look | None:
        handle = getattr(self.dut, at, None) if isinstance(at, str) else None
        return at if callable(at) else None if handle is None else partial(integer_of, handle)

    @property
    def elapsed(self) -> int:
        """Whole cycles of simulated time since the test began."""
        return int((get_sim_time("ps") - self._start_ps) // (1000 * PERIOD_NS))

    def moment(self) -> str:
        """Return the simulated time as text, with the cycle of the test if the design has a clock."""
        cycle = f", cycle {self.elapsed}" if hasattr(self.dut, "clk") else ""
        return f"at {get_sim_time('ns'):.12g} ns{cycle}"

    def scoreboard(
        self, name: str, shape: Any, formats: Mapping[Any, Number] | None = None, *, output: str = "", lowest: int = 0
    ) -> Scoreboard:
        """Add a scoreboard, which must have compared at least one value and be empty at the end of the test.

        Its values are those of ``output``, by default the one of its name: a recording notes there what was compared, and a
        wave shows the expected values beside it, from bit ``lowest`` on.
        """
        show = None if self._marks is None else self._marks.of(output or name, lowest, width(shape))
        self.scoreboards.append(Scoreboard(name, shape, formats, self.moment, show, output))
        return self.scoreboards[-1]

    def check_stream(
        self, name: str, formats: Mapping[Any, Number] | None = None, stalls: Iterator[bool] | None = None
    ) -> Scoreboard:
        """Add a scoreboard fed by a monitor of the output stream ``name``."""
        scoreboard = self.scoreboard(name, self.payload_shape(name), formats)
        self.monitor(name, scoreboard.got, stalls)
        return scoreboard

    def coverage(self, bins: Any) -> Coverage:
        """Add coverage whose bins must all be hit by the end of the test."""
        self.coverages.append(Coverage(bins))
        return self.coverages[-1]

    @property
    def moved(self) -> int:
        """Number of payloads transferred and values compared so far."""
        return sum(end.transferred for end in self._ends) + sum(board.compared for board in self.scoreboards)

    async def reset(self) -> None:
        """Clear all inputs and reset for one cycle with requests in flight; for tests that drive by hand.

        Ends just after a rising edge. A longer reset would hide a missing reset: a pipeline stage would drain by itself.
        """
        quiet_ports(self.dut, self.signature)
        for end in self._ends:
            if isinstance(end, StreamDriver):
                end.forget()
        await _reset(self.dut, 1)

    async def watch(self, patience: int) -> None:
        """Fail after ``patience`` to twice ``patience`` cycles without activity."""
        seen = -1
        while self.moved != seen:
            seen = self.moved
            await Timer(patience * PERIOD_NS, unit="ns")
        raise AssertionError(f"nothing has moved for {patience} cycles")

    async def drain(self) -> None:
        """Wait until no result is pending, or until :data:`DRAIN_CYCLES` cycles have passed without a result."""
        idle, seen = 0, -1
        while any(scoreboard.pending for scoreboard in self.scoreboards) and idle < DRAIN_CYCLES:
            compared = sum(scoreboard.compared for scoreboard in self.scoreboards)
            idle, seen = (idle + 1 if compared == seen else 0), compared
            await RisingEdge(self.dut.clk)

    def finish(self) -> None:
        """Run all checks at the end of a test."""
        for name, task in self._background.items():
            if task.done():
                raise AssertionError(f"{name} ended before the test")
        for scoreboard in self.scoreboards:
            scoreboard.finish()
        for coverage in self.coverages if ENOUGH not in os.environ else ():
            coverage.finish()

    def leave_record(self) -> None:
        with Path(os.environ["BITPATH_RECORDS"]).open("a") as records:
            records.write(json.dumps(self.record()) + "\n")

    def record(self) -> dict[str, Any]:
        """Return the runner's record: counts, coverage bins, stream events, simulated cycles and time."""
        return {
            "cycles": self.cycles,
            "seconds": self.seconds,
            "compared": sum(scoreboard.compared for scoreboard in self.scoreboards),
            "mismatches": sum(scoreboard.mismatches for scoreboard in self.scoreboards),
            "excepted": dict(sum((scoreboard.excepted for scoreboard in self.scoreboards), Counter())),
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
    """Check the ports, clear the inputs, start clock and reset, yield a :class:`Bench`; then drain, check and record.

    Parameters
    ----------
    signature : signature of the configured component.
    drain : False for a test that compares by hand and ends with nothing in flight.
    patience : cycles without activity after which the test fails; None for no limit.
    """
    start = time.process_time()
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
    frame.cycles = frame.elapsed
    if hasattr(dut, "clk") and not resolved(dut.clk):
        # The next test's clock starts high; from low this would be an edge before its inputs are set.
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
