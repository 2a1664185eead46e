"""Bench of SFP_STOCH_RND: corners, boundaries, every discarded value, seeds, the sequence of states, random vectors, latency, resets.

Expected values come from golden. ``BITPATH_CASES`` sets the random vectors of a test.
"""

import os
from itertools import product

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.tensix import sfp_stoch_rnd
from bitpath.rtl.tensix.vector.sfp_stochastic_round import STEPS, SfpStochasticRound
from bitpath.rtl.tensix.vector.stochastic_round import (
    LANE_BITS,
    LaneWords,
    RandomBits,
    RoundMode,
    SfpStochasticRoundConfig,
)
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.pipeline import PACES, Pipeline
from bitpath.verif.kit.streams import resolved
from bitpath.verif.kit.testplan import covers
from bitpath.verif.tensix.vector.rounding import (
    FLOATS,
    Lanes,
    any_rounding,
    any_seed,
    bin_name,
    boundary_bins,
    boundary_words,
    corners,
    every_discard,
    roundings,
    vectors,
)

CONFIG = config_from_environment(SfpStochasticRoundConfig)
NUMERICS = CONFIG.numerics
LATENCY = SfpStochasticRound.LATENCY
SIGNATURE = SfpStochasticRound(CONFIG).signature
CASES = int(os.environ.get("BITPATH_CASES", "300"))
LIMIT = {"timeout_time": 100, "timeout_unit": "ms"}
SEQUENCE = int(os.environ.get("BITPATH_SEQUENCE", "10000"))
"""Steps of the sequence of states."""
KINDS = list(product(RoundMode, roundings(NUMERICS)))
EACH_FLOAT = [cocotb.Param(value=mode.value, name=mode.name) for mode in FLOATS]


def ready(dut) -> tuple[int, int]:
    """Whether the unit takes an instruction, and a seed."""
    return resolved(dut.i__ready), resolved(dut.seed__ready)


async def write_seed(dut, lanes: Lanes, seed: int) -> None:
    """Write a seed between instructions; nothing is taken until all lanes have their states."""
    dut.seed__valid.value, dut.seed__payload.value = 1, seed
    await FallingEdge(dut.clk)
    assert resolved(dut.seed__ready)
    await RisingEdge(dut.clk)
    dut.seed__valid.value = 0
    dut.seed__payload.value = ~seed & (1 << LANE_BITS) - 1
    for cycle in range(STEPS):
        await FallingEdge(dut.clk)
        assert ready(dut) == (0, 0), f"{cycle} cycles behind a seed"
        await RisingEdge(dut.clk)
    await FallingEdge(dut.clk)
    assert ready(dut) == (1, 1), f"{STEPS} cycles behind a seed"
    lanes.seed(seed)


async def seeded(frame, lanes: Lanes, seed: int) -> None:
    """Write a seed and compare the states."""
    frame.dut.o__ready.value = 1
    await RisingEdge(frame.dut.clk)
    await write_seed(frame.dut, lanes, seed)
    states = frame.scoreboard("states", LaneWords)
    states.expect(lanes.bits, f"seed {seed:#010x}")
    states.got(resolved(frame.dut.states))


def with_golden(items, lanes: Lanes) -> list:
    return [item.request(NUMERICS, lanes.step()) for item in items]


@covers(
    "sfp_stochastic_round.edges",
    "0.5, the integers' ends, zeros, denormals, infinity and NaN each have a rule of their own",
)
@cocotb.test(**LIMIT)
async def edges(dut):
    """Exponents and fractions next to every bound, both signs, in each mode and rounding."""
    lanes = Lanes()
    async with bench(dut, SIGNATURE, drain=False) as frame:
        coverage = frame.coverage(bin_name(*kind) for kind in KINDS)
        await seeded(frame, lanes, 0x5EED)
        sent = []
        for kind in KINDS:
            coverage.hit(bin_name(*kind))
            sent += with_golden(vectors(corners(), *kind), lanes)
        await Pipeline(frame, LATENCY).sweep(sent)


@covers("sfp_stochastic_round.boundaries", "Integers discard up to 23 bits, and the lowest one alone may decide")
@cocotb.test(**LIMIT)
async def range_boundaries(dut):
    """Ties of each mode at the smallest normal number, the next binade and overflow, of integers at zero and the
    largest, even and odd; one bit beside them at every distance; every rounding."""
    rng, lanes = pauses.rng("boundaries"), Lanes()
    async with bench(dut, SIGNATURE, drain=False) as frame:
        coverage = frame.coverage(boundary_bins())
        await seeded(frame, lanes, rng.getrandbits(LANE_BITS))
        sent = []
        for mode in RoundMode:
            words, exact, names = zip(*boundary_words(rng, mode), strict=True)
            nearest = sfp_stoch_rnd(np.array(words, np.uint32), mode.value, numerics=NUMERICS)
            for result, stated, name in zip(nearest.tolist(), exact, names, strict=True):
                if result == stated:
                    coverage.hit(mode.name, name)
            for rounding in roundings(NUMERICS):
                sent += with_golden(vectors(list(words), mode, rounding), lanes)
        await Pipeline(frame, LATENCY).sweep(sent)


@covers(
    "sfp_stochastic_round.discards",
    "The comparison is with the top random bits; its ties and ends are single values",
)
@cocotb.test(**LIMIT)
@cocotb.parametrize(mode=EACH_FLOAT)
async def every_discarded_value(dut, mode):
    """Every value of the discarded 13 or 16 bits in each rounding, stochastically with other random bits in each lane."""
    rng, lanes, mode = pauses.rng("discards"), Lanes(), RoundMode(mode)
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await seeded(frame, lanes, rng.getrandbits(LANE_BITS))
        sent = []
        for rounding in [*roundings(NUMERICS), RandomBits.STOCHASTIC]:
            sent += with_golden(vectors(every_discard(rng, mode), mode, rounding), lanes)
        await Pipeline(frame, LATENCY).sweep(sent)


