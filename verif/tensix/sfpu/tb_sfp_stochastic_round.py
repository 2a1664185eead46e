"""Bench of SFP_STOCH_RND: corners, boundaries, every discarded value, seeds, the sequence of states, random vectors, latency, resets.

Expected values come from golden. ``BITPATH_CASES`` sets the random vectors of a test.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from random import Random

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.formats.catalogue import BF16, FP32, TF32
from bitpath.golden.formats.catalogue import Rounding as Nearest
from bitpath.golden.scalar.rounding import round_to_format, round_to_integer
from bitpath.golden.tensix import Prng, sfp_stoch_rnd
from bitpath.golden.tensix.declarations.formats import Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.sfpu.prng import step
from bitpath.golden.tensix.sfpu.rounding import LARGEST, SIGNED, StochasticMode
from bitpath.rtl.tensix.sfpu.sfp_stochastic_round import STEPS, SfpStochasticRound
from bitpath.rtl.tensix.sfpu.stochastic_round import (
    LANE_BITS,
    LANES,
    LaneWords,
    RandomBits,
    RoundMode,
    RoundRequest,
    SfpStochasticRoundConfig,
)
from bitpath.verif.common.boundary_codes import codes_about, exact_code
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import LIMIT, Pipeline, Request, StreamBench
from bitpath.verif.kit.streams import resolved
from bitpath.verif.kit.testplan import covers
from bitpath.verif.kit.values import codes_text, integer_boundaries, near
from bitpath.verif.tensix.dot.numbers import l1_number

# Instructions and seeds for SFP_STOCH_RND, with golden's results and states.


FLOATS = (RoundMode.FP16A, RoundMode.FP16B)
DISCARDED_BITS = {RoundMode.FP16A: 13, RoundMode.FP16B: 16}
FORMATS = {RoundMode.FP16A: TF32, RoundMode.FP16B: BF16}
"""FP32's exponents with as many fraction bits as a mode keeps."""
EDGES = (0, 1, 125, 126, 127, 133, 134, 135, 141, 142, 143, 144, 254, 255)
"""Exponents next to zero, 0.5, each integer's end, and infinity."""
EDGE_FRACTIONS = (0, 1, 0xFFF, 0x1000, 0x7FFF, 0x8000, 0x3FFFFF, 0x400000, 0x400001, 0x7FFFFE, 0x7FFFFF)


def roundings(numerics: TensixNumerics) -> list[RandomBits]:
    """Return those that a chip has."""
    return [each for each in RandomBits if each is not RandomBits.ZERO or numerics.sfpu_round_to_zero]


def bin_name(mode: RoundMode, rounding: RandomBits) -> str:
    return f"{mode.name}/{rounding.name}"


@dataclass(frozen=True)
class Rounding:
    """An instruction: 32 FP32 codes, mode and rounding."""

    words: tuple[int, ...]
    mode: RoundMode
    rounding: RandomBits

    def request(self, numerics: TensixNumerics, states: np.ndarray) -> Request:
        """Return the request with golden's result for the lanes' states, uint32 [32]."""
        stochastic = self.rounding is RandomBits.STOCHASTIC
        results = sfp_stoch_rnd(
            np.array(self.words, np.uint32),
            self.mode.value,
            rounding=self.rounding.name.lower(),
            bits=states if stochastic else None,
            numerics=numerics,
        )
        fields = {"lanes": list(self.words), "mode": self.mode, "rounding": self.rounding}
        shown = f"{self.mode.name}, {self.rounding.name.lower()}"

        def context(path: str) -> Shown:
            lane = int(path or 0)
            operands = {"instruction": shown, "lane": codes_text(l1_number(Format.FP32), [self.words[lane]])}
            if stochastic:
                operands["random"] = f"{int(states[lane]):#010x}"
            return Shown(operands=operands, formats={})

        return Request(pack(RoundRequest, fields), pack(LaneWords, results.tolist()), context)


class Lanes:
    """States of all lanes beside the unit's: 0 after a reset, golden's after a seed."""

    def __init__(self) -> None:
        self.states = np.zeros(LANES, np.uint32)

    def seed(self, seed: int) -> None:
        self.states = Prng(seed).state

    def step(self) -> np.ndarray:
        """Step; return the states before."""
        before, self.states = self.states, step(self.states)
        return before

    @property
    def bits(self) -> int:
        return pack(LaneWords, self.states.tolist())


def any_word(rng: Random) -> int:
    """Return an FP32 code, most of them near the integers' range or with few fraction bits set or clear."""
    exponent = rng.choice((rng.choice(EDGES), rng.randrange(124, 146), rng.getrandbits(8)))
    fraction = rng.choice((rng.choice(EDGE_FRACTIONS), rng.getrandbits(23), rng.getrandbits(7) << 16))
    return rng.getrandbits(1) << 31 | exponent << 23 | fraction


def any_rounding(
    numerics: TensixNumerics, rng: Random, mode: RoundMode | None = None, rounding: RandomBits | None = None
) -> Rounding:
    """Return random lanes, in a random mode and rounding where none are given."""
    words = tuple(any_word(rng) for _ in range(LANES))
    mode = rng.choice(list(RoundMode)) if mode is None else mode
    return Rounding(words, mode, rng.choice(roundings(numerics)) if rounding is None else rounding)


