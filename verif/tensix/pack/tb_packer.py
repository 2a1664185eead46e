"""Bench of the packer: every 16-bit word, every significand of blocks, corners, every combination of formats and steps, latency, resets.

The exponent threshold rounds nothing: it compares exponents, of which corners have those just below, at and above it.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random rows of a test.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from random import Random

import cocotb
import numpy as np

from bitpath.golden.formats.catalogue import BF16, FP16
from bitpath.golden.scalar.rounding import round_to_integer
from bitpath.golden.tensix import unpack
from bitpath.golden.tensix.declarations.formats import BLOCK, BLOCK_FLOATS, Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.rtl.tensix.pack.layouts import PackedRow, PackerConfig, PackRequest
from bitpath.rtl.tensix.pack.packer import Packer
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import config_from_environment
from bitpath.verif.kit.coverage import Coverage
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.pipeline import Made, Request, StreamBench
from bitpath.verif.kit.testplan import covers
from bitpath.verif.tensix.pack.pack import Packed, Packing, PackRow, combinations, expected, random_row
from bitpath.verif.tensix.pack.pack_corners import corners, lay_out

# Rows of the packer with every significand at every distance below the exponent of its block.


MAGNITUDE_BITS = 7
"""Magnitude bits of BFP8, to which all block floats are rounded; shorter ones keep the upper bits."""
SHARED = 25
"""Exponent of the blocks."""
DISTANCES = range(11)
"""From 8 on every significand is below half a unit."""


def _datum(numerics: TensixNumerics, bits: int, significand: int, distance: int, sign: int) -> tuple[str, int]:
    """Return the bin of a float, and the datum of its exact value."""
    value = Fraction(significand, 2 << distance)
    beside = value % 1 - Fraction(1, 2)
    side = "exact" if value.denominator == 1 else "tie" if not beside else "above tie" if beside > 0 else "below tie"
    magnitude = min(round_to_integer(value, numerics.final_tie), (1 << MAGNITUDE_BITS) - 1) >> MAGNITUDE_BITS - bits
    return f"{distance} below/{side}", magnitude | (sign << bits if magnitude else 0)


def block_rows(numerics: TensixNumerics, out: Format) -> Iterator[tuple[PackRow, Sequence[tuple[str, int]]]]:
    """Yield the rows of an output format with bin and datum of each float; one float has the block's exponent."""
    block = BLOCK_FLOATS[out]
    mid, fmt = (Format.BF16, BF16) if block.exponent_bits == BF16.exponent_bits else (Format.FP16, FP16)
    packing, hidden = Packing(mid, out, False, raw=True), 1 << MAGNITUDE_BITS
    place = fmt.fraction_bits - MAGNITUDE_BITS

    def each(distance: int, sign: int, fraction: int) -> tuple[int, tuple[str, int]]:
        code = (sign << fmt.exponent_bits | SHARED - distance) << MAGNITUDE_BITS | fraction
        return code << place, _datum(numerics, block.magnitude_bits, hidden | fraction, distance, sign)

    floats = [each(*fields) for fields in product(DISTANCES, (0, 1), range(hidden))]
    for start in range(0, len(floats), BLOCK - 1):
        part = floats[start : start + BLOCK - 1]
        part.insert(start % BLOCK, each(0, 0, 0))
        codes, data = zip(*part, strict=True)
        yield PackRow(packing, (*codes, *(0,) * (BLOCK - len(codes)))), data


CONFIG = config_from_environment(PackerConfig)
NUMERICS = CONFIG.numerics
COMBINATIONS = combinations(NUMERICS)
REQUEST_BITS, RESULT_BITS = PackRequest.as_shape().size, PackedRow.as_shape().size


def with_golden(requests: list[PackRow]) -> list[Request]:
    """Return requests with the results of golden."""
    return as_rows(requests, expected(requests, NUMERICS))


def as_rows(requests: list[PackRow], results: list[Packed]) -> list[Request]:
    """Return requests and results as payloads of the ports; each row enters in every lane, beside the rows behind it."""
    junk = pauses.rng("junk")
    payloads = [each.payload(junk) for each in requests]
    found = []
    for first in range(len(requests)):
        places = [(first + lane) % len(requests) for lane in range(CONFIG.rows)]
        payload = sum(payloads[place] << REQUEST_BITS * lane for lane, place in enumerate(places))
        result = sum(results[place].bits << RESULT_BITS * lane for lane, place in enumerate(places))
        found.append(Request(payload, result, partial(shown, [requests[place] for place in places])))
    return found


