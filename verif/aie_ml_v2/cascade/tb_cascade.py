"""Bench of the cascade: products whose K is split over the stages, in every format, at every pace.

Golden computes the expected values first.
"""

from functools import partial

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.aie_ml_v2.declarations.codes import CASCADE_BITS, CASCADE_DEPTH
from bitpath.rtl.aie_ml_v2.cascade.cascade import Cascade, CascadeConfig
from bitpath.verif.aie_ml_v2.cascade.cascade import FORMATS, Chained, chained
from bitpath.verif.kit.unit_bench import PACES, Bench, Scoreboard, UnitBench, cases, pauses, resolved

BENCH = UnitBench(Cascade, CascadeConfig, ms=2)
CONFIG = BENCH.config
CASES = cases(100)
WORDS = 8
"""Words of a typical product."""
LATENESS = 60
"""Cycles that a stage adds: its latency, the link's, and waits for a free write of the accumulators."""


def expect(board: Scoreboard, product: Chained, before: str = "") -> None:
    """Expect all words of a product; a mismatch shows the last step of the lane that differs."""
    for index, word in enumerate(product.words):
        board.expect(word, partial(product.shown, index, before))


def play(frame: Bench, products: list[Chained], pace: str) -> None:
    """Drive beats and external partial sums, each stream with its own pauses, and expect the results."""
    gaps, stalls = PACES[pace]
    drivers = [frame.driver(f"i_{stage}", gaps()) for stage in range(CONFIG.stages)]
    before = frame.driver("before", gaps())
    board = frame.check_stream("o", stalls=stalls())
    for index, product in enumerate(products):
        for driver, beats in zip(drivers, product.stages, strict=True):
            for bits in beats:
                driver.send_bits(bits)
        for bits in product.before:
            before.send_bits(bits)
        expect(board, product, f"product {index} of the test, ")


@BENCH.test(
    "cascade.products", "The sum must equal that of a single accumulator, regardless of stalls", pace=list(PACES)
)
async def split_products(frame, pace):
    """Products of every format with K split over the stages, with and without a partial sum from outside, at full
    speed, with gaps, with stalls and with both; each stream pauses independently."""
    rng = pauses.rng("products")
    formats = [*FORMATS, *rng.choices(FORMATS, k=max(0, CASES // WORDS - len(FORMATS)))]
    rng.shuffle(formats)
    products = [chained(CONFIG, fmt, rng.randint(1, 3), rng, before=rng.randint(0, 2)) for fmt in formats]
    coverage = frame.coverage(FORMATS)
    for fmt in formats:
        coverage.hit(fmt)
    play(frame, products, pace)


@BENCH.test("cascade.late", "A word that is overwritten before it is sent is lost", stage=list(range(CONFIG.stages)))
async def one_late_stage(frame, stage):
    """Each stage in turn gets its beats last, with more words in flight than links and accumulators hold."""
    rng = pauses.rng("products")
    product = chained(CONFIG, "mx6", 1, rng, tiles=(2, 2))
    assert len(product.words) > 2 * CASCADE_DEPTH + CONFIG.mac.parts, (
        "too few words to fill the link and the accumulators"
    )
    drivers = [frame.driver(f"i_{each}") for each in range(CONFIG.stages)]
    board = frame.check_stream("o")
    expect(board, product)
    for each in range(CONFIG.stages):
        if each != stage:
            for bits in product.stages[each]:
                drivers[each].send_bits(bits)
    for _ in range(200):
        await FallingEdge(frame.dut.clk)
    assert board.compared == 0
    for bits in product.stages[stage]:
        drivers[stage].send_bits(bits)


@BENCH.test("cascade.pace", "The stages must work in parallel")
async def full_speed(frame):
    """A chain takes one cycle for each beat of a stage, plus a bounded latency for each stage."""
    rng = pauses.rng("products")
    product = chained(CONFIG, "mx9", 4, rng, tiles=(2, 3))
    beats = len(product.stages[0])
    cycles = 0
    play(frame, [product], "full_speed")
    (board,) = frame.scoreboards
    while board.pending and cycles < 10 * beats:
        await FallingEdge(frame.dut.clk)
        cycles += 1
    cocotb.log.info(f"{cycles} cycles for {beats} beats of each of {CONFIG.stages} stages")
    assert cycles <= beats + CONFIG.stages * LATENESS


@BENCH.test("cascade.back_pressure", "AM027: a full FIFO stalls the sender")
async def back_pressure(frame):
    """Without o.ready the first word stays valid, and all others follow it."""
    rng = pauses.rng("products")
    product = chained(CONFIG, "int8", 1, rng)
    dut = frame.dut
    for stage, beats in enumerate(product.stages):
        driver = frame.driver(f"i_{stage}")
        for bits in beats:
            driver.send_bits(bits)
    for _ in range(20 * CONFIG.stages):
        await FallingEdge(dut.clk)
    assert resolved(dut.o__valid)
    assert resolved(dut.o__payload) == product.words[0]
    board = frame.scoreboard("o", CASCADE_BITS)
    expect(board, product)
    await RisingEdge(dut.clk)
    frame.monitor("o", board.got)
