"""Pipelined units with requests at ``i``, results at ``o`` and any number of pipeline stages: traffic, and their bench."""

import json
import os
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from random import Random
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge, Timer

from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import PERIOD_NS, Bench, bench, config_from_environment
from bitpath.verif.kit.coverage import Coverage
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

LIMIT = {"timeout_time": 100, "timeout_unit": "ms"}
"""Simulated time after which a test fails."""
LATENCY = "BITPATH_LATENCY"
"""Environment variable with the latency in cycles of a clocked design that is not the unit's own; "any" for an unknown one."""
HELD = "BITPATH_HELD"
"""Environment variable with the operands that a design does not have; see `held`."""
REACH = 16
"""Latency for which resets are tried and surplus results awaited, where it is unknown."""


@dataclass(frozen=True)
class Request:
    """A payload, its expected result, the context to show on a mismatch, and the bins that it hits."""

    payload: int
    expected: int
    shown: Context
    bins: tuple[str, ...] = ()


def held(payload: int) -> int:
    """Return a payload with the values of operands that a design does not have, or has once for two.

    The variable :data:`HELD` is a JSON list of their lowest bit, width, and value, or of those and the lowest bit of the operand
    whose value they have.
    """
    for low, bits, value, source in json.loads(os.environ.get(HELD, "[]")):
        mask = (1 << bits) - 1
        own = value if source is None else payload >> source & mask
        payload = payload & ~(mask << low) | own << low
    return payload


def hit(requests: Iterable[Request], bins: Collection[str]) -> Coverage:
    """Return the coverage of these bins by requests, which may have others too."""
    return Coverage(bins, (name for each in requests for name in each.bins if name in bins))


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
                scoreboard.expect(request.expected, request.shown, request.payload)
            await self._pass_through([request.payload for request in requests], scoreboard.got, gaps, stalls)
            return
        driver = self.frame.driver("i", gaps)
        scoreboard = self.frame.check_stream("o", self.formats, stalls)
        for request in requests:
            scoreboard.expect(request.expected, request.shown, request.payload)
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
                scoreboard.expect(requests[sent].expected, requests[sent].shown, requests[sent].payload)
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
            scoreboard.expect(request.expected, request.shown, request.payload)
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
                scoreboard.expect(requests[cycle].expected, requests[cycle].shown, requests[cycle].payload)
            await self.step()
            assert resolved(dut.o__valid) == (cycle >= behind), f"cycle {cycle}: valid is {dut.o__valid.value}"
            if cycle >= behind:
                scoreboard.got(resolved(dut.o__payload))
        dut.i__valid.value = 0

    async def recur(self, requests: list[Request]) -> None:
        """Send each request with the result of the last one, Python awake once for each; the handshakes are asserted."""
        if self.elastic:
            await self._in_order(requests, alone=True)
            return
        dut = self.dut
        scoreboard = self.frame.scoreboard("o", self.frame.payload_shape("o"), self.formats)
        dut.o__ready.value = 1
        await self.step()
        dut.i__valid.value, dut.i__payload.value = 1, requests[0].payload
        assert resolved(dut.i__ready), "an idle unit takes nothing"
        for request, following in zip(requests, [*requests[1:], None], strict=True):
            await self.step()
            assert not resolved(dut.i__ready), "a busy unit takes another operand"
            # Just behind the falling edge, so that the next one is another.
            await Timer((self.stages - 1) * PERIOD_NS + 1, unit="ns")
            assert resolved(dut.o__valid), f"no result after {self.stages} cycles"
            assert resolved(dut.i__ready), "the next operand is not taken with the result"
            scoreboard.expect(request.expected, request.shown, request.payload)
            scoreboard.got(resolved(dut.o__payload))
            dut.i__valid.value = int(following is not None)
            dut.i__payload.value = 0 if following is None else following.payload


# The bench of such a unit. Its file is a table: a reference makes requests with golden's results, and each test returns some.


Made = list[Request] | tuple[list[Request], Coverage]
"""What a test sends, and the bins that it hits."""


