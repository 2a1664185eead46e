"""Bench of the exponential: directed arguments, every BF16 code, rows with their sums, random beats at every pace,
latency, resets.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random beats of a test.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from random import Random

import cocotb
import numpy as np

from bitpath.golden import trainium3
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, FP32, FloatFormat
from bitpath.golden.trainium3.declarations.vector import ExponentialNumerics
from bitpath.golden.trainium3.exact import exponential
from bitpath.golden.trainium3.vector.activation import exponential_of
from bitpath.golden.trainium3.vector.engine import serial_sum
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.vector.exponential import Exponential, ExponentialConfig, Reduce, Source
from bitpath.verif.common.fp32 import numbers as fp32
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench
from bitpath.verif.kit.coverage import Coverage, cross
from bitpath.verif.kit.packing import unpack
from bitpath.verif.kit.pipeline import LIMIT, Made, Request, StreamBench
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.refusals import refuse_among, unknown
from bitpath.verif.trainium3.vector.exponential import (
    ADDING,
    CLASSES,
    SOURCES,
    Beat,
    cast_code,
    code,
    corners,
    exact_powers_of,
    near_ties,
    powers_of,
    random_beat,
    requests,
    row_beats,
    wide_elements,
)

# Bins of golden results of the exponential, and beats that hit all of them.


ARGUMENTS = {"overflow": 100.0, "normal": 1.0, "subnormal": -90.0, "zero": -110.0, "NaN": np.nan}
"""Classes of powers of finite arguments, and of NaN's; and a number of each, which all formats have."""
TIES = ("tie, down", "tie, up")
HALF = 1 << FP32.width - BF16.width - 1
SUMS = ("sum overflows", "sum is NaN")
BINS = (
    *cross((fmt.name for fmt in SOURCES), ("FP32", "BF16"), ARGUMENTS),
    *TIES,
    *(each.name for each in Reduce),
    *SUMS,
)
"""A command is one only where another would have given another sum."""


def bins_of(beats: Sequence[Beat], powers: Sequence[Sequence[int]], sums: Sequence[int]) -> Iterator[str]:
    """The bins of beats after a reset, from golden powers and sums."""
    for beat, row, before, after in zip(beats, powers, [0, *sums], sums, strict=False):
        for element, power in zip(beat.elements, row, strict=True):
            if (name := _class_of(beat, element, power)) is not None:
                yield f"{beat.source.name}/{'BF16' if beat.bf16 else 'FP32'}/{name}"
            if beat.bf16 and power < FP32.infinity_code and power & 2 * HALF - 1 == HALF:
                yield TIES[power >> BF16.width & 1]
        starts = {
            Reduce.IDLE: before,
            Reduce.RESET_REDUCE: before,
            Reduce.LOAD_REDUCE: beat.init,
            Reduce.REDUCE: before,
        }
        if _finite(starts[beat.reduce]) and starts[beat.reduce] and (after == before) == (beat.reduce is Reduce.IDLE):
            yield beat.reduce.name
        if after == FP32.infinity_code and all(map(_finite, (before, beat.init, *row))):
            yield SUMS[0]
        if after == FP32.nan_code:
            yield SUMS[1]


def _class_of(beat: Beat, element: int, power: int) -> str | None:
    if power == FP32.nan_code:
        return "NaN"
    if not (_finite(element, beat.source) and _finite(beat.max_value)):
        return None
    if power == FP32.infinity_code:
        return "overflow"
    if power > FP32.fraction_mask:
        return "normal"
    return "subnormal" if power else "zero"


def _finite(number: int, fmt: FloatFormat = FP32) -> bool:
    return number & ~fmt.sign_mask < fmt.infinity_code


def directed_beats(config: ExponentialConfig) -> Iterator[Beat]:
    """Beats that hit all bins, where they are the first after a reset."""

    def beat(element: int, source: FloatFormat = FP32, **fields) -> Beat:
        return Beat((element,) * config.width, source, **fields)

    one = code(1.0)
    for command in (Reduce.RESET_REDUCE, Reduce.REDUCE, Reduce.IDLE, Reduce.LOAD_REDUCE, Reduce.RESET_REDUCE):
        yield beat(one, reduce=command, init=one)
    yield beat(code(88.0), reduce=Reduce.LOAD_REDUCE, init=FP32.max_code)
    for source in SOURCES:
        for bf16 in (False, True):
            for number in ARGUMENTS.values():
                element = source.nan_code if np.isnan(number) else cast_code(number, source)
                yield beat(element, source, bf16=bf16)
    for element in _ties(config.numerics):
        yield beat(element, bf16=True)


@cache
def _ties(numerics: ExponentialNumerics) -> tuple[int, ...]:
    """Elements whose powers lie half-way between two BF16 numbers: to the even one it is down, and up."""
    elements = np.arange(code(1.0), code(1.0) + (1 << 19), dtype=np.uint32)
    powers = exponential_of(elements.view(np.float32), np.float32(0), numerics).view(np.uint32)
    halves = powers & 2 * HALF - 1 == HALF
    odd = powers >> BF16.width & 1 == 1
    return tuple(int(elements[halves & each][0]) for each in (~odd, odd))


