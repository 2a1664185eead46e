"""Bench of one multiply-accumulate lane: random classes, directed corners of every format, integers, volume.

Expected values come from golden before anything is driven.
"""

from collections.abc import Iterator
from itertools import product
from random import Random

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.aie_ml_v2 import fused_dot
from bitpath.golden.aie_ml_v2.declarations.codes import BLOCK_FORMATS, MX6, MxFormat
from bitpath.golden.aie_ml_v2.exact import Block, IntegerLaneTrace
from bitpath.golden.arrays.codec import DTYPES
from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig, MacMode
from bitpath.rtl.aie_ml_v2.mac.mac_lane import MacLane
from bitpath.verif.aie_ml_v2.mac.mac import (
    FLOATS,
    INTEGERS,
    LaneCase,
    MacOptions,
    block_array,
    kind_name,
    kinds_of,
    mode_of,
    near_codes,
    random_block,
    random_case,
    row_of,
)
from bitpath.verif.aie_ml_v2.mac.mac_corners import bins, corners, hits
from bitpath.verif.aie_ml_v2.mac.mac_lane_player import play
from bitpath.verif.common.fp32 import numbers as fp32
from bitpath.verif.kit.unit_bench import UnitBench, cases, covers, pauses

# Directed corners of a lane's integer modes, and their bins.


HIGHEST, LOWEST = 0x7FFFFFFF, 0x80000000
FLAGS = tuple(product((0, 1), repeat=4))
"""Flags: negate products, negate acc1, negate acc2, shift acc1 left by 16."""


def integer_bins(mode: MacMode) -> list[str]:
    names = [
        f"ends/{sx}{sy}/{x}/{y}" for sx, sy in product("us", repeat=2) for x, y in product(("low", "high"), repeat=2)
    ]
    names += [f"options/{'/'.join(map(str, flags))}" for flags in FLAGS]
    names += [f"lone product/{k}" for k in range(INTEGERS[mode].depth)]
    return [*names, "wraps/+", "wraps/-", "just fits/+", "just fits/-", "accumulators alone", "cancels", "shifted out"]


def _range(mode: MacMode, is_signed: bool) -> tuple[int, int]:
    bits = INTEGERS[mode].a_bits
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if is_signed else (0, (1 << bits) - 1)


def integer_corners(rng: Random, mode: MacMode) -> Iterator[LaneCase]:
    """Yield cases for every bin of a mode."""
    depth = INTEGERS[mode].depth

    def case(x: tuple[int, ...], y: tuple[int, ...], signed: tuple[bool, bool] = (True, True), **more) -> LaneCase:
        return LaneCase(mode=mode, x=x, y=y, signed=signed, **more)

    def draw(signed: bool) -> tuple[int, ...]:
        return tuple(rng.randint(*_range(mode, signed)) for _ in range(depth))

    for signed in product((False, True), repeat=2):
        for x, y in product(*(_range(mode, each) for each in signed)):
            yield case((x,) * depth, (y,) * depth, signed, acc1=rng.getrandbits(32))
        for k in range(depth):
            # A single product; each operand bit is set in turn.
            for bit in range(INTEGERS[mode].a_bits):
                value = _range(mode, signed[0])[0] if signed[0] and bit == INTEGERS[mode].a_bits - 1 else 1 << bit
                other = _range(mode, signed[1])[rng.getrandbits(1)] or 1
                x, y = (tuple(each if j == k else 0 for j in range(depth)) for each in (value, other))
                yield case(x, y, signed)
    for products, first, second, shift16 in FLAGS:
        signed = (bool(rng.getrandbits(1)), bool(rng.getrandbits(1)))
        options = MacOptions(
            negate_products=bool(products), negate_acc1=bool(first), negate_acc2=bool(second), shift16=bool(shift16)
        )
        for _ in range(3):
            more = {"acc1": rng.getrandbits(32), "acc2": rng.getrandbits(32), "options": options}
            yield case(draw(signed[0]), draw(signed[1]), signed, **more)
    zeros = (0,) * depth
    one = (1, *zeros[1:])
    alone = MacOptions(multiplies=False)
    for acc1, acc2 in ((HIGHEST, 1), (LOWEST, 0xFFFFFFFF), (HIGHEST - 1, 1), (LOWEST + 1, 0xFFFFFFFF), (5, 0xFFFFFFFB)):
        yield case(draw(True), draw(True), acc1=acc1, acc2=acc2, options=alone)
        yield case(one, one, acc1=acc1)
    yield case(one, one, acc1=0x12345678, options=MacOptions(shift16=True))


