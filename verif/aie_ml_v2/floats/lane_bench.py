"""Bench of lanes of an operator: swept operands, directed corners, random requests at every pace, latency, resets.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random requests of a test, and the
requests of each control of the sweep; ``BITPATH_EVERY=1`` sweeps all operands.
"""

import os
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from itertools import chain
from random import Random
from typing import Any

import cocotb

from bitpath.rtl.aie_ml_v2.floats.float_lanes import FloatLanes, LaneOperator
from bitpath.rtl.aie_ml_v2.floats.layouts import FloatLanesConfig
from bitpath.verif.aie_ml_v2.floats.lane_ask import Beside, Corner, LaneAsk
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.pipeline import PACES, Pipeline, Request

CASES = int(os.environ.get("BITPATH_CASES", "200"))
EVERY = "BITPATH_EVERY" in os.environ
LIMIT = {"timeout_time": 100, "timeout_unit": "ms"}


class LaneBench:
    """The bench of one operator.

    Parameters
    ----------
    operator : the operator.
    kinds : asks with every control that counts, of any shift; random requests hit the bins of all of them.
    corners : directed corners.
    sweep : asks of the sweep, each with its operands.
    boundaries : operands beside the boundaries of the results, of an operator that rounds.
    """

    def __init__(
        self,
        operator: LaneOperator,
        kinds: Sequence[LaneAsk],
        corners: Sequence[Corner],
        sweep: Sequence[tuple[LaneAsk, Sequence[int]]],
        boundaries: Sequence[Beside] = (),
    ):
        self.kinds, self.corners, self.sweep, self.boundaries = kinds, corners, sweep, boundaries
        config = config_from_environment(FloatLanesConfig)
        unit = FloatLanes(operator, config)
        self.lanes, self.latency_cycles, self.signature = config.lanes, unit.latency, unit.signature

    def tests(self, module: str) -> tuple[Any, ...]:
        """Return the cocotb tests of a bench's module: ``swept_operands``, ``directed_corners``, ``random_requests``,
        ``latency`` and ``resets``; of an operator that rounds also ``range_boundaries``."""

        def test(name: str, play: Callable[..., Coroutine], **options: Sequence) -> Any:
            async def played(dut, **chosen):
                await play(dut, **chosen)

            played.__qualname__, played.__module__ = name, module
            return cocotb.test(**LIMIT)(cocotb.parametrize(**options)(played))

        return (
            test("swept_operands", self.swept_operands),
            test("directed_corners", self.directed_corners),
            test("random_requests", self.random_requests, pace=list(PACES)),
            test("latency", self.latency),
            test("resets", self.resets),
            *(test("range_boundaries", self.range_boundaries) for _ in self.boundaries[:1]),
        )

    async def swept_operands(self, dut) -> None:
        """Operands in order under each ask of the sweep, at full speed; a sample of them without ``BITPATH_EVERY``."""
        rng = pauses.rng("sweep")
        requests: list[Request] = []
        for ask, codes in self.sweep:
            few = codes if EVERY else sorted(rng.sample(codes, min(len(codes), CASES * self.lanes // 10)))
            requests += ask.requests(few, self.lanes)
        await self._drive(dut, requests)

    async def directed_corners(self, dut) -> None:
        """Directed corners, each in another lane among zeros."""
        requests: list[Request] = []
        for index, each in enumerate(self.corners):
            row = [0] * self.lanes
            row[index % self.lanes] = each.code
            requests += each.ask.requests(row, self.lanes)
        async with bench(dut, self.signature, drain=False) as frame:
            coverage = frame.coverage([each.bin for each in self.corners])
            for each in self.corners:
                if each.holds:
                    coverage.hit(each.bin)
            await Pipeline(frame, self.latency_cycles).sweep(requests)

    async def range_boundaries(self, dut) -> None:
        """Results at the ends of their range and between, each with a sticky bit at every distance."""
        requests = [each for beside in self.boundaries for each in beside.ask.requests(beside.codes, self.lanes)]
        async with bench(dut, self.signature, drain=False) as frame:
            coverage = frame.coverage([each.bin for each in self.boundaries])
            for each in self.boundaries:
                if each.holds:
                    coverage.hit(each.bin)
            await Pipeline(frame, self.latency_cycles).sweep(requests)

    async def random_requests(self, dut, pace: str) -> None:
        """Every kind in random order, with random shifts."""
        rng = pauses.rng("requests")
        order = [*self.kinds, *rng.choices(self.kinds, k=max(0, CASES - len(self.kinds)))]
        rng.shuffle(order)
        requests = [each for kind in order for each in self._random(kind, rng)]
        async with bench(dut, self.signature) as frame:
            coverage = frame.coverage(dict.fromkeys(chain(*(kind.bins for kind in self.kinds))))
            for name in chain(*(kind.bins for kind in order)):
                coverage.hit(name)
            await Pipeline(frame, self.latency_cycles).exchange(requests, pace)

    async def latency(self, dut) -> None:
        rng = pauses.rng("requests")
        requests = [each for _ in range(20) for each in self._random(rng.choice(self.kinds), rng)]
        async with bench(dut, self.signature, drain=False) as frame:
            await Pipeline(frame, self.latency_cycles).one_at_a_time(requests)

    async def resets(self, dut) -> None:
        """Resets with requests in all pipeline stages."""
        rng = pauses.rng("requests")
        async with bench(dut, self.signature, drain=False) as frame:
            batch = partial(self._random, rng=rng)
            await Pipeline(frame, self.latency_cycles).resets(lambda: batch(rng.choice(self.kinds)))

    async def _drive(self, dut, requests: list[Request]) -> None:
        async with bench(dut, self.signature, drain=False) as frame:
            await Pipeline(frame, self.latency_cycles).sweep(requests)

    def _random(self, kind: LaneAsk, rng: Random) -> list[Request]:
        ask = kind.shifted(rng)
        return ask.requests([ask.code(rng) for _ in range(self.lanes)], self.lanes)
