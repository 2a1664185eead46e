"""Bench of the quad-MX dot product: random classes, directed corners, every operand pair, latency.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random cases of a test.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge, Timer

from bitpath.golden.codec import decode_array, encode_array
from bitpath.golden.exact import dot_step
from bitpath.golden.spec.formats import CATALOGUE, E2M1, E4M3FN, E8M0, FP32, FloatFormat
from bitpath.golden.trainium3.array import chain_rows
from bitpath.rtl.trainium3.config import DotConfig
from bitpath.rtl.trainium3.quad_mx_dot import QuadMxDot
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import Bench, bench, config_from_environment
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.streams import resolved
from bitpath.verif.stimulus.quad_mx import random_cases
from bitpath.verif.stimulus.quad_mx_corners import corners

CONFIG = config_from_environment(DotConfig)
NUMERICS = CONFIG.numerics
STAGES = CONFIG.pipeline.stages
SIGNATURE = QuadMxDot(CONFIG).signature
SHAPE = SIGNATURE.members["i"].signature.members["payload"].shape
CASES = int(os.environ.get("BITPATH_CASES", "500"))
LIMIT = {"timeout_time": 100, "timeout_unit": "ms"}
RESULT = {"": FP32}

PACES = {
    "full_speed": (pauses.never, pauses.never),
    "gaps": (lambda: pauses.bursts(6, pauses.rng("i")), pauses.never),
    "stalls": (pauses.never, lambda: pauses.bursts(6, pauses.rng("o"))),
    "both": (lambda: pauses.scattered(0.4, pauses.rng("i")), lambda: pauses.scattered(0.4, pauses.rng("o"))),
}
"""How the ends of the streams pause: the input's, the output's."""


async def exchange(frame: Bench, payloads: list[int], expected: list[int], shown: list[object], pace: str) -> None:
    """Send payloads and compare what comes, in order."""
    gaps, stalls = (make() for make in PACES[pace])
    if not STAGES:
        scoreboard = frame.scoreboard("o", FP32.width, RESULT)
        for value in zip(expected, shown, strict=True):
            scoreboard.expect(*value)
        await pass_through(frame.dut, payloads, scoreboard.got, gaps, stalls)
        return
    driver = frame.driver("i", gaps)
    scoreboard = frame.check_stream("o", RESULT, stalls)
    for bits, value, inputs in zip(payloads, expected, shown, strict=True):
        scoreboard.expect(value, inputs)
        driver.send_bits(bits)


async def pass_through(
    dut, payloads: list[int], sink: Callable[[int], None], gaps: Iterator[bool], stalls: Iterator[bool]
) -> None:
    """Drive the combinational design, which has no clock: valid and ready pass through like the data."""
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


@cocotb.test(**LIMIT)
@cocotb.parametrize(pace=list(PACES))
async def random_classes(dut, pace):
    cases = random_cases(NUMERICS, pauses.rng("operands"), CASES)
    expected = [case.trace(NUMERICS).result for case in cases]
    async with bench(dut, SIGNATURE) as frame:
        await exchange(frame, [pack(SHAPE, case.fields(NUMERICS)) for case in cases], expected, cases, pace)


@cocotb.test(**LIMIT)
async def directed_corners(dut):
    table = corners(NUMERICS, pauses.rng("corners"))
    traces = [corner.case.trace(NUMERICS) for corner in table]
    async with bench(dut, SIGNATURE) as frame:
        coverage = frame.coverage(dict.fromkeys(corner.bin for corner in table))
        for corner, trace in zip(table, traces, strict=True):
            if corner.holds(trace):
                coverage.hit(corner.bin)
        payloads = [pack(SHAPE, corner.case.fields(NUMERICS)) for corner in table]
        shown = [f"{corner.bin}: {corner.case}" for corner in table]
        await exchange(frame, payloads, [trace.result for trace in traces], shown, "both")


async def step(dut) -> None:
    """To the next falling edge, past one rising edge; a moment where there is no clock."""
    await (FallingEdge(dut.clk) if STAGES else Timer(1, unit="ns"))


@cocotb.test(**LIMIT)
async def latency_is_the_number_of_stages(dut):
    cases = random_cases(NUMERICS, pauses.rng("operands"), 20)
    async with bench(dut, SIGNATURE, drain=False) as frame:
        scoreboard = frame.scoreboard("o", FP32.width, RESULT)
        dut.o__ready.value = 1
        await step(dut)
        for case in cases:
            scoreboard.expect(case.trace(NUMERICS).result, case)
            dut.i__payload.value = pack(SHAPE, case.fields(NUMERICS))
            dut.i__valid.value = 1
            await step(dut)
            for cycle in range(1, STAGES):
                assert not resolved(dut.o__valid), f"a result after {cycle} cycles, not {STAGES}"
                dut.i__valid.value = 0
                await step(dut)
            assert resolved(dut.o__valid), f"no result after {STAGES} cycles"
            scoreboard.got(resolved(dut.o__payload))
            dut.i__valid.value = 0
            await step(dut)
            assert not resolved(dut.o__valid), "one operand gave a second result"


async def sweep(frame: Bench, payloads: list[int], expected: list[int]) -> None:
    """One payload a cycle at full speed, with a single await in it; the handshakes are asserted, not awaited."""
    dut = frame.dut
    scoreboard = frame.scoreboard("o", FP32.width, RESULT)
    behind = max(STAGES - 1, 0)  # cycles from the one whose end takes a payload to the one that shows its result
    dut.o__ready.value = 1
    await step(dut)
    dut.i__valid.value = 1
    for cycle in range(len(payloads) + behind):
        if cycle < len(payloads):
            dut.i__payload.value = payloads[cycle]
            scoreboard.expect(expected[cycle], f"pair {cycle}")
        await step(dut)
        if cycle >= behind:
            assert dut.o__valid.value, "no result"
            scoreboard.got(resolved(dut.o__payload))
    dut.i__valid.value = 0


def lane_payloads(lane: int, x: FloatFormat, y: FloatFormat) -> list[int]:
    """Payloads with every pair of codes in one lane; E2M1 as E4M3FN, the way it comes through the map.

    The other products and the partial sum are -0, which no sum shows: so a product's own sign shows when it is zero.
    """
    sides = []
    for side, fmt, sign in (("stationary", x, 1), ("moving", y, 0)):
        carried = E4M3FN if fmt is E2M1 else fmt
        table = []
        for code in range(1 << fmt.width):
            elements = [sign * carried.sign_mask] * NUMERICS.terms
            elements[lane] = int(encode_array(carried, decode_array(fmt, np.array([code])))[0]) if fmt is E2M1 else code
            operand = {"elements": elements, "scale": E8M0.bias, "format": NUMERICS.element_formats.index(carried)}
            table.append(pack(SHAPE, {side: operand}))
        sides.append(table)
    partial = pack(SHAPE, {"partial": FP32.sign_mask})
    return [stationary | moving | partial for stationary, moving in product(*sides)]


def lane_products(lane: int, x: FloatFormat, y: FloatFormat) -> list[int]:
    """What :func:`lane_payloads` must give, by the vectorised model, which reads E2M1 itself."""
    sides = []
    for fmt, sign in ((x, 1), (y, 0)):
        codes = np.full((1, 1 << fmt.width, NUMERICS.terms), sign * fmt.sign_mask)
        codes[0, :, lane] = np.arange(1 << fmt.width)
        sides += [codes, fmt, np.full((1, 1 << fmt.width), E8M0.bias)]
    start = np.full((1 << x.width, 1 << y.width), FP32.sign_mask, dtype=np.uint32)
    return chain_rows(NUMERICS, *sides, start).ravel().tolist()


PAIRS = [
    ("E4M3FN", "E4M3FN", 0),
    ("E4M3FN", "E5M2", 1),
    ("E5M2", "E4M3FN", 2),
    ("E5M2", "E5M2", 3),
    ("E2M1", "E4M3FN", 0),
    ("E2M1", "E5M2", 1),
    ("E4M3FN", "E2M1", 2),
    ("E5M2", "E2M1", 3),
    ("E2M1", "E2M1", 0),
]
"""Pairs of formats, and the lane in which all their pairs of codes are tried."""
if not NUMERICS.element_subnormals:
    # E2M1's subnormals are normal numbers once they are mapped, and only before would they be flushed.
    PAIRS = [pair for pair in PAIRS if "E2M1" not in pair]


@cocotb.test(**LIMIT)
@cocotb.parametrize((("x", "y", "lane"), PAIRS))
async def exhaustive(dut, x, y, lane):
    """saturn-vectors#101: every pair of codes, 65,536 of two FP8 formats, 4,096 of FP8 and FP4."""
    x, y = CATALOGUE[x], CATALOGUE[y]
    payloads, expected = lane_payloads(lane, x, y), lane_products(lane, x, y)
    for index in pauses.rng("held to the exact tier").sample(range(len(expected)), 100):
        a, b = divmod(index, 1 << y.width)
        assert expected[index] == exact_product(lane, x, a, y, b), f"golden's tiers differ at pair {index}"
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await sweep(frame, payloads, expected)


def exact_product(lane: int, x: FloatFormat, a: int, y: FloatFormat, b: int) -> int:
    """One pair of :func:`lane_products` by the exact tier, which takes any formats that the numerics name."""
    numerics = replace(NUMERICS, element_formats=(x, y))
    elements = [[x.sign_mask] * numerics.terms, [0] * numerics.terms]
    elements[0][lane], elements[1][lane] = a, b
    return dot_step(numerics, elements[0], x, elements[1], y, E8M0.bias, E8M0.bias, FP32.sign_mask)