def draw(kinds: Sequence[None], rng: Random) -> list[Request]:
    """Return requests that all show the sum: bits that a reset left in it would change their results."""
    beats = [replace(random_beat(CONFIG, rng), reduce=Reduce.REDUCE) for _ in kinds]
    return requests(CONFIG, beats, powers_of(CONFIG, beats))


BENCH = StreamBench(
    __name__, ExponentialConfig, Exponential, (None,), draw, default_cases=500, draws="beats", stateful=True
)
CONFIG = BENCH.config
RESULT = BENCH.unit.signature.members["o"].signature.members["payload"].shape
latency, resets = BENCH.timing()
covers("exponential.stream", latency)
covers(
    "exponential.reset",
    "The accumulator register holds its value between beats",
    "Resets with beats in the first, in some and in all pipeline stages, with and without a stall: no result of them appears, and "
    "sums start at 0",
    resets,
)


@covers(
    "exponential.specials",
    "infinity - infinity is NaN, and exp(-infinity) is a zero that a row of masked elements is made of",
    "NaN, infinities and one as element and as maximum, in FP32, BF16 and FP16",
)
@covers(
    "exponential.edges",
    "The result's exponent, the rounder and the argument's shifter saturate there",
    "Seven codes on either side of the last argument that does not overflow, of the smallest normal result and of "
    "the smallest; subnormal results; arguments around 256 and beyond, differences that overflow",
)
@covers(
    "exponential.boundaries",
    "Subnormal results keep fewer bits of the product, and BF16 is rounded from FP32",
    "Powers above and below ties of FP32's zero and subnormal grid, and of every boundary of BF16 with its "
    "overflow, at every distance that arguments have",
)
@covers(
    "exponential.near_zero",
    "A negative argument is rounded down: -0 is next to the last table entry",
    "Arguments of +0 and -0, and the smallest on either side of them",
)
@covers(
    "exponential.table",
    "The polynomial's argument is almost 0 or almost the next entry there",
    "Codes around both ends of table entries 0, 1, 127, 128 and 255 in six binades of the result",
)
@covers(
    "exponential.floor",
    "The argument is rounded down: a bit that is lost below the grid shows there alone, and one above it in few "
    "results",
    "Negative arguments that are on the grid of 2^-32 after the multiplication by log2(e), or but for one bit "
    "below it; and thousands at random wherever results are finite",
)
@covers("exponential.sources")
@BENCH.sweep()
def directed_corners() -> Made:
    """Each as a beat of its own, by the exact tier; its other elements are its neighbours."""
    table = corners(CONFIG.numerics, pauses.rng("corners"))
    beats = [
        Beat(
            tuple(corner.element ^ k for k in range(CONFIG.width)),
            corner.source,
            corner.max_value,
            bf16=corner.bf16 or bool(n & 1),
        )
        for n, corner in enumerate(table)
    ]
    powers = exact_powers_of(CONFIG, beats)
    return requests(CONFIG, beats, powers), Coverage(
        (corner.bin for corner in table),
        (corner.bin for corner, row in zip(table, powers, strict=True) if corner.holds(row[0])),
    )


