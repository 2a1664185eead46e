"""Bench of an FP32 function of one number: boundary cases, random operands in volume, gaps and stalls, latency, resets.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the payloads of a paced test, and the results
at either kind of rounding edge; ``BITPATH_VOLUME`` sets the random operands.
"""

import os
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from random import Random
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge, Timer

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.fp32.fp32_functions import DigitRecurrence, Fp32Lanes, Fp32LanesConfig
from bitpath.verif.common.fp32.functions import FORMAT_EDGES, FUNCTIONS, beside_ties, rounding_edges
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import PERIOD_NS, bench, config_from_environment
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.pipeline import PACES, Pipeline, Request
from bitpath.verif.kit.streams import resolved
from bitpath.verif.kit.values import code_text

LATENCY = DigitRecurrence.LATENCY
CASES = int(os.environ.get("BITPATH_CASES", "50"))
VOLUME = int(os.environ.get("BITPATH_VOLUME", "1000"))
LIMIT = {"timeout_time": 100, "timeout_unit": "ms"}


def _shown(codes: Sequence[int], lane: str) -> Shown:
    """The operand of the lane that differs."""
    return Shown(operands={"operand": code_text(FP32, int(codes[int(lane or 0)]))})


class FunctionBench:
    """The bench of one function.

    Parameters
    ----------
    name : of the unit.
    component : what each of its lanes is.
    """

    def __init__(self, name: str, component: type[DigitRecurrence]):
        self.function = FUNCTIONS[name]
        config = config_from_environment(Fp32LanesConfig)
        self.lanes = config.lanes
        self.signature = Fp32Lanes(component, config).signature

    def tests(self, module: str) -> tuple[Any, ...]:
        """The cocotb tests that every function has, for a bench's module: ``boundary_cases``, ``ties``, ``random_operands``,
        ``paced``, ``latency`` and ``resets``."""

        def test(name: str, play: Callable[..., Coroutine], **options: Sequence) -> Any:
            async def played(dut, **chosen):
                await play(dut, **chosen)

            played.__qualname__, played.__module__ = name, module
            return cocotb.test(**LIMIT)(cocotb.parametrize(**options)(played))

        return (
            test("boundary_cases", partial(self.boundary_cases, count=CASES)),
            test("ties", self.ties),
            test("random_operands", partial(self.random_operands, count=VOLUME)),
            test("paced", partial(self.paced, count=CASES), pace=list(PACES)),
            test("latency", self.latency),
            test("resets", self.resets),
        )

    async def boundary_cases(self, dut, count: int) -> None:
        """Drives every edge of the format and a number of rounding edges against golden's exact tier; all bins are hit."""
        codes = [*FORMAT_EDGES, *rounding_edges(self.function, pauses.rng("rounding"), count)]
        results = [self.function.exact(code) for code in codes]
        async with bench(dut, self.signature, drain=False) as frame:
            coverage = frame.coverage(self.function.bins)
            for code, result in zip(codes, results, strict=True):
                for name in self.function.bins_of(code, result):
                    coverage.hit(name)
            await self._bulk(frame, np.array(codes, np.uint32), np.array(results, np.uint32))

    async def ties(self, dut) -> None:
        """Results beside ties of two numbers, at every distance, against golden's exact tier."""
        operands = list(beside_ties(self.function, pauses.rng("ties")))
        codes = np.array([each.code for each in operands], np.uint32)
        results = np.array([self.function.exact(each.code) for each in operands], np.uint32)
        async with bench(dut, self.signature, drain=False) as frame:
            coverage = frame.coverage(self.function.tie_bins)
            for each in operands:
                for name in each.bins_of(self.function):
                    coverage.hit(name)
            await self._bulk(frame, codes, results)

    async def random_operands(self, dut, count: int) -> None:
        """Random codes against golden's vectorised tier, which is tested for all significands."""
        rng = np.random.default_rng(pauses.rng("codes").getrandbits(32))
        await self.operands(dut, rng.integers(0, 1 << 32, count, np.uint32))

    async def operands(self, dut, codes: np.ndarray) -> None:
        """These codes, uint32; golden's vectorised tier."""
        results = self.function.vectorised(codes.view(np.float32)).view(np.uint32)
        async with bench(dut, self.signature, drain=False) as frame:
            await self._bulk(frame, codes, results)

    async def paced(self, dut, pace: str, count: int) -> None:
        """Exchange operands and results with gaps and stalls."""
        requests = self._requests(pauses.rng("codes"), count)
        async with bench(dut, self.signature) as frame:
            await Pipeline(frame, LATENCY, FP32).exchange(requests, pace)

    async def latency(self, dut) -> None:
        """Checks that the result follows LATENCY cycles after every operand and that the unit is busy until then."""
        async with bench(dut, self.signature, drain=False) as frame:
            await Pipeline(frame, LATENCY, FP32).one_at_a_time(self._requests(pauses.rng("codes"), 20))

    async def resets(self, dut) -> None:
        """Resets during the recurrence and while a result waits."""
        rng = pauses.rng("codes")
        async with bench(dut, self.signature, drain=False) as frame:
            pipeline = Pipeline(frame, LATENCY, FP32)
            await pipeline.resets(lambda: self._requests(rng, 2))
            for digits in (1, LATENCY // 2):
                dut.o__ready.value, dut.i__valid.value = 0, 1
                dut.i__payload.value = self._requests(rng, 1)[0].payload
                for _ in range(digits):
                    await pipeline.step()
                await frame.reset()
                # Issue at once: a lane that was not reset would still be busy and accept no operand.
                await pipeline.one_at_a_time(self._requests(rng, 2))

    def _requests(self, rng: Random, count: int) -> list[Request]:
        requests = []
        for _ in range(count):
            codes = [
                rng.getrandbits(FP32.width) if rng.getrandbits(1) else rng.choice(FORMAT_EDGES)
                for _ in range(self.lanes)
            ]
            results = [self.function.exact(code) for code in codes]
            requests.append(Request(self._word(codes), self._word(results), partial(_shown, codes)))
        return requests

    async def _bulk(self, frame, codes: np.ndarray, results: np.ndarray) -> None:
        """Operands at full speed, Python awake once for each result; its cycle is asserted."""
        dut = frame.dut
        board = frame.scoreboard("o", frame.payload_shape("o"), {"": FP32})
        more = -len(codes) % self.lanes
        rows = [np.pad(each, (0, more), "wrap").reshape(-1, self.lanes) for each in (codes, results)]
        operands, expected = ([self._word(row) for row in each] for each in rows)
        dut.o__ready.value = 1
        await FallingEdge(dut.clk)
        dut.i__valid.value = 1
        dut.i__payload.value = operands[0]
        assert resolved(dut.i__ready), "an idle unit takes nothing"
        for operand, result, shown in zip([*operands[1:], None], expected, rows[0], strict=True):
            await FallingEdge(dut.clk)
            assert not resolved(dut.i__ready), "a busy unit takes another operand"
            # Just behind the falling edge, so that the next one is another.
            await Timer((LATENCY - 1) * PERIOD_NS + 1, unit="ns")
            assert resolved(dut.o__valid), f"no result after {LATENCY} cycles"
            assert resolved(dut.i__ready), "the next operand is not taken with the result"
            board.expect(result, partial(_shown, shown))
            board.got(resolved(dut.o__payload))
            dut.i__valid.value = int(operand is not None)
            dut.i__payload.value = operand or 0

    @staticmethod
    def _word(codes: Sequence[int]) -> int:
        return int.from_bytes(np.asarray(codes, "<u4").tobytes(), "little")
