"""Bench of the copy lanes: every pair of dtypes, tails, all modes with exact durations, equal dtypes, any rows at every pace,
resets.

Every word is compared with golden's tensor_copy, and durations with golden's cycles.
"""

from itertools import pairwise, product

import numpy as np
from cocotb.triggers import RisingEdge

from bitpath.golden.trainium3.declarations.dtypes import FORMATS, FloatFormat, container_bits
from bitpath.rtl.trainium3.dma.dtype import Dtype
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.lanes.copy_lanes import CopyCommand, CopyConfig, CopyLanes, Engine, Stride
from bitpath.verif.kit.unit_bench import UnitBench, cases, changed, covers, pauses, resolved
from bitpath.verif.trainium3.dma.dma_cast import PAIRS, any_codes, near_ties
from bitpath.verif.trainium3.dtype_words import corners, near_boundaries
from bitpath.verif.trainium3.lanes.copy_lanes import BINS, MOST, Lanes, Row, any_row, bins_of
from bitpath.verif.trainium3.refusals import Faults, unknown

BENCH = UnitBench(CopyLanes, CopyConfig, ms=100)
CONFIG = BENCH.config
CASES = cases(60)
PACES = {"full_speed": (0.0, 0.0), "gaps": (0.5, 0.0), "stalls": (0.0, 0.5), "both": (0.4, 0.4)}
SIZES = {8: ("e4m3", "int8"), 16: ("bf16", "uint16"), 32: ("fp32", "int32")}
"""A float and an integer of each size."""


async def copied(frame, rows, pace="full_speed", bins=()):
    """Send rows at a pace; return the cycles in which their commands were taken."""
    coverage = frame.coverage(bins)
    for name in set(bins_of(rows)) & set(bins):
        coverage.hit(name)
    lanes = Lanes(frame, *PACES[pace])
    for row in rows:
        lanes.send(row)
    await lanes.all_taken()
    assert len(lanes.taken) == len(rows)
    return lanes.taken


@BENCH.test("copy_lanes.pairs", "A copy casts through FP32, on ScalarE as on VectorE")
async def every_pair(frame):
    """Limits of both dtypes in all 169 pairs on both engines; FP32 numbers of every exponent half-way between two
    results and beside it."""
    rng = pauses.rng("rows")
    rows = []
    for pair in PAIRS:
        codes = np.array(rng.choices(corners(pair[0]), k=24))
        rows += [Row(codes, pair, engine) for engine in Engine]
    await copied(frame, rows)


@BENCH.test(
    "copy_lanes.tails", "The last word is partly filled, and the last group may have fewer elements than the others"
)
async def tails(frame):
    """Rows of 1 to 17 elements between all sizes on both engines, and of up to 65,536: data, mask and last of every
    word."""
    rng = pauses.rng("rows")
    rows = [
        Row(any_codes(rng, source, count), (source, result), engine)
        for sources in SIZES.values()
        for results in SIZES.values()
        for source, result in zip(sources, results, strict=True)
        for engine in Engine
        for count in range(1, 18)
    ]
    await copied(frame, rows)


