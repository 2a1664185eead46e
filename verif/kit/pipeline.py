"""Shared tests of pipelined units with requests at ``i``, results at ``o`` and any number of pipeline stages."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

from cocotb.triggers import FallingEdge, RisingEdge, Timer

from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import Bench
from bitpath.verif.kit.mismatches import Context
from bitpath.verif.kit.streams import resolved
from bitpath.verif.kit.values import Number

PACES = {
    "full_speed": (pauses.never, pauses.never),
    "gaps": (lambda: pauses.bursts(6, pauses.rng("i")), pauses.never),
    "stalls": (pauses.never, lambda: pauses.bursts(6, pauses.rng("o"))),
    "both": (lambda: pauses.scattered(0.4, pauses.rng("i")), lambda: pauses.scattered(0.4, pauses.rng("o"))),
}
"""Pause patterns of the input and of the output stream, by name."""

LATENCY = "BITPATH_LATENCY"
"""Environment variable with the latency in cycles of a clocked design that is not the unit's own; "any" for an unknown one."""
REACH = 16
"""Latency for which resets are tried and surplus results awaited, where it is unknown."""


@dataclass(frozen=True)
class Request:
    """A payload, its expected result, and the context to show on a mismatch."""

    payload: int
    expected: int
    shown: Context


class Pipeline:
    """A unit with a latency of ``stages`` cycles; with 0 stages it has no clock.

    With the variable :data:`LATENCY` a clocked design has that latency instead. If it is "any", results are compared in order
    and their cycle is not, and the design need not be ready in every cycle.

    Parameters
    ----------
    frame : of the test.
    stages : pipeline registers.
    result : number format of the results' fields, where they have one.
    """

    def __init__(self, frame: Bench, stages: int, result: Number | None = None):
        latency = os.environ.get(LATENCY) if stages else None
        self.elastic = latency == "any"
        self.stages = REACH if self.elastic else stages if latency is None else int(latency)
        self.frame, self.dut = frame, frame.dut
        self.formats = {} if result is None else {"": result}

    async def step(self) -> None:
        """Step to the next falling edge, past one rising edge; without a clock, wait a short time."""
        await (FallingEdge(self.dut.clk) if self.stages else Timer(1, unit="ns"))

    async def exchange(self, requests: list[Request], pace: str) -> None:
        """Send requests and compare the results in order."""
        gaps, stalls = (make() for make in PACES[pace])
        if not self.stages:
            scoreboard = self.frame.scoreboard("o", self.frame.payload_shape("o"), self.formats)
            for request in requests:
                scoreboard.expect(request.expected, request.shown)
            await self._pass_through([request.payload for request in requests], scoreboard.got, gaps, stalls)
            return
        driver = self.frame.driver("i", gaps)
        scoreboard = self.frame.check_stream("o", self.formats, stalls)
        for request in requests:
            scoreboard.expect(request.expected, request.shown)
            driver.send_bits(request.payload)

    async def _pass_through(
        self, payloads: list[int], sink: Callable[[int], None], gaps: Iterator[bool], stalls: Iterator[bool]
    ) -> None:
        """Drive the combinational design, in which valid and ready pass through with the data."""
        dut = self.dut
        waiting = iter(payloads)
        bits = next(waiting)
        while bits is not None:
            valid, ready = not next(gaps), not next(stalls)
            dut.i__payload.value = bits
            dut.i__valid.value, dut.o__ready.value = int(valid), int(ready)
            await Timer(1, unit="ns")
            assert (resolved(dut.o__valid), resolved(dut.i__ready)) == (valid, ready)
            if valid and ready:
                sink(resolved(dut.o__payload))
                bits = next(waiting, None)

    async def _in_order(self, requests: list[Request], *, alone: bool) -> None:
        """Send requests and compare the results at any latency; with ``alone`` each one after the result of the last."""
        dut = self.dut
        scoreboard = self.frame.scoreboard("o", self.frame.payload_shape("o"), self.formats)
        dut.o__ready.value = 1
        sent, idle = 0, 0
        await RisingEdge(dut.clk)
        while idle < REACH:
            offered = sent < len(requests) and not (alone and scoreboard.pending)
            dut.i__valid.value = int(offered)
            if offered:
                dut.i__payload.value = requests[sent].payload
            await FallingEdge(dut.clk)
            if offered and resolved(dut.i__ready):
                scoreboard.expect(requests[sent].expected, requests[sent].shown)
                sent += 1
            if resolved(dut.o__valid):
                scoreboard.got(resolved(dut.o__payload))
            # The watch of the frame ends a wait for a result that never comes.
            idle = idle + 1 if sent == len(requests) and not scoreboard.pending else 0
            await RisingEdge(dut.clk)

    async def one_at_a_time(self, requests: list[Request]) -> None:
        """Check that each result appears exactly ``stages`` cycles after its request, and only once."""
        if self.elastic:
            await self._in_order(requests, alone=True)
            return
        dut, stages = self.dut, self.stages
        scoreboard = self.frame.scoreboard("o", self.frame.payload_shape("o"), self.formats)
        dut.o__ready.value = 1
        await self.step()
        for request in requests:
            scoreboard.expect(request.expected, request.shown)
            dut.i__payload.value = request.payload
            dut.i__valid.value = 1
            await self.step()
            for cycle in range(1, stages):
                assert not resolved(dut.o__valid), f"a result after {cycle} cycles, not {stages}"
                dut.i__valid.value = 0
                await self.step()
            assert resolved(dut.o__valid), f"no result after {stages} cycles"
            scoreboard.got(resolved(dut.o__payload))
            dut.i__valid.value = 0
            await self.step()
            assert not resolved(dut.o__valid), "one operand gave a second result"

    async def resets(self, batch: Callable[[], list[Request]]) -> None:
        """Reset with requests in flight at every pipeline depth, with ready low and high. None of them may produce a result.

        The unit must be ready at once; then a batch is sent one request at a time and compared.

        Parameters
        ----------
        batch : function that makes requests for a unit just after reset.
        """
        dut, stages = self.dut, self.stages
        depths = sorted({1, 2, stages // 2 + 1, stages, stages + 1, 2 * stages + 1})
        for depth, ready in product(depths, (0, 1)):
            await self.step()
            dut.o__ready.value, dut.i__valid.value = ready, 1
            dut.i__payload.value = batch()[-1].payload
            for _ in range(depth):
                await self.step()
            await self.frame.reset()
            dut.o__ready.value = ready
            for _ in range(stages + 1):
                await self.step()
                assert resolved(dut.i__ready), "what was reset is empty, and takes nothing"
                assert not resolved(dut.o__valid), f"a result of before a reset, {depth} cycles after its request"
            await self.one_at_a_time(batch())

    async def sweep(self, requests: list[Request]) -> None:
        """Send one request a cycle with a single await; the handshakes are asserted, not awaited."""
        if self.elastic:
            await self._in_order(requests, alone=False)
            return
        dut = self.dut
        scoreboard = self.frame.scoreboard("o", self.frame.payload_shape("o"), self.formats)
        behind = max(self.stages - 1, 0)  # cycles from the one whose end takes a payload to that of its result
        dut.o__ready.value = 1
        await self.step()
        dut.i__valid.value = 1
        for cycle in range(len(requests) + behind):
            if cycle < len(requests):
                dut.i__payload.value = requests[cycle].payload
                scoreboard.expect(requests[cycle].expected, requests[cycle].shown)
            await self.step()
            assert resolved(dut.o__valid) == (cycle >= behind), f"cycle {cycle}: valid is {dut.o__valid.value}"
            if cycle >= behind:
                scoreboard.got(resolved(dut.o__payload))
        dut.i__valid.value = 0
