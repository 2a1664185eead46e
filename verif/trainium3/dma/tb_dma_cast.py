"""Bench of the cast of a DMA engine: every code of 8 and 16 bits, limits of all dtypes, random beats, latency, resets.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random beats of a test. A code of 16 bits
meets each destination with ``BITPATH_EVERY=1``, else one of them.
"""

import os
from collections.abc import Sequence
from random import Random

import cocotb
import numpy as np

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.codec import decode
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, container_bits
from bitpath.rtl.trainium3.dma.dma_cast import DmaCast, DmaCastConfig
from bitpath.rtl.trainium3.dma.dtype import Dtype
from bitpath.rtl.trainium3.faults import Fault
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench
from bitpath.verif.kit.coverage import Coverage
from bitpath.verif.kit.pipeline import LIMIT, Made, Request, StreamBench
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.dma.dma_cast import PAIRS, any_codes, elements, near_ties, requests
from bitpath.verif.trainium3.dtype_words import corners, near_boundaries
from bitpath.verif.trainium3.refusals import refuse_among, unknown

EVERY = "BITPATH_EVERY" in os.environ


def beats_of(codes, pair):
    return requests(codes, pair, CONFIG.beat_bytes)


def draw(pairs: Sequence[tuple[str, str]], rng: Random) -> list[Request]:
    size = BENCH.config.beat_bytes
    return [beat for pair in pairs for beat in beats_of(any_codes(rng, pair[0], elements(pair, size)), pair)]


BENCH = StreamBench(__name__, DmaCastConfig, DmaCast, PAIRS, draw, default_cases=500, draws="beats")
CONFIG = BENCH.config
random_beats_of_all_pairs, latency, resets = BENCH.tests("random_beats_of_all_pairs")
covers(
    "dma_cast.stream",
    "A DMA engine keeps its rate with a cast",
    "All pairs in any order at full speed, with gaps, stalls and both; a beat a cycle; latency is the number of stages",
    random_beats_of_all_pairs,
    latency,
)
covers(
    "dma_cast.reset",
    "Data registers have no reset; only the valid bits hide their contents",
    "Resets with beats in some and in all pipeline stages, with and without a stall: no result of them appears, and later ones do",
    resets,
)


@covers("dma_cast.codes", "A cast passes FP32 twice: a rounding or a special lost on either side shows in some code")
@covers("dma_cast.stream")
@BENCH.sweep(source=[name for name in FORMATS if container_bits(name) <= 16])
def every_code(source) -> Made:
    """All codes of the five dtypes of 8 bits to all 13, and of the four of 16 bits, each to one of the 13 or, in a deep
    test, to all."""
    codes = np.arange(1 << container_bits(source))
    each = EVERY or container_bits(source) == 8
    sent = []
    for number, destination in enumerate(FORMATS):
        part = codes if each else codes[number :: len(FORMATS)]
        sent += beats_of(part, (source, destination))
    return sent


@covers(
    "dma_cast.limits",
    "Integers saturate, floats overflow to infinity or NaN, INT32 and UINT32 round, and TF32 rounds when it is read",
)
@BENCH.sweep()
def limits_of_every_pair() -> Made:
    """In all 169 pairs the ends, zeros, subnormals, infinities and NaNs of the source, and numbers at the ends of the
    destination; FP32 numbers of every exponent half-way between two results and beside it."""
    sent = []
    for pair in PAIRS:
        codes, count = np.array(corners(pair[0])), elements(pair, CONFIG.beat_bytes)
        codes = np.pad(codes, (0, -len(codes) % count), "wrap")
        sent += [beat for place in range(count) for beat in beats_of(np.roll(codes, place), pair)]
    names = [f"pair/{source}_{destination}" for source, destination in PAIRS]
    return sent, Coverage(names, names)


@covers("dma_cast.limits")
@BENCH.sweep(source=["fp32", "tf32"])
def numbers_near_ties(source) -> Made:
    """Numbers of every exponent, half-way between shorter ones and beside that, to every dtype."""
    rng, sent = pauses.rng("numbers"), []
    for destination in FORMATS:
        sent += beats_of(near_ties(rng, 1 + BENCH.cases // 50), (source, destination))
    return sent


@covers(
    "dma_cast.boundaries",
    "A sticky bit lost at one end of the range shows only where a far term breaks a tie there",
)
@BENCH.sweep()
def boundaries_of_every_dtype() -> Made:
    """FP32 numbers at the ends of each destination's range, at its ties and its results, and one bit beside them at
    every distance."""
    rng = pauses.rng("numbers")
    numbers = {name: list(near_boundaries(name, rng)) for name in FORMATS if name != "fp32"}
    # FP32 has not every integer of 32 bits, so there the random ones have no bins.
    binned = [(name, *each) for name in sorted(numbers.keys() - {"int32", "uint32"}) for each in numbers[name]]
    held = (each for each in binned if abs(decode(FP32, each[2]).value) == abs(each[1].value))
    names = ([f"{name}/{each.boundary.name}" for name, each, _ in some] for some in (binned, held))
    codes = {name: np.array([code for _, code in found]) for name, found in numbers.items()}
    return [each for name, some in codes.items() for each in beats_of(some, ("fp32", name))], Coverage(*names)


@covers("dma_cast.refused", "A code without a dtype would be cast as another one is")
@cocotb.test(**LIMIT, skip=not (CONFIG.checks and BENCH.latency))
async def refused_beats(dut):
    """Beats with an unknown dtype on either side or on both, among others."""
    rng = pauses.rng("refused")
    sent, codes = [], unknown(Dtype)
    for pair in rng.sample(PAIRS, 60):
        sent += beats_of(any_codes(rng, pair[0], elements(pair, CONFIG.beat_bytes)), pair)
    wrong = [(Fault.DTYPE, {"pair": {side: code}}) for side in ("source", "destination") for code in codes] * 4
    wrong += [(Fault.DTYPE, {"pair": {"source": code, "destination": other}}) for code in codes for other in codes]
    async with bench(dut, BENCH.unit.signature) as frame:
        await refuse_among(frame, sent, wrong, rng)
