"""Bench of a chain of multiply-accumulates: products whose K is split over the stages, in every format, at every pace.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the words of a test, which are
those of one product of each format at least.
"""

import os

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.aie_ml_v2.declarations.codes import CASCADE_BITS, CASCADE_DEPTH
from bitpath.rtl.aie_ml_v2.cascade.cascade import Cascade
from bitpath.rtl.aie_ml_v2.cascade.config import CascadeConfig
from bitpath.verif.aie_ml_v2.cascade.cascade import FORMATS, Chained, chained
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import Bench, bench, config_from_environment
from bitpath.verif.kit.pipeline import PACES
from bitpath.verif.kit.streams import resolved

CONFIG = config_from_environment(CascadeConfig)
SIGNATURE = Cascade(CONFIG).signature
CASES = int(os.environ.get("BITPATH_CASES", "100"))
WORDS = 8
"""Of most products."""
LATENESS = 60
"""Cycles that a stage adds: its latency, the link's, and waits for a free write of the accumulators."""
LIMIT = {"timeout_time": 2, "timeout_unit": "ms"}


def play(frame: Bench, products: list[Chained], pace: str) -> None:
    """Send the products' beats and what comes from outside, each stage and end with pauses of its own, and expect the
    words."""
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
        for word in product.words:
            board.expect(word, (index, product.fmt))


@cocotb.test(**LIMIT)
@cocotb.parametrize(pace=list(PACES))
async def split_products(dut, pace):
    """Every format, with one to three steps of K a stage, and with none, one or two that come from outside."""
    rng = pauses.rng("products")
    formats = [*FORMATS, *rng.choices(FORMATS, k=max(0, CASES // WORDS - len(FORMATS)))]
    rng.shuffle(formats)
    products = [chained(CONFIG, fmt, rng.randint(1, 3), rng, before=rng.randint(0, 2)) for fmt in formats]
    async with bench(dut, SIGNATURE) as frame:
        coverage = frame.coverage(FORMATS)
        for fmt in formats:
            coverage.hit(fmt)
        play(frame, products, pace)


@cocotb.test(**LIMIT)
@cocotb.parametrize(stage=list(range(CONFIG.stages)))
async def one_late_stage(dut, stage):
    """All but one stage have their beats: the links before it fill, those behind it are empty, and nothing is lost."""
    rng = pauses.rng("products")
    product = chained(CONFIG, "mx6", 1, rng, tiles=(2, 2))
    assert len(product.words) > 2 * CASCADE_DEPTH + CONFIG.mac.parts, "the words fit the link and the accumulators"
    async with bench(dut, SIGNATURE) as frame:
        drivers = [frame.driver(f"i_{each}") for each in range(CONFIG.stages)]
        board = frame.check_stream("o")
        for word in product.words:
            board.expect(word, stage)
        for each in range(CONFIG.stages):
            if each != stage:
                for bits in product.stages[each]:
                    drivers[each].send_bits(bits)
        for _ in range(200):
            await FallingEdge(dut.clk)
        assert board.compared == 0
        for bits in product.stages[stage]:
            drivers[stage].send_bits(bits)


@cocotb.test(**LIMIT)
async def full_speed(dut):
    """The chain as a whole takes little longer than one stage by itself would: stages work at the same time."""
    rng = pauses.rng("products")
    product = chained(CONFIG, "mx9", 4, rng, tiles=(2, 3))
    beats = len(product.stages[0])
    cycles = 0
    async with bench(dut, SIGNATURE) as frame:
        play(frame, [product], "full_speed")
        (board,) = frame.scoreboards
        while board.pending and cycles < 10 * beats:
            await FallingEdge(dut.clk)
            cycles += 1
        cocotb.log.info(f"{cycles} cycles for {beats} beats of each of {CONFIG.stages} stages")
        assert cycles <= beats + CONFIG.stages * LATENESS


@cocotb.test(**LIMIT)
async def back_pressure(dut):
    """With nothing taken at the end, what the last stage has sent stays, and all else comes after."""
    rng = pauses.rng("products")
    product = chained(CONFIG, "int8", 1, rng)
    async with bench(dut, SIGNATURE) as frame:
        for stage, beats in enumerate(product.stages):
            driver = frame.driver(f"i_{stage}")
            for bits in beats:
                driver.send_bits(bits)
        for _ in range(20 * CONFIG.stages):
            await FallingEdge(dut.clk)
        assert resolved(dut.o__valid)
        assert resolved(dut.o__payload) == product.words[0]
        board = frame.scoreboard("o", CASCADE_BITS)
        for word in product.words:
            board.expect(word)
        await RisingEdge(dut.clk)
        frame.monitor("o", board.got)