def shown(rows: list[PackRow], path: str) -> Shown:
    """Return what differs, by the path of a field in the lane of one row."""
    if len(rows) == 1:
        return rows[0].shown(path)
    lane, _, rest = path.partition(".")
    each = rows[int(lane or 0)].shown(rest)
    formats = {f"{place}.{name}": number for place in range(len(rows)) for name, number in each.formats.items()}
    return Shown(operands={"lane": lane} | dict(each.operands), formats=formats)


def register_words(fmt: Format) -> np.ndarray:
    """Return every code of a 16-bit format as a 16-bit Dst word, as the unpacker writes it to Src.

    The 3 lowest fraction bits are dropped for formats with an 8-bit exponent.
    """
    src = unpack(np.arange(1 << 16, dtype="<u2").view(np.uint8), fmt, fmt, count=1 << 16)
    return src >> 3 if fmt is Format.BF16 else src >> 18 << 15 | src & 0x7FFF


SWEEPS = [
    Packing(mid, out, False, raw)
    for mid, out, raw in (
        (Format.BF16, Format.BF16, True),
        (Format.BF16, Format.BF16, False),
        (Format.BF16, Format.FP16, False),
        (Format.BFP8, Format.BF16, False),
        (Format.FP16, Format.FP16, True),
        (Format.FP16, Format.FP16, False),
        (Format.FP16, Format.BF16, True),
        (Format.BFP8A, Format.FP16, False),
        (Format.FP8, Format.FP8, True),
        (Format.INT16, Format.INT16, True),
    )
]
if NUMERICS.round_10b_fp16:
    SWEEPS += [Packing(Format.FP16, out, False, round_10b=True) for out in (Format.FP16, Format.BFP8A)]
if NUMERICS.fp8_e4m3:
    SWEEPS.append(Packing(Format.FP16, Format.FP8, False, e4m3=True))
"""Every early conversion of 16-bit words, copied and rounded, and late ones between 5 and 8 exponent bits."""


def draw(kinds: Sequence[Packing], rng: Random) -> list[Request]:
    return with_golden([random_row(combination, rng) for combination in kinds])


# Combinations are dealt to the paces; those of the same formats are adjacent, so that most formats run at every pace.
BENCH = StreamBench(
    __name__,
    PackerConfig,
    Packer,
    COMBINATIONS,
    draw,
    lambda kind: (kind.bin,),
    Packer.LATENCY,
    default_cases=500,
    draws="rows",
    shared=True,
)
random_rows, latency, resets = BENCH.tests("random_rows")
covers(
    "packer.combinations",
    "Each request carries its own control through all pipeline stages",
    "Every combination of intermediate format, L1 format, Dst width, raw, unsigned, ReLU mode, accumulation, edge "
    "mask with 0 and with minus infinity, exponent threshold, shift of INT32 to INT8 and rounding to 10 bits, in "
    "any order, with gaps and stalls; bits outside a row are random",
    random_rows,
)
covers(
    "packer.latency",
    "The engine's throughput depends on it",
    "A row appears once, four cycles after its request, and is stable until taken; one row a cycle; resets",
    latency,
    resets,
    random_rows,
)
covers(
    "packer.stochastic",
    "The compared bits differ by the source's and the intermediate format's fraction",
    "A third of the random rows round stochastically, half of their bits next to the discarded ones; infinity, "
    "denormals and formats without discarded bits",
    random_rows,
)
covers("packer.relu", random_rows)
covers("packer.edge_mask", random_rows)
covers("packer.exponent_threshold", random_rows)
covers("packer.descale", random_rows)
covers("packer.ten_bits", random_rows)
covers("packer.integers", random_rows)
covers("packer.blocks", random_rows)
covers("packer.l1", random_rows)
covers("packer.blackhole", random_rows)


@covers("packer.words", "Unpacking and packing without arithmetic must not change a value")
@covers("packer.rounding")
@covers("packer.fp16")
@covers("packer.latency")
@covers("packer.blackhole")
@BENCH.sweep(packing=[cocotb.Param(value=each, name=each.bin.replace("/", "_")) for each in SWEEPS])
def every_word(packing: Packing) -> Made:
    """All 65,536 words of a 16-bit Dst through every early conversion, raw and rounding, and between 5 and 8 exponent
    bits; codes written by the unpacker come back unchanged."""
    fmt = Format.FP16 if packing.source is FP16 else Format.BF16
    words = register_words(fmt)
    if packing.raw and packing.mid_format is packing.out_format is fmt:
        assert words.tolist() == list(range(1 << 16)), "a code does not come through the registers as it was"
    return with_golden([PackRow(packing, tuple(row)) for row in words.reshape(-1, BLOCK).tolist()])