def integer_hits(case: LaneCase, trace: IntegerLaneTrace) -> Iterator[str]:
    """Yield the bins that a case hits."""
    ends = {}
    for side, signed in zip("xy", case.signed, strict=True):
        low, high = _range(case.mode, signed)
        numbers = set(getattr(case, side))
        ends[side] = "low" if numbers == {low} else "high" if numbers == {high} else ""
    options = case.options
    if all(ends.values()) and options.multiplies:
        yield f"ends/{''.join('us'[each] for each in case.signed)}/{ends['x']}/{ends['y']}"
    if case.acc1 is not None and case.acc2 is not None and options.multiplies:
        flags = (options.negate_products, options.negate_acc1, options.negate_acc2, options.shift16)
        yield f"options/{'/'.join(str(int(each)) for each in flags)}"
    nonzero = [k for k, value in enumerate(trace.products) if value]
    if len(nonzero) == 1:
        yield f"lone product/{nonzero[0]}"
    if trace.total != trace.result:
        yield "wraps/+" if trace.total > 0 else "wraps/-"
    elif abs(trace.total) >= HIGHEST - 1:
        yield "just fits/+" if trace.total > 0 else "just fits/-"
    if not options.multiplies:
        yield "accumulators alone"
        if trace.total == 0 and all(trace.addends):
            yield "cancels"
    if options.shift16 and case.acc1 and case.acc1 >> 16:
        yield "shifted out"


BENCH = UnitBench(MacLane, MacLaneConfig, ms=100)
CONFIG = BENCH.config
NUMERICS = CONFIG.numerics
KINDS = kinds_of(CONFIG)
CASES = cases(300)
PACES = {
    "full_speed": pauses.never,
    "gaps": lambda: pauses.bursts(6, pauses.rng("gaps")),
    "sparse": lambda: pauses.scattered(0.6, pauses.rng("gaps")),
}
MEETING = [kind for kind in (MacMode.FLOAT16, MX6) if kind in KINDS]
"""A kind with the longer latency, and one whose result would appear in the same cycle."""


def named(kinds: tuple) -> list:
    """Return the supported kinds as parameters of a test."""
    return [cocotb.Param(value=KINDS.index(kind), name=kind_name(kind)) for kind in kinds if kind in KINDS]


def answered(cases: list[LaneCase]) -> list[tuple[LaneCase, int]]:
    """Return the cases with the exact tier's results."""
    return [(case, case.result(NUMERICS)) for case in cases]


