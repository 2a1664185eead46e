"""Bench of a pipelined unit whose requests stand alone: its cases in order, random ones at every pace, latency, resets.

Expected results come from golden before anything is driven. ``BITPATH_CASES`` sets the random cases of a test.
"""

import os
from abc import abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import cocotb
from amaranth.lib import wiring

from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench
from bitpath.verif.kit.pipeline import PACES, Pipeline, Request

CASES = int(os.environ.get("BITPATH_CASES", "200"))
LIMIT = {"timeout_time": 100, "timeout_unit": "ms"}


@dataclass(frozen=True)
class Case(Request):
    """A request with the bins that it hits."""

    bins: tuple[str, ...] = ()


class Cases:
    """The cases of a unit.

    Attributes
    ----------
    unit : the component.
    latency : cycles from a request to its result.
    bins : all bins of the directed cases.
    kinds : all bins of the random cases.
    """

    unit: wiring.Component
    latency: int
    bins: Sequence[str]
    kinds: Sequence[str]

    @abstractmethod
    def directed(self, rng: Random) -> list[Case]:
        """Return the directed cases."""

    @abstractmethod
    def random(self, rng: Random, count: int) -> list[Case]:
        """Return random cases, at least one of each kind where ``count`` allows it."""


class LaneBench:
    """The tests of one unit.

    Parameters
    ----------
    cases : its cases.
    """

    def __init__(self, cases: Cases):
        self.cases, self.signature = cases, cases.unit.signature

    def tests(self, module: str) -> tuple[Any, ...]:
        """Return the cocotb tests for a bench's module: ``directed``, ``random_cases``, ``latency`` and ``resets``."""

        def test(play: Callable[..., Coroutine], **options: Sequence) -> Any:
            async def played(dut, **chosen):
                await play(dut, **chosen)

            played.__qualname__, played.__module__ = play.__name__, module
            return cocotb.test(**LIMIT)(cocotb.parametrize(**options)(played))

        return test(self.directed), test(self.random_cases, pace=list(PACES)), test(self.latency), test(self.resets)

    async def directed(self, dut) -> None:
        """Send the directed cases, one a cycle."""
        await self.swept(dut, self.cases.directed(pauses.rng("directed")), self.cases.bins)

    async def swept(self, dut, cases: list[Case], bins: Iterable[str] = ()) -> None:
        """Send cases, one a cycle, and count these bins."""
        async with bench(dut, self.signature, drain=False) as frame:
            self._count(frame, cases, bins)
            await Pipeline(frame, self.cases.latency).sweep(cases)

    async def random_cases(self, dut, pace: str) -> None:
        """Send random cases at a pace."""
        cases = self.cases.random(pauses.rng("cases"), CASES)
        async with bench(dut, self.signature) as frame:
            self._count(frame, cases, self.cases.kinds)
            await Pipeline(frame, self.cases.latency).exchange(cases, pace)

    async def latency(self, dut) -> None:
        """Send cases one by one; each result comes in its cycle."""
        async with bench(dut, self.signature, drain=False) as frame:
            await Pipeline(frame, self.cases.latency).one_at_a_time(self.cases.random(pauses.rng("cases"), 20))

    async def resets(self, dut) -> None:
        """Reset with requests in all pipeline stages."""
        rng = pauses.rng("cases")
        async with bench(dut, self.signature, drain=False) as frame:
            await Pipeline(frame, self.cases.latency).resets(lambda: self.cases.random(rng, 1))

    @staticmethod
    def _count(frame: Any, cases: list[Case], bins: Iterable[str]) -> None:
        coverage = frame.coverage(bins)
        for name in {each for case in cases for each in case.bins} & coverage.counts.keys():
            coverage.hit(name)