@covers(
    "sfp_stochastic_round.seeds",
    "Lanes get their states from lane 31 on, two steps apart, after 32 steps; an instruction of the seed's cycle "
    "has the old ones",
)
@cocotb.test(**LIMIT)
async def seeds(dut):
    """The states of all lanes behind seeds of zeros, of ones and others; a seed beside an instruction."""
    rng, lanes = pauses.rng("seeds"), Lanes()
    async with bench(dut, SIGNATURE, drain=False) as frame:
        for seed in (0, 1, (1 << LANE_BITS) - 1, 1 << LANE_BITS - 1, *(rng.getrandbits(LANE_BITS) for _ in range(6))):
            await seeded(frame, lanes, seed)


@covers("sfp_stochastic_round.sequence", "An instruction steps all lanes once, and a stalled one not at all")
@cocotb.test(**LIMIT)
async def sequence(dut):
    """The states of all lanes over 10,000 instructions, stochastic or not, with gaps and stalls."""
    rng, lanes = pauses.rng("sequence"), Lanes()
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await seeded(frame, lanes, rng.getrandbits(LANE_BITS))
        states = frame.scoreboard("sequence", LaneWords, output="states")
        taken = 0
        while taken < SEQUENCE:
            await RisingEdge(dut.clk)
            dut.i__valid.value, dut.o__ready.value = rng.random() < 0.9, rng.random() < 0.9
            await FallingEdge(dut.clk)
            states.expect(lanes.bits, f"after {taken} steps")
            states.got(resolved(dut.states))
            if resolved(dut.i__valid) and resolved(dut.i__ready):
                taken += 1
                lanes.step()
        await RisingEdge(dut.clk)
        dut.i__valid.value = 0


@covers("sfp_stochastic_round.seeds")
@cocotb.test(**LIMIT)
async def a_seed_beside_an_instruction(dut):
    """An instruction of the seed's cycle has the states before it; the next one has to wait for those of the seed."""
    rng, lanes = pauses.rng("seeds"), Lanes()
    async with bench(dut, SIGNATURE, drain=False) as frame:
        board = frame.scoreboard("o", LaneWords)
        dut.o__ready.value = 1
        for _ in range(10):
            seed = any_seed(rng)
            await RisingEdge(dut.clk)
            first = any_rounding(NUMERICS, rng).request(NUMERICS, lanes.step())
            dut.i__valid.value, dut.i__payload.value = 1, first.payload
            dut.seed__valid.value, dut.seed__payload.value = 1, seed
            await FallingEdge(dut.clk)
            assert ready(dut) == (1, 1)
            lanes.seed(seed)
            second = any_rounding(NUMERICS, rng).request(NUMERICS, lanes.step())
            for each in (first, second):
                board.expect(each.expected, each.shown)
            await RisingEdge(dut.clk)
            dut.seed__valid.value, dut.i__payload.value = 0, second.payload
            for cycle in range(STEPS + 2):
                await FallingEdge(dut.clk)
                assert resolved(dut.o__valid) == (cycle in (0, STEPS + 1))
                if resolved(dut.o__valid):
                    board.got(resolved(dut.o__payload))
                await RisingEdge(dut.clk)
                if cycle == STEPS:
                    dut.i__valid.value = 0


@covers("sfp_stochastic_round.stream", "Each request carries its own mode; a reset ends a seed and clears the states")
@cocotb.test(**LIMIT)
@cocotb.parametrize(pace=list(PACES))
async def random_vectors(dut, pace):
    """Every mode and rounding in any order, full speed, gaps, stalls and both; latency; resets, also in the middle of a
    seed."""
    rng, lanes = pauses.rng("vectors"), Lanes()
    async with bench(dut, SIGNATURE) as frame:
        coverage = frame.coverage(bin_name(*kind) for kind in KINDS)
        items = [any_rounding(NUMERICS, rng, *kind) for kind in KINDS]
        items += [any_rounding(NUMERICS, rng) for _ in range(CASES - len(items))]
        for item in items:
            coverage.hit(bin_name(item.mode, item.rounding))
        await Pipeline(frame, LATENCY).exchange(with_golden(items, lanes), pace)


@covers("sfp_stochastic_round.stream")
@cocotb.test(**LIMIT)
async def latency(dut):
    rng, lanes = pauses.rng("vectors"), Lanes()
    sent = with_golden([any_rounding(NUMERICS, rng) for _ in range(20)], lanes)
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, LATENCY).one_at_a_time(sent)


@covers("sfp_stochastic_round.stream")
@cocotb.test(**LIMIT)
async def resets(dut):
    """Reset with results in the output register, and in the middle of a seed; the states are 0 behind it."""
    rng, lanes = pauses.rng("vectors"), Lanes()

    def batch() -> list:
        lanes.restart()
        return with_golden([any_rounding(NUMERICS, rng) for _ in range(3)], lanes)

    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, LATENCY).resets(batch)
        for cycles in (1, 33, STEPS - 1):
            dut.seed__valid.value, dut.seed__payload.value = 1, rng.getrandbits(LANE_BITS)
            for _ in range(cycles):
                await RisingEdge(dut.clk)
            dut.seed__valid.value = 0
            await frame.reset()
            await Pipeline(frame, LATENCY).one_at_a_time(batch())
