"""Bench of the cast of a DMA engine: every code of 8 and 16 bits, limits of all dtypes, random beats, latency, resets.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random beats of a test. A code of 16 bits
meets each destination with ``BITPATH_EVERY=1``, else one of them.
"""

import os

import cocotb
import numpy as np

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.codec import decode
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, container_bits
from bitpath.rtl.trainium3.dma.dma_cast import DmaCast, DmaCastConfig
from bitpath.rtl.trainium3.dma.dtype import Dtype
from bitpath.rtl.trainium3.faults import Fault
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.pipeline import PACES, Pipeline
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.dma.dma_cast import PAIRS, any_codes, elements, near_ties, requests
from bitpath.verif.trainium3.dtype_words import corners, near_boundaries
from bitpath.verif.trainium3.refusals import refuse_among, unknown

CONFIG = config_from_environment(DmaCastConfig)
STAGES = CONFIG.pipeline.stages
SIGNATURE = DmaCast(CONFIG).signature
CASES = int(os.environ.get("BITPATH_CASES", "500"))
EVERY = "BITPATH_EVERY" in os.environ
LIMIT = {"timeout_time": 100, "timeout_unit": "ms"}


def beats_of(codes, pair):
    return requests(codes, pair, CONFIG.beat_bytes)


@covers("dma_cast.codes", "A cast passes FP32 twice: a rounding or a special lost on either side shows in some code")
@covers("dma_cast.stream")
@cocotb.test(**LIMIT)
@cocotb.parametrize(source=[name for name in FORMATS if container_bits(name) <= 16])
async def every_code(dut, source):
    """All codes of the five dtypes of 8 bits to all 13, and of the four of 16 bits, each to one of the 13 or, in a deep
    test, to all."""
    codes = np.arange(1 << container_bits(source))
    each = EVERY or container_bits(source) == 8
    sent = []
    for number, destination in enumerate(FORMATS):
        part = codes if each else codes[number :: len(FORMATS)]
        sent += beats_of(part, (source, destination))
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, STAGES).sweep(sent)


@covers(
    "dma_cast.limits",
    "Integers saturate, floats overflow to infinity or NaN, INT32 and UINT32 round, and TF32 rounds when it is read",
)
@cocotb.test(**LIMIT)
async def limits_of_every_pair(dut):
    """In all 169 pairs the ends, zeros, subnormals, infinities and NaNs of the source, and numbers at the ends of the
    destination; FP32 numbers of every exponent half-way between two results and beside it."""
    async with bench(dut, SIGNATURE, drain=False) as frame:
        coverage = frame.coverage(f"pair/{source}_{destination}" for source, destination in PAIRS)
        sent = []
        for pair in PAIRS:
            codes, count = np.array(corners(pair[0])), elements(pair, CONFIG.beat_bytes)
            codes = np.pad(codes, (0, -len(codes) % count), "wrap")
            sent += [beat for place in range(count) for beat in beats_of(np.roll(codes, place), pair)]
            coverage.hit("pair/{}_{}".format(*pair))
        await Pipeline(frame, STAGES).sweep(sent)


@covers("dma_cast.limits")
@cocotb.test(**LIMIT)
@cocotb.parametrize(source=["fp32", "tf32"])
async def numbers_near_ties(dut, source):
    """Numbers of every exponent, half-way between shorter ones and beside that, to every dtype."""
    rng, sent = pauses.rng("numbers"), []
    for destination in FORMATS:
        sent += beats_of(near_ties(rng, 1 + CASES // 50), (source, destination))
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, STAGES).sweep(sent)


@covers(
    "dma_cast.boundaries",
    "A sticky bit lost at one end of the range shows only where a far term breaks a tie there",
)
@cocotb.test(**LIMIT)
async def boundaries_of_every_dtype(dut):
    """FP32 numbers at the ends of each destination's range, at its ties and its results, and one bit beside them at
    every distance."""
    rng = pauses.rng("numbers")
    numbers = {name: list(near_boundaries(name, rng)) for name in FORMATS if name != "fp32"}
    # FP32 has not every integer of 32 bits, so there the random ones have no bins.
    binned = numbers.keys() - {"int32", "uint32"}
    async with bench(dut, SIGNATURE, drain=False) as frame:
        coverage = frame.coverage(
            {f"{name}/{each.boundary.name}": 0 for name in sorted(binned) for each, _ in numbers[name]}
        )
        sent = []
        for name, found in numbers.items():
            for each, code in found if name in binned else ():
                if abs(decode(FP32, code).value) == abs(each.value):
                    coverage.hit(f"{name}/{each.boundary.name}")
            sent += beats_of(np.array([code for _, code in found]), ("fp32", name))
        await Pipeline(frame, STAGES).sweep(sent)


@covers("dma_cast.stream", "A DMA engine keeps its rate with a cast")
@cocotb.test(**LIMIT)
@cocotb.parametrize(pace=list(PACES))
async def random_beats_of_all_pairs(dut, pace):
    """All pairs in any order at full speed, with gaps, stalls and both; a beat a cycle; latency is the number of
    stages."""
    rng = pauses.rng("beats")
    sent = []
    for number in range(CASES):
        pair = PAIRS[number] if number < len(PAIRS) else rng.choice(PAIRS)
        sent += beats_of(any_codes(rng, pair[0], elements(pair, CONFIG.beat_bytes)), pair)
    rng.shuffle(sent)
    async with bench(dut, SIGNATURE) as frame:
        await Pipeline(frame, STAGES).exchange(sent, pace)


def some(count):
    rng = pauses.rng("beats")
    pairs = [rng.choice(PAIRS) for _ in range(count)]
    return [
        beat for pair in pairs for beat in beats_of(any_codes(rng, pair[0], elements(pair, CONFIG.beat_bytes)), pair)
    ]


@covers("dma_cast.stream")
@cocotb.test(**LIMIT)
async def latency_is_the_number_of_stages(dut):
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, STAGES).one_at_a_time(some(20))


@covers("dma_cast.refused", "A code without a dtype would be cast as another one is")
@cocotb.test(**LIMIT, skip=not (CONFIG.checks and STAGES))
async def refused_beats(dut):
    """Beats with an unknown dtype on either side or on both, among others."""
    rng = pauses.rng("refused")
    sent, codes = [], unknown(Dtype)
    for pair in rng.sample(PAIRS, 60):
        sent += beats_of(any_codes(rng, pair[0], elements(pair, CONFIG.beat_bytes)), pair)
    wrong = [(Fault.DTYPE, {"pair": {side: code}}) for side in ("source", "destination") for code in codes] * 4
    wrong += [(Fault.DTYPE, {"pair": {"source": code, "destination": other}}) for code in codes for other in codes]
    async with bench(dut, SIGNATURE) as frame:
        await refuse_among(frame, sent, wrong, rng)


@covers("dma_cast.reset", "Data registers have no reset; only the valid bits hide their contents")
@cocotb.test(**LIMIT, skip=not STAGES)
async def resets(dut):
    """Resets with beats in some and in all pipeline stages, with and without a stall: no result of them appears, and
    later ones do."""
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, STAGES).resets(lambda: some(2))