@BENCH.test("copy_lanes.tails")
async def long_rows(frame):
    """65,536 elements, 4 a cycle, and rows whose numbers of elements have every bit set and cleared."""
    codes = any_codes(pauses.rng("row"), "e4m3", MOST)
    counts = (MOST, 0x5555, 0xAAAA, 9)
    taken = await copied(frame, [Row(codes[:count], ("e4m3", "e5m2")) for count in counts])
    assert [after - before for before, after in pairwise(taken)] == [-(-count // 4) for count in counts[:-1]]


@BENCH.test("copy_lanes.bits", "A copy between equal dtypes moves bits")
async def equal_dtypes_keep_bits(frame):
    """Each dtype to itself, with payloads of NaN, 1 to 4 elements a cycle on both engines."""
    rng = pauses.rng("rows")
    rows = []
    for name, fmt in FORMATS.items():
        codes = list(corners(name))
        if isinstance(fmt, FloatFormat):
            nan = fmt.infinity_code + 1 if fmt.infinity_code else fmt.nan_code
            codes += [nan << container_bits(name) - fmt.width, (1 << container_bits(name)) - 1]
        rows += [
            Row(np.array([*codes, *any_codes(rng, name, 8)]), (name, name), engine, stride=stride)
            for engine in Engine
            for stride in Stride
        ]
    await copied(frame, rows)


@BENCH.test("copy_lanes.durations", "A performance mode changes the time of a copy and no bit of it")
async def durations_are_golden_s(frame):
    """Cycles from command to command for every two dtypes of 8, 16 and 32 bits, in PSUM, with short and long strides,
    gathered, on both engines; against golden's engine_cycles, exactly."""
    rng = pauses.rng("rows")
    rows = []
    for source, result in ((s, r) for s in sum(SIZES.values(), ()) for r in sum(SIZES.values(), ())):
        for engine in Engine:
            mode = rng.random() < 0.5, rng.choice(list(Stride)), rng.random() < 0.2
            for psum, stride, indirect in ((False, Stride.NONE, False), mode):
                count = rng.choice((1, CONFIG.interval, 3 * CONFIG.interval + rng.randint(0, 7)))
                codes = any_codes(rng, source, count)
                rows.append(Row(codes, (source, result), engine, psum, stride, indirect))
    for pair in (("bf16", "e4m3"), ("e5m2", "int16"), ("fp32", "fp16")):
        for mode in product(Engine, (False, True), Stride, (False, True)):
            rows.append(Row(any_codes(rng, pair[0], 3 * CONFIG.interval + 5), pair, *mode))
    for name in FORMATS:
        rows += [Row(any_codes(rng, s, 3 * CONFIG.interval + 5), (s, r)) for s, r in ((name, "bf16"), ("e4m3", name))]
    rng.shuffle(rows)
    rows.append(Row(np.zeros(1, np.int64), ("fp32", "fp32")))
    taken = await copied(frame, rows)
    durations = [after - before for before, after in pairwise(taken)]
    assert durations == [row.cycles(CONFIG) for row in rows[:-1]]
    if CONFIG.interval == 64:
        assert durations == [row.engine_cycles(len(row.codes)) for row in rows[:-1]]


@BENCH.test("copy_lanes.pairs")
async def numbers_near_ties(frame):
    """FP32 numbers of every exponent, half-way between shorter ones and beside that, and at all ends, to every dtype."""
    rng = pauses.rng("numbers")
    rows = [(result, [*near_ties(rng, 1), *(code for _, code in near_boundaries(result, rng))]) for result in FORMATS]
    await copied(frame, [Row(np.array(codes), ("fp32", result), rng.choice(list(Engine))) for result, codes in rows])


@covers("copy_lanes.pairs")
@covers("copy_lanes.tails")
@BENCH.test(
    "copy_lanes.stream",
    "The mode must stay with its row; a word that is half full must stay during a stall",
    pace=list(PACES),
)
async def any_rows(frame, pace):
    """Rows in any mode at full speed, with gaps in commands and words, stalls and both."""
    rng = pauses.rng("rows")
    rows = [any_row(rng, 24, pair) for pair in PAIRS] + [any_row(rng, 60) for _ in range(CASES)]
    rows += [Row(any_codes(rng, "e4m3", count), ("e4m3", "e5m2")) for count in range(1, 9)]
    rng.shuffle(rows)
    await copied(frame, rows, pace, BINS)


@BENCH.test("copy_lanes.refused", "A refused row takes no word", skip=not CONFIG.checks)
async def refused_commands(frame):
    """Every stride and dtype that there is not between rows."""
    rng = pauses.rng("rows")
    wrong = [(Fault.OPERATION, {"mode": {"stride": code}}) for code in unknown(Stride)]
    for code, side in product(unknown(Dtype), ("source", "destination")):
        wrong.append((Fault.DTYPE, {"mode": {"pair": {side: code}}}))
    wrong.append((Fault.OPERATION, {"mode": {"stride": 3, "pair": {"source": 13}}}))
    coverage = frame.coverage(["OPERATION", "DTYPE"])
    lanes, faults = Lanes(frame, 0.2, 0.2), Faults(frame, "command")
    for fault, fields in rng.sample(wrong * 3, 3 * len(wrong)):
        row = any_row(rng, 20)
        lanes.refuse(changed(CopyCommand, row.command, fields))
        lanes.send(row)
        faults.expect(fault, fields)
        faults.expect(Fault.NONE, row)
        coverage.hit(fault.name)
    await lanes.all_taken()


@BENCH.test("copy_lanes.reset", "A word that is half full must be forgotten")
async def resets(frame):
    """Resets in the middle of rows, with and without a stall: no word of them appears, and later rows are whole."""
    rng = pauses.rng("rows")
    dut = frame.dut
    for cycles in (1, 2, 3, 4, 5, 7):
        for ready in (0, 1):
            row = Row(any_codes(rng, "uint8", 40), ("uint8", "int8"), Engine.SCALAR)
            dut.command__payload.value, dut.i__payload.value = row.command, row.words[0]
            dut.command__valid.value, dut.i__valid.value, dut.o__ready.value = 1, 1, ready
            for _ in range(cycles):
                await RisingEdge(dut.clk)
            await frame.reset()
            dut.o__ready.value = ready
            for _ in range(6):
                assert resolved(dut.command__ready), "what was reset is empty, and takes a command"
                assert not resolved(dut.i__ready), "no word is taken without a command"
                assert not resolved(dut.o__valid), "a word of before a reset"
                await RisingEdge(dut.clk)
    lanes = Lanes(frame)
    for _ in range(5):
        lanes.send(any_row(rng, 20))
    await lanes.all_taken()