@covers(
    "mac_lane.random",
    "The classes stress alignment and rounding",
    "All modes and formats in any order, with close, special and arbitrary operands; none, one or two "
    "accumulators near the products, cancelling them, or arbitrary; every sign and option; bit-exact against the "
    "exact tier",
)
@covers(
    "mac_lane.latency",
    "The vector unit relies on it, since a lane has no output handshake",
    "Results appear exactly 4 cycles after their operands, 5 for floats, in any order of modes, at full speed and "
    "with gaps; accumulators are sampled exactly two cycles before the result",
)
@BENCH.test(
    "mac_lane.unread",
    "Ignored inputs must not change the result, and the first beat of MX9 must be held for the second",
    "Random values in all operand bits that the mode ignores; infinities, NaN and the largest numbers in unused "
    "accumulators; gaps between the beats of MX9",
    pace=list(PACES),
)
async def random_classes(frame, pace):
    """Formats and modes in random order."""
    rng = pauses.rng("operands")
    kinds = [kind for kind in KINDS for _ in range(CASES // len(PACES) + 1)]
    rng.shuffle(kinds)
    sent = answered([random_case(NUMERICS, rng, kind) for kind in kinds])
    await play(frame, NUMERICS, sent, PACES[pace](), pauses.rng("junk"))


@covers("mac_lane.latency")
@covers(
    "mac_lane.distance",
    "Each shifter has its own distances at which it rounds and at which a term vanishes",
    "Every distance 0 to 26 and beyond of products and of each accumulator",
)
@covers(
    "mac_lane.ties",
    "Measured silicon rounds each term to nearest even",
    "Ties of both signs in the alignment of products and of each accumulator, and in the result",
)
@covers(
    "mac_lane.boundaries",
    "A lost sticky bit, a rounding after the range check or a tie that overflows too late shows there alone",
    "Sums of ones in all kept bits below infinity and below the smallest normal number, and even ones between: "
    "ties, and ties that one bit breaks, of both signs",
)
@covers(
    "mac_lane.signs",
    "Finds a control bit that is wired to the wrong operand",
    "Both signs of both accumulators with every negation; none, one or both accumulators; accumulators only",
)
@covers(
    "mac_lane.range",
    "Checks both ends of FP32's range",
    "Cancellation to 0 and to plus and minus one unit, overflow to infinity, flushes of both signs, a rounding "
    "carry that keeps a result from being flushed",
)
@covers(
    "mac_lane.special",
    "Checks silicon's NaN rules, with a canonical payload",
    "NaN in each operand of each format and in each accumulator, infinity times zero, infinity minus infinity "
    "between products and accumulators",
)
@covers(
    "mac_lane.lone_bits",
    "No other test finds a missing input of an OR or AND tree",
    "Each bit of an accumulator, of a NaN's fraction, of a product and of a block pair's sum by itself; exponents "
    "of all ones but one; each bit of a subnormal accumulator that makes the other one normal",
)
@covers("mac_lane.unread")
@covers(
    "mac_lane.formats",
    "The formats of x and y are independent within a mode",
    "Every pair of float formats, subnormals of each in both operands, zeros with the largest exponent, and zeros "
    "in every slot with the smallest product, which is flushed to a signed zero",
)
@covers(
    "mac_lane.blocks",
    "Covers the range of an MX block",
    "All 256 shift bytes of either block, exponents 0, 1, 254 and 255, most negative codes, zero sums whose "
    "exponent shifts out the accumulator, and zero sums that take no part in the maximum",
)
@BENCH.test(
    "mac_lane.bfp16ebs8",
    "It takes MX9's multipliers, but no held beat and no shifts",
    "XDNA2's products of eight without shift bits, a beat each: every corner, random classes at every pace, "
    "chains; sums and each product as a term; fields without effect turned",
    kind=named((*BLOCK_FORMATS.values(), *FLOATS)),
)
async def directed_corners(frame, kind):
    kind = KINDS[kind]
    table = list(corners(NUMERICS, pauses.rng("corners"), kind))
    traces = [case.trace(NUMERICS) for case in table]
    coverage = frame.coverage(bins(NUMERICS, kind))
    for case, trace in zip(table, traces, strict=True):
        for name in hits(NUMERICS, case, trace):
            coverage.hit(name)
    sent = [(case, trace.result) for case, trace in zip(table, traces, strict=True)]
    await play(frame, NUMERICS, sent, PACES["full_speed"](), pauses.rng("junk"))


@BENCH.test("mac_lane.integers", "Integers share the multipliers with floats and MX", mode=named(tuple(INTEGERS)))
async def integers(frame, mode):
    """Signed and unsigned, ends of all ranges, every single operand bit, sums that wrap and sums that just fit, the
    shift by 16 with bits shifted out, every sign."""
    mode = KINDS[mode]
    table = list(integer_corners(pauses.rng("integers"), mode))
    sent = answered(table)
    coverage = frame.coverage(integer_bins(mode))
    for case in table:
        for name in integer_hits(case, case.trace(NUMERICS)):
            coverage.hit(name)
    await play(frame, NUMERICS, sent, PACES["full_speed"](), pauses.rng("junk"))


@BENCH.test(
    "mac_lane.reset", "A beat cancelled by a reset must not produce a result", skip=len(MEETING) < 2, before=range(4)
)
async def what_comes_with_a_reset(frame, before):
    """A float beat in the cycle of a reset, directly followed by a block pair whose result would appear in the same
    cycle."""
    rng = pauses.rng("reset")
    lost, (case,) = random_case(NUMERICS, rng, MEETING[0]), answered([random_case(NUMERICS, rng, MEETING[1])])
    dut = frame.dut
    await FallingEdge(dut.clk)
    dut.valid.value, dut.operands.value = 1, lost.beats()[0]
    for _ in range(before):
        await FallingEdge(dut.clk)
        dut.valid.value = 0
    dut.rst.value = 1
    await RisingEdge(dut.clk)
    dut.rst.value = 0
    await play(frame, NUMERICS, [case], PACES["full_speed"](), pauses.rng("junk"))


@BENCH.test(
    "mac_lane.volume",
    "Checks the second tier, with many results at full speed",
    kind=named((*BLOCK_FORMATS.values(), *FLOATS)),
)
async def volume(frame, kind):
    """Long chains against the vectorised model, in which each result is the next accumulator."""
    kind = KINDS[kind]
    rng = pauses.rng(f"volume {kind_name(kind)}")
    sent = _volume(rng, kind)
    await play(frame, NUMERICS, sent, PACES["full_speed"](), pauses.rng("junk"))


def _volume(rng, kind: MxFormat | MacMode) -> list[tuple[LaneCase, int]]:
    count, steps = max(1, CASES // 16), 8
    acc = [fp32.near_one(rng) for _ in range(count)]
    sent = []
    for _ in range(steps):
        operands = [_near_operands(rng, kind) for _ in range(count)] if isinstance(kind, MxFormat) else None
        if operands is None:
            cases = _float_cases(rng, kind, count)
        else:
            cases = [LaneCase(mode=mode_of(kind, NUMERICS), x=x, y=y) for x, y in operands]
        result = _fused(kind, cases, acc)
        sent += [(_onto(case, code), new) for case, code, new in zip(cases, acc, result, strict=True)]
        acc = result
    return sent


def _onto(case: LaneCase, acc: int) -> LaneCase:
    return LaneCase(mode=case.mode, x=case.x, y=case.y, formats=case.formats, acc1=acc)


def _near_operands(rng, fmt: MxFormat) -> tuple[Block, Block]:
    return random_block(rng, fmt, rng.randint(124, 130)), random_block(rng, fmt, rng.randint(124, 130))


def _float_cases(rng, mode: MacMode, count: int) -> list[LaneCase]:
    """Return cases of one pair of formats, as arrays."""
    formats = tuple(rng.choice(row_of(mode).formats) for _ in range(2))
    cases = []
    for _ in range(count):
        draw = near_codes(rng)
        x, y = (tuple(draw(rng, fmt) for _ in range(row_of(mode).depth)) for fmt in formats)
        cases.append(LaneCase(mode=mode, x=x, y=y, formats=formats))
    return cases


def _fused(kind: MxFormat | MacMode, cases: list[LaneCase], acc: list[int]) -> list[int]:
    accumulators = np.array(acc, np.uint32).view(np.float32)
    if isinstance(kind, MxFormat):
        pairs = zip(*((case.x, case.y) for case in cases), strict=True)
        x, y = (block_array(list(blocks)) for blocks in pairs)
        name = x.fmt.name
    else:
        name = {MacMode.FLOAT16: "bf16", MacMode.FLOAT8: "fp8"}[kind]
        x, y = (
            np.array([getattr(case, side) for case in cases], f"u{fmt.width // 8}").view(DTYPES[fmt])
            for side, fmt in zip("xy", cases[0].formats, strict=True)
        )
    result = fused_dot(x, y, accumulators, format=name, numerics=NUMERICS)
    return result.view(np.uint32).astype(np.int64).tolist()