@covers("exponential.sources", "Elements become FP32 before anything is computed")
@BENCH.sweep(bf16=[False, True])
def every_bf16_code(bf16) -> Made:
    """All 65,536 BF16 codes, to FP32 and to BF16; subnormal elements of 16 bits with maxima that make the difference
    inexact."""
    rows = -(-(1 << BF16.width) // CONFIG.width)
    codes = np.resize(np.arange(1 << BF16.width), (rows, CONFIG.width)).tolist()
    beats = [Beat(tuple(row), BF16, bf16=bf16) for row in codes]
    powers = powers_of(CONFIG, beats)
    for index in pauses.rng("held to the exact tier").sample(range(1 << BF16.width), 200):
        beat, place = divmod(index, CONFIG.width)
        assert powers[beat][place] == exponential(CONFIG.numerics, index << 16, 0), (
            f"golden's tiers differ at {index:#x}"
        )
    # Each beat is added onto 0, so that the sums are those of rows.
    terms = np.array(powers, np.uint32).view(np.float32)
    sums = serial_sum(terms).view(np.uint32).tolist() if CONFIG.numerics.sum_before_cast else None
    return requests(CONFIG, beats, powers, sums)


@covers("exponential.floor")
@BENCH.sweep()
def many_arguments() -> Made:
    """All over the range in which results are finite, a beat a cycle: what changes few results must be given many."""
    rng = pauses.rng("arguments")
    beats = [
        Beat(tuple(wide_elements(FP32, rng, CONFIG.width)), FP32, reduce=Reduce.IDLE) for _ in range(8 * BENCH.cases)
    ]
    powers = powers_of(CONFIG, beats)
    return requests(CONFIG, beats, powers)


@covers(
    "exponential.ties",
    "The power is rounded once: a low bit of its product that is lost, or one too many, shows there alone",
)
@BENCH.sweep()
def nearly_half_way() -> Made:
    """The 24 arguments of all whose powers come nearest to half-way between two numbers of FP32, the nearest of
    thousands at random, powers that are half-way, and those that a unit of the polynomial's square takes past it."""
    elements = near_ties(CONFIG.numerics, pauses.rng("ties"))
    beats = [Beat((element,) * CONFIG.width, reduce=Reduce.IDLE) for element in elements]
    return requests(CONFIG, beats, exact_powers_of(CONFIG, beats))


@covers("exponential.half_units", "Random sums rarely have ties or single-bit changes of ties")
@BENCH.sweep()
def half_units_of_sums() -> Made:
    """Sums of numbers with few bits, one about half a unit in the last place of the other."""
    rng = pauses.rng("sums")
    beats = []
    for _ in range(BENCH.cases):
        # exp(t) is 1 + t to the last place.
        element = code(rng.choice((0, *(1 << bit for bit in range(11)))) * 2.0**-FP32.fraction_bits)
        init = fp32.sparse(rng, FP32.bias + FP32.precision + rng.choice((-2, -1, -1, 0, 0, 0, 1, 1, 2)))
        beats.append(Beat((element,) * CONFIG.width, reduce=Reduce.LOAD_REDUCE, init=init, count=1))
    return requests(CONFIG, beats, powers_of(CONFIG, beats))


@covers("exponential.sum")
@covers(
    "exponential.results",
    "Bins of stimulus do not show that a result occurred",
    "From each source to each destination: overflow, normal, subnormal, zero of a finite argument, NaN; ties of "
    "BF16 either way; each command where another would give another sum; sums that overflow and that are NaN: "
    "bins of golden's results, hit by directed beats at every pace",
)
@covers(
    "exponential.stream",
    "The accumulator must change once for each accepted beat, and hold during a stall",
    "Sources, destinations and commands in any order at full speed, with gaps, stalls and both; a beat a cycle; "
    "latency",
)
@BENCH.exchange()
def random_beats(pace) -> Made:
    """Random beats, after a few that hit all bins of results."""
    rng = pauses.rng("beats")
    beats = [*directed_beats(CONFIG), *(random_beat(CONFIG, rng) for _ in range(BENCH.cases))]
    powers = powers_of(CONFIG, beats)
    sent = requests(CONFIG, beats, powers)
    return sent, Coverage(BINS, bins_of(beats, powers, [unpack(RESULT, request.expected).sum for request in sent]))


@covers("exponential.sum", "The order of additions, and the accumulator's initial value, are part of the result")
@BENCH.exchange("both", bf16=[False, True])
def rows_and_their_sums(bf16) -> Made:
    """Rows of every length up to three beats, by each command, with accumulators that go on; sums that reach infinity
    and NaN; parts of a beat."""
    rng = pauses.rng("rows")
    beats, sums, accumulator = [], [], np.zeros(1, np.float32)
    for source, command, length in product(SOURCES, ADDING, range(1, 3 * CONFIG.width + 1)):
        row = rng.choice(CLASSES)(source, rng, length)
        first = Beat((), source, fp32.near_one(rng), command, fp32.mixed(rng), bf16=bf16)
        beats += row_beats(CONFIG, row, first)
        maximum, init = (np.array([[code]], np.uint32).view(np.float32) for code in (first.max_value, first.init))
        given = {
            Reduce.RESET_REDUCE: {},
            Reduce.REDUCE: {"accumulators": accumulator},
            Reduce.LOAD_REDUCE: {"reduce_init": init},
        }
        _, accumulator = trainium3.exponential(
            np.array([row], f"<u{source.width // 8}").view(DTYPES[source]),
            maximum,
            dtype=DTYPES[BF16 if bf16 else FP32],
            reduce_cmd=command.name.lower(),
            numerics=CONFIG.numerics,
            **given[command],
        )
        sums.append(int(accumulator.view(np.uint32)[0]))
    sent = requests(CONFIG, beats, powers_of(CONFIG, beats))
    results = [unpack(RESULT, request.expected) for request in sent]
    assert [result.sum for result in results if result.last] == sums
    return sent


@covers("exponential.refused", "The running sum goes on as if they were not")
@cocotb.test(**LIMIT, skip=not CONFIG.checks)
async def refused_beats(dut):
    """Beats of the source that there is not, and of more elements to add than there are, among rows."""
    rng = pauses.rng("refused")
    beats = [random_beat(CONFIG, rng) for _ in range(BENCH.cases)]
    sent = requests(CONFIG, beats, exact_powers_of(CONFIG, beats))
    most = (1 << CONFIG.width.bit_length()) - 1
    wrong = [(Fault.DTYPE, {"source": code}) for code in unknown(Source)] * 8
    wrong += [(Fault.COUNT, {"control": {"count": count}}) for count in range(CONFIG.width + 1, most + 1)] * 4
    async with bench(dut, BENCH.unit.signature) as frame:
        await refuse_among(frame, sent, wrong, rng)