def vectors(words: list[int], mode: RoundMode, rounding: RandomBits) -> list[Rounding]:
    """Return the words as vectors; the last one is filled up with the first words."""
    filled = words + words[: -len(words) % LANES]
    return [Rounding(tuple(filled[k : k + LANES]), mode, rounding) for k in range(0, len(filled), LANES)]


def corners() -> list[int]:
    """Return both signs of each edge exponent with each edge fraction."""
    return [sign << 31 | each << 23 | fraction for sign in (0, 1) for each in EDGES for fraction in EDGE_FRACTIONS]


def boundary_words(rng: Random, mode: RoundMode) -> Iterator[tuple[int, int, str]]:
    """Yield numbers of either sign at and beside the ties of a mode's results, with one bit at every distance; the result of the
    exact value to nearest, ties away from zero; and the bin.

    No result is denormal, and numbers below 0.5 become the integer 0.
    """
    if mode in FLOATS:
        fmt, dropped = FORMATS[mode], DISCARDED_BITS[mode]
        for each, word in codes_about(fmt, rng, rounding=Nearest.RNA):
            if each.value >= fmt.min_normal:
                sign = rng.getrandbits(1) << 31
                yield sign | word, sign | round_to_format(each.value, fmt, Nearest.RNA) << dropped, each.bin
        return
    largest = LARGEST[StochasticMode[mode.name]]
    for each in near(partial(integer_boundaries, 0, largest), rng, range(2, FP32.precision + 1), Nearest.RNA):
        word = exact_code(each.value, FP32) if each.value > 0 else None
        if word is not None:
            sign = rng.getrandbits(1) << 31
            magnitude = min(round_to_integer(each.value, Nearest.RNA), largest)
            negative = sign if magnitude and StochasticMode[mode.name] in SIGNED else 0
            yield sign | word, negative | magnitude, each.bin


def boundary_bins() -> list[str]:
    """Return those that numbers reach: of floats without the ones below the smallest normal, of integers above zero."""
    names = {mode: {name for _, _, name in boundary_words(Random(0), mode)} for mode in RoundMode}
    return [f"{mode.name}/{name}" for mode, each in names.items() for name in sorted(each)]


def every_discard(rng: Random, mode: RoundMode) -> list[int]:
    """Return a number for each value of the discarded bits, of a random sign, exponent and kept fraction."""
    count = DISCARDED_BITS[mode]
    upper = [rng.getrandbits(1) << 31 | rng.randrange(1, 255) << 23 | rng.getrandbits(23) for _ in range(1 << count)]
    return [word >> count << count | discarded for discarded, word in enumerate(upper)]


def any_seed(rng: Random) -> int:
    return rng.choice((0, 1, (1 << LANE_BITS) - 1, rng.getrandbits(LANE_BITS)))


def draw(kinds: Sequence[tuple[RoundMode, RandomBits]], rng: Random) -> list[Request]:
    """Return random vectors for lanes whose states are those of a reset."""
    return with_golden([any_rounding(NUMERICS, rng, *kind) for kind in kinds], Lanes())


NUMERICS = config_from_environment(SfpStochasticRoundConfig).numerics
LATENCY = SfpStochasticRound.LATENCY
KINDS = list(product(RoundMode, roundings(NUMERICS)))
BENCH = StreamBench(
    __name__,
    SfpStochasticRoundConfig,
    SfpStochasticRound,
    KINDS,
    draw,
    lambda kind: (bin_name(*kind),),
    LATENCY,
    default_cases=300,
    draws="vectors",
)
SIGNATURE = BENCH.unit.signature
random_vectors, latency = BENCH.random("random_vectors"), BENCH.timing()[0]
covers(
    "sfp_stochastic_round.stream",
    "Each request carries its own mode; a reset ends a seed and clears the states",
    "Every mode and rounding in any order, full speed, gaps, stalls and both; latency; resets, also in the middle of a seed",
    random_vectors,
    latency,
)
SEQUENCE = int(os.environ.get("BITPATH_SEQUENCE", "10000"))
"""Steps of the sequence of states."""
EACH_FLOAT = [cocotb.Param(value=mode.value, name=mode.name) for mode in FLOATS]


def ready(dut) -> tuple[int, int]:
    """Return whether the unit takes an instruction, and a seed."""
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


@covers("sfp_stochastic_round.stream")
@cocotb.test(**LIMIT)
async def resets(dut):
    """Reset with results in the output register, and in the middle of a seed; the states are 0 behind it."""
    rng = pauses.rng("vectors")
    async with bench(dut, SIGNATURE, drain=False) as frame:
        pipeline = Pipeline(frame, LATENCY)
        await pipeline.resets(lambda: draw(rng.choices(KINDS, k=3), rng))
        for cycles in (1, 33, STEPS - 1):
            dut.seed__valid.value, dut.seed__payload.value = 1, rng.getrandbits(LANE_BITS)
            for _ in range(cycles):
                await RisingEdge(dut.clk)
            dut.seed__valid.value = 0
            await frame.reset()
            await pipeline.one_at_a_time(draw(rng.choices(KINDS, k=3), rng))