@dataclass(frozen=True)
class StreamBench:
    """Bench of a unit whose results depend on their requests alone.

    Its tests are functions that return requests with golden's results, made before anything is driven; a test with bins
    returns requests and their `Coverage`. ``BITPATH_CASES`` sets the random requests of a test::

        BENCH = StreamBench(__name__, IntegerLanesConfig, Srs, KINDS, draw, lambda kind: (kind.bin,))
        random_requests, latency, resets = BENCH.tests()

        @BENCH.sweep(shift=[4, 9])
        def every_number(shift):
            return requests(shift, range(1 << 16))

    Attributes
    ----------
    module : name of the module whose tests these are.
    config_type, component : configuration, and the function that builds the unit from it.
    kinds : what random requests differ in; each is sent at least once.
    draw : function that makes random requests of some kinds, in their order, from a generator.
    bins : function that returns the bins of a kind.
    cycles : latency; None for that of the unit, or for its pipeline stages.
    result : number format of the results' fields, where they have one.
    default_cases : random requests of a test without ``BITPATH_CASES``.
    draws : name of the generator of random requests.
    shared : True if each pace takes its share of the kinds.
    recurs : True if the unit takes the next request with the result of the last one.
    stateful : True if the unit has registers without pipeline stages too.
    """

    module: str
    config_type: type
    component: Callable[[Any], Any]
    kinds: Sequence[Any]
    draw: Callable[[Sequence[Any], Random], list[Request]]
    bins: Callable[[Any], Iterable[str]] = lambda kind: ()
    cycles: int | None = None
    result: Number | None = None
    default_cases: int = 200
    draws: str = "requests"
    shared: bool = False
    recurs: bool = False
    stateful: bool = False

    @cached_property
    def config(self) -> Any:
        return config_from_environment(self.config_type)

    @cached_property
    def unit(self) -> Any:
        return self.component(self.config)

    @property
    def latency(self) -> int:
        if self.cycles is not None:
            return self.cycles
        return self.unit.latency if hasattr(self.unit, "latency") else self.config.pipeline.stages

    @property
    def cases(self) -> int:
        return int(os.environ.get("BITPATH_CASES", self.default_cases))

    def tests(self, name: str = "random_requests") -> tuple[Any, Any, Any]:
        """Return the cocotb tests that every unit with a clock has: that of `random` and those of `timing`."""
        return self.random(name), *self.timing()

    def random(self, name: str = "random_requests") -> Any:
        """Return the test of random requests of every kind, in random order, at each pace."""
        return self._test(self._random, name, pace=list(PACES))

    def timing(self) -> tuple[Any, Any]:
        """Return the tests ``latency``, which checks the cycle of each result, and ``resets``, with requests in every pipeline
        stage; a combinational unit has no reset."""
        given = json.loads(os.environ.get("BITPATH_CONFIG", "{}"))
        combinational = not self.stateful and given.get("pipeline", {}).get("stages") == 0
        return self._test(self._one_at_a_time, "latency"), self._test(self._resets, "resets", skip=combinational)

    def sweep(self, *groups: Any, **options: Sequence[Any]) -> Callable[[Callable[..., Made]], Any]:
        """Return a decorator: the requests of the test go one a cycle. Groups and options are those of cocotb.parametrize."""

        def decorated(make: Callable[..., Made]) -> Any:
            async def play(dut: Any, **chosen: Any) -> None:
                await self.send(dut, make(**chosen))

            return self._test(play, make.__name__, *groups, **options)

        return decorated

    def exchange(self, pace: str | None = None, **options: Sequence[Any]) -> Callable[[Callable[..., Made]], Any]:
        """Return a decorator: the requests of the test go at a pace, or at each pace, which is then an argument."""

        def decorated(make: Callable[..., Made]) -> Any:
            async def play(dut: Any, **chosen: Any) -> None:
                await self.send(dut, make(**chosen), pace or chosen["pace"])

            paces = {} if pace else {"pace": list(PACES)}
            return self._test(play, make.__name__, **paces, **options)

        return decorated

    async def send(self, dut: Any, made: Made, pace: str | None = None) -> None:
        """Send requests one a cycle, or at a pace, and compare the results."""
        requests, coverage = made if isinstance(made, tuple) else (made, Coverage(()))
        async with bench(dut, self.unit.signature, drain=pace is not None) as frame:
            frame.coverages.append(coverage)
            pipeline = Pipeline(frame, self.latency, self.result)
            if pace is not None:
                await pipeline.exchange(requests, pace)
            else:
                await (pipeline.recur(requests) if self.recurs else pipeline.sweep(requests))

    async def _random(self, dut: Any, pace: str) -> None:
        rng = pauses.rng(self.draws)
        kinds = self.kinds[list(PACES).index(pace) :: len(PACES)] if self.shared else self.kinds
        order = [*kinds, *rng.choices(kinds, k=max(0, self.cases - len(kinds)))]
        rng.shuffle(order)
        coverage = Coverage(*(chain(*map(self.bins, each)) for each in (kinds, order)))
        await self.send(dut, (self.draw(order, rng), coverage), pace)

    async def _one_at_a_time(self, dut: Any) -> None:
        rng = pauses.rng(self.draws)
        requests = self.draw(rng.choices(self.kinds, k=20), rng)
        async with bench(dut, self.unit.signature, drain=False) as frame:
            await Pipeline(frame, self.latency, self.result).one_at_a_time(requests)

    async def _resets(self, dut: Any) -> None:
        rng = pauses.rng(self.draws)
        async with bench(dut, self.unit.signature, drain=False) as frame:
            pipeline = Pipeline(frame, self.latency, self.result)
            await pipeline.resets(lambda: self.draw(rng.choices(self.kinds, k=2), rng))

    def _test(self, play: Callable[..., Coroutine], name: str, *groups: Any, skip: bool = False, **options: Any) -> Any:
        async def played(dut: Any, **chosen: Any) -> None:
            await play(dut, **chosen)

        played.__name__ = played.__qualname__ = name
        played.__module__ = self.module
        return cocotb.test(**LIMIT, skip=skip)(cocotb.parametrize(*groups, **options)(played))