@covers(
    "packer.rounding",
    "Ties round away from zero here and to even in L1",
    "Ties, and their neighbours one unit away, of both signs at every rounding width, up to the next binade; NaN "
    "to infinity, overflow, -0",
)
@covers(
    "packer.denormals",
    "The order of rounding and flushing differs by source, and the known answers hold no large denormal",
    "Small and large denormals of each source: FP32's, and FP16's for BFP8A, may round up to the least normal number",
)
@covers(
    "packer.fp16",
    "The vendor's documents leave it undefined",
    "FP32 to FP16 and FP8 with exponents below, at and above the range; FP16 back; saturation above 0x7FF7",
)
@covers(
    "packer.relu",
    "The threshold follows the intermediate format, and mode 3 compares 19 bits",
    "Four modes just below, at and above the threshold, negatives and -0, in FP32, BF16 and FP16; mode 3 on "
    "values that differ in the low 13 bits only",
)
@covers(
    "packer.edge_mask",
    "Minus infinity has a different code in every format with 5 exponent bits, and ReLU applies to it",
    "Masks with bits at both ends set and cleared, in floats and integers; minus infinity of every intermediate "
    "format, also in L1 and in blocks; ReLU and exponent threshold behind it",
)
@covers(
    "packer.exponent_threshold",
    "The known answers have no thresholds",
    "Exponents just below, at and above thresholds from 0 to 255 in every intermediate format; denormals, -0 and "
    "NaN; behind rounding and ReLU, before the L1 format and the sum",
)
@covers(
    "packer.boundaries",
    "The sticky bit alone decides there",
    "Rounding of 32-bit and 16-bit words: half a unit, and half a unit that one bit breaks at every distance, "
    "above even and odd places, up to infinity and up to the smallest normal number; the same in the sums of L1",
)
@covers(
    "packer.descale",
    "The rounding is a choice, and the known answers have no shifts",
    "INT32 to INT8 at all shifts from 0 to 31: ties of both signs and their neighbours at 0 and at either clamp, "
    "zeros with a sign",
)
@covers(
    "packer.ten_bits",
    "BF16 packed to FP16 is rounded to 10 bits and not to 7",
    "Ties at the tenth fraction bit, up to the next binade and to infinity, for FP32, TF32, BF16 and FP16; no "
    "effect with raw",
)
@covers(
    "packer.integers",
    "Integers are in sign and magnitude, not two's complement",
    "INT32 to INT8 at both clamps and of each bit by itself, signed and unsigned, raw; 0x80000000; INT32 and "
    "INT16 pass; ReLU",
)
@covers("packer.blocks")
@covers(
    "packer.l1",
    "ttsim alone states these rules, and the known answers hold no underflow",
    "Accumulation in FP32, BF16, FP16: ties to even, cancellation, flushed operands and results, overflow, "
    "infinities, NaN as the old and as the new value, FP16's underflow and cancellation at exponents of 30 and "
    "above",
)
@covers(
    "packer.blackhole",
    "The threshold of ReLU is BF16 in the one case and FP16 in the other; a narrowed word is not flushed",
    "E4M3 with exponents next to its ends; FP16 from FP32 rounded to 10 bits, and from BF16 narrowed before ReLU; "
    "INT16 from a 32-bit Dst",
)
@BENCH.exchange("full_speed")
def directed_corners() -> Made:
    table = lay_out(corners(NUMERICS))
    requests = [row for row, _ in table]
    results = expected(requests, NUMERICS)
    found = [(each, got, place) for (_, row), got in zip(table, results, strict=True) for place, each in row.items()]
    held = (each.bin for each, got, place in found if (got.datums[place], got.exponent) == (each.datum, each.exponent))
    return as_rows(requests, results), Coverage((each.bin for each, _, _ in found), held)


@covers("packer.blocks", "A significand that rounds up must not increment the shared exponent")
@BENCH.sweep(out=[each.name for each in BLOCK_FLOATS])
def block_boundaries(out: str) -> Made:
    """Six block floats: every significand at every distance below the block's exponent; clamp at 127, ties, underflow,
    blocks of exponent 0 and of each bit of the exponent by itself, exponent 255, zeros without sign."""
    rows, data = zip(*block_rows(NUMERICS, Format[out]), strict=True)
    results = expected(rows, NUMERICS)
    data = [[(f"{out}/{name}", datum) for name, datum in row] for row in data]
    pairs = [pair for row, got in zip(data, results, strict=True) for pair in zip(row, got.datums, strict=False)]
    return as_rows(rows, results), Coverage(
        (name for (name, _), _ in pairs), (name for (name, datum), got in pairs if datum == got)
    )
