"""Bench of an FP32 function of one number: boundary cases, random operands in volume, gaps and stalls, latency, resets.

``BITPATH_CASES`` sets the payloads of a paced test, and the results at either kind of rounding edge; ``BITPATH_VOLUME`` sets the
random operands.
"""

import os
from collections.abc import Sequence
from functools import partial
from random import Random
from typing import Any

import cocotb
import numpy as np

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.fp32.fp32_functions import DigitRecurrence, Fp32Lanes, Fp32LanesConfig
from bitpath.verif.common.fp32.functions import FORMAT_EDGES, Function, beside_ties, rounding_edges
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench
from bitpath.verif.kit.coverage import Coverage
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import array_bits
from bitpath.verif.kit.pipeline import LIMIT, Made, Pipeline, Request, StreamBench
from bitpath.verif.kit.values import code_text


def requests_of(codes: Sequence[int] | np.ndarray, results: Sequence[int] | np.ndarray, lanes: int) -> list[Request]:
    """Return requests of operands and results; the last one is filled up with the first operands."""
    rows = [np.pad(np.array(each, np.uint32), (0, -len(each) % lanes), "wrap") for each in (codes, results)]
    pairs = zip(*(each.reshape(-1, lanes) for each in rows), strict=True)
    return [Request(array_bits(row), array_bits(result), partial(_shown, row)) for row, result in pairs]


def _shown(codes: np.ndarray, lane: str) -> Shown:
    """The operand of the lane that differs."""
    return Shown(operands={"operand": code_text(FP32, int(codes[int(lane or 0)]))})


def function_bench(module: str, component: type[DigitRecurrence], function: Function) -> StreamBench:
    """Return the bench of a function, each of whose lanes is a component."""

    def draw(kinds: Sequence[None], rng: Random) -> list[Request]:
        lanes = own.config.lanes
        codes = [
            rng.getrandbits(FP32.width) if rng.getrandbits(1) else rng.choice(FORMAT_EDGES)
            for _ in range(len(kinds) * lanes)
        ]
        return requests_of(codes, [function.exact(code) for code in codes], lanes)

    own = StreamBench(
        module,
        Fp32LanesConfig,
        partial(Fp32Lanes, component),
        (None,),
        draw,
        cycles=DigitRecurrence.LATENCY,
        result=FP32,
        default_cases=50,
        draws="codes",
        recurs=True,
    )
    return own


def vectorised(own: StreamBench, function: Function, codes: np.ndarray) -> list[Request]:
    """Return requests of codes, uint32, with golden's vectorised tier, which is tested for all significands."""
    return requests_of(codes, function.vectorised(codes.view(np.float32)).view(np.uint32), own.config.lanes)


def function_tests(own: StreamBench, function: Function) -> tuple[Any, Any, Any, Any]:
    """Return the tests ``boundary_cases``, ``ties``, ``random_operands`` and ``resets``."""

    @own.sweep()
    def boundary_cases() -> Made:
        """Every edge of the format and a number of rounding edges against golden's exact tier."""
        codes = [*FORMAT_EDGES, *rounding_edges(function, pauses.rng("rounding"), own.cases)]
        results = [function.exact(code) for code in codes]
        hit = (name for pair in zip(codes, results, strict=True) for name in function.bins_of(*pair))
        return requests_of(codes, results, own.config.lanes), Coverage(function.bins, hit)

    @own.sweep()
    def ties() -> Made:
        """Results beside ties of two numbers, at every distance, against golden's exact tier."""
        operands = list(beside_ties(function, pauses.rng("ties")))
        codes = [each.code for each in operands]
        made = requests_of(codes, [function.exact(code) for code in codes], own.config.lanes)
        return made, Coverage(function.tie_bins, (name for each in operands for name in each.bins_of(function)))

    @own.sweep()
    def random_operands() -> Made:
        count = int(os.environ.get("BITPATH_VOLUME", "1000"))
        rng = np.random.default_rng(pauses.rng("codes").getrandbits(32))
        return vectorised(own, function, rng.integers(0, 1 << 32, count, np.uint32))

    async def resets(dut: Any) -> None:
        """Resets during the recurrence and while a result waits."""
        rng = pauses.rng("codes")
        async with bench(dut, own.unit.signature, drain=False) as frame:
            pipeline = Pipeline(frame, own.latency, FP32)
            await pipeline.resets(lambda: own.draw([None, None], rng))
            for digits in (1, own.latency // 2):
                dut.o__ready.value, dut.i__valid.value = 0, 1
                dut.i__payload.value = own.draw([None], rng)[0].payload
                for _ in range(digits):
                    await pipeline.step()
                await frame.reset()
                # Issue at once: a lane that was not reset would still be busy and accept no operand.
                await pipeline.one_at_a_time(own.draw([None, None], rng))

    resets.__qualname__, resets.__module__ = "resets", own.module
    return boundary_cases, ties, random_operands, cocotb.test(**LIMIT)(resets)
