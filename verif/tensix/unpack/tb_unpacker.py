"""Bench of the unpacker: every datum of up to 16 bits, FP32 at the limits of other formats, random rows, latency, resets.

The unpacker rounds nothing: floats are truncated, datums of blocks are exact, and narrow exponents saturate.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random rows of a test.
"""

from collections.abc import Sequence
from itertools import product
from random import Random

import cocotb

from bitpath.golden.formats.catalogue import FP16, FP32
from bitpath.golden.tensix.declarations.formats import BLOCK, Format
from bitpath.golden.tensix.declarations.numerics import BfpRange
from bitpath.rtl.tensix.dot.layouts import DstRow
from bitpath.rtl.tensix.unpack.layouts import ROW_BITS, ConversionConfig
from bitpath.rtl.tensix.unpack.unpacker import Unpacker
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import config_from_environment
from bitpath.verif.kit.coverage import Coverage
from bitpath.verif.kit.packing import unpack
from bitpath.verif.kit.pipeline import Made, Request, StreamBench
from bitpath.verif.kit.testplan import covers
from bitpath.verif.tensix.unpack.unpack import (
    Conversion,
    UnpackRow,
    UnpackWord,
    among_others,
    at_every_place,
    conversions,
    every_row,
    expected_words,
    random_row,
    rows_in_word,
)

CONFIG = config_from_environment(ConversionConfig)
NUMERICS = CONFIG.numerics
CONVERSIONS = conversions(NUMERICS)
EXHAUSTED = [each for each in CONVERSIONS if each.datum_bits <= (8 if each.to_dst else 16)]
"""16-bit datums go to Dst as to Src; random rows compare them."""
REBIAS = FP32.bias - FP16.bias


def words_with_golden(words: list[UnpackWord]) -> list[Request]:
    """Return requests with the results of golden."""
    junk = pauses.rng("junk")
    results = expected_words(words, NUMERICS)
    return [Request(each.payload(junk), result, each.shown) for each, result in zip(words, results, strict=True)]


def with_golden(requests: list[UnpackRow]) -> list[Request]:
    """Return requests with each row in the next place of a word, between random rows of its conversion."""
    rng = pauses.rng("neighbouring rows")
    words = [among_others(each, place, CONFIG.rows, rng) for place, each in enumerate(requests)]
    return words_with_golden(words)


def found(request: Request, index: int, conversion: Conversion) -> list[int]:
    """Return the words of row ``index`` of `with_golden`."""
    place = index % rows_in_word(conversion, CONFIG.rows)
    return unpack(DstRow, request.expected >> ROW_BITS * place & (1 << ROW_BITS) - 1)


def draw(kinds: Sequence[Conversion], rng: Random) -> list[Request]:
    return with_golden([random_row(conversion, rng) for conversion in kinds])


BENCH = StreamBench(
    __name__,
    ConversionConfig,
    Unpacker,
    CONVERSIONS,
    draw,
    lambda kind: (kind.bin,),
    Unpacker.LATENCY,
    default_cases=500,
    draws="rows",
)
random_rows, latency, resets = BENCH.tests("random_rows")
covers(
    "unpacker.pairs",
    "Each request carries its own control",
    "All pairs of formats in any order, a new one every row, with gaps and stalls; bits outside a row are random",
    random_rows,
)
covers(
    "unpacker.latency",
    "The engine's throughput depends on it",
    "A row appears once, one cycle after its request, and is stable until taken; one row a cycle; resets",
    latency,
    resets,
    random_rows,
)
covers("unpacker.datums", random_rows)
covers("unpacker.fp32", random_rows)
covers("unpacker.blackhole", random_rows)


@covers(
    "unpacker.datums",
    "A field at the wrong bit changes only some codes",
    "Every datum of up to 16 bits to each of its register formats: BF16, FP16, INT16, FP8, INT8 both ways",
)
@covers(
    "unpacker.blocks",
    "ttsim's comments say that silicon wraps tiny blocks to huge numbers, and the known answers have no such case",
    "Every datum of BFP8, BFP4, BFP2 and their 'a' variants under every exponent; negative zero; exponents below "
    "0 wrap or flush to zero",
)
@covers("unpacker.latency")
@covers("unpacker.blackhole")
@BENCH.sweep(conversion=[cocotb.Param(value=each, name=each.bin.replace("/", "_")) for each in EXHAUSTED])
def every_datum(conversion: Conversion) -> Made:
    """All codes in every row of a word; for block floats under all exponents, also wrapping ones and the largest."""
    return words_with_golden(at_every_place(every_row(conversion), CONFIG.rows))


def fp32_corners() -> list[tuple[str, Format, int, int]]:
    """Return bin, register format, FP32 code, and required Src or Dst word."""
    low = (1 << 13) - 1
    table = []
    for sign in (0, 1):
        code, src = sign << 31, sign << 18
        name = "+-"[sign]
        infinity, denormal = FP32.infinity_code, FP32.fraction_mask
        table += [
            (f"zero/{name}", Format.BF16, code, src),
            (f"denormal to BF16 is zero/{name}", Format.BF16, code | denormal, src),
            (f"denormal to TF32 keeps its bits/{name}", Format.TF32, code | denormal, src | 0x3FF),
            (f"denormal to FP32 passes/{name}", Format.FP32, code | denormal, code | denormal),
            (f"least normal to BF16/{name}", Format.BF16, code | 1 << 23, src | 1 << 10),
            (f"fraction to BF16 truncates/{name}", Format.BF16, code | 0x3FFFFFFF, src | 0x7F << 10 | 0x3F8),
            (f"fraction to TF32 truncates/{name}", Format.TF32, code | 0x3FFFFFFF, src | 0x7F << 10 | 0x3FF),
            (f"low NaN to TF32 is infinity/{name}", Format.TF32, code | infinity | low, src | 0xFF << 10),
            (f"low NaN to BF16 is infinity/{name}", Format.BF16, code | infinity | 0xFFFF, src | 0xFF << 10),
            (f"low NaN to FP32 passes/{name}", Format.FP32, code | infinity | 1, code | infinity | 1),
            (f"NaN to FP16 is the largest/{name}", Format.FP16, code | FP32.nan_code, src | 0x7FFF),
            (f"infinity to FP16 is the largest/{name}", Format.FP16, code | infinity, src | 0x7FFF),
        ]
        for exponent, fraction in product((-REBIAS, -1, 0, 1, 15, 30, 31, 32, 33), (0, 0x2AB, 0x3FF)):
            fp32 = code | exponent + REBIAS << 23 | fraction << 13 | (low if fraction else 0)
            fp16 = 0 if exponent < 0 else 0x7FFF if exponent > 31 else exponent << 10 | fraction
            where = f"exponent {exponent} and fraction {fraction:#x}"
            table.append((f"to FP16 with {where}/{name}", Format.FP16, fp32, src | fp16))
        for magnitude in (0, 1, (1 << 31) - 1):
            table.append((f"INT32 of magnitude {magnitude}/{name}", Format.INT32, code | magnitude, code | magnitude))
    return table


@covers(
    "unpacker.fp32",
    "FP32 to FP16 is undefined in the vendor's documents, and no known answer has exponent 0 in the result",
)
@BENCH.exchange("both")
def thirty_two_bits() -> Made:
    """FP32 to TF32, BF16, FP16 and Dst: denormals, NaN that truncates to infinity, FP16 exponents below, at and above
    its range; INT32; datums and exponents of one bit."""
    rng = pauses.rng("neighbours")
    requests, words = [], []
    for name, register_format, code, word in fp32_corners():
        conversion = Conversion(Format.INT32 if register_format is Format.INT32 else Format.FP32, register_format)
        datums = list(random_row(conversion, rng).datums)
        place = rng.randrange(BLOCK)
        datums[place] = code
        requests.append(UnpackRow(conversion, tuple(datums)))
        words.append((name, place, word))
    rows = with_golden(requests)
    pairs = list(enumerate(zip(rows, words, strict=True)))
    held = (each[0] for k, (row, each) in pairs if found(row, k, requests[k].conversion)[each[1]] == each[2])
    return rows, Coverage([name for name, _, _ in words], held)


@covers("unpacker.fp32")
@BENCH.sweep()
def single_bits() -> Made:
    """32-bit datums with one bit set, and datums with one exponent bit set and any fraction."""
    fraction = FP32.fraction_mask
    codes = [1 << place for place in range(FP32.width)]
    codes += [code | fraction for code in codes if code > fraction]
    rows = [tuple(codes[start:] + codes[:start])[:BLOCK] for start in range(0, len(codes), BLOCK // 2)]
    wide = [conversion for conversion in CONVERSIONS if conversion.datum_bits == FP32.width]
    return with_golden([UnpackRow(conversion, row) for conversion, row in product(wide, rows)])


def block_corners() -> list[tuple[str, Format, int, int, int]]:
    """Return bin, block format, exponent, datum, and required Src word."""
    table = []
    for fmt, top, overrun in (
        (Format.BFP8, 0xFF, NUMERICS.bfp_range),
        (Format.BFP8A, 0x1F, NUMERICS.bfp_a_range),
    ):
        for sign in (0, 1):
            datum, src = sign << 7, sign << 18
            name = f"{fmt.name} {'+-'[sign]}"
            table.append((f"{name}/zero", fmt, 5, datum, src | (top << 10 if sign else 0)))
            for zeros, exponent in product(range(7), (0, 1, 5, 6, top)):
                # A leading one followed by all ones.
                magnitude = 0x7F >> zeros
                fraction = (magnitude << zeros & 0x3F) << 4
                left = exponent - zeros
                word = src if left < 0 and overrun is BfpRange.FLUSH else src | (left & top) << 10 | fraction
                table.append((f"{name}/exponent {exponent} less {zeros}", fmt, exponent, datum | magnitude, word))
    return table


@covers("unpacker.blocks")
@BENCH.exchange("both")
def block_floats() -> Made:
    """Every leading-zero count with exponents that fall below 0 and that do not; negative zero."""
    rng = pauses.rng("neighbours")
    outputs = {Format.BFP8: Format.BF16, Format.BFP8A: Format.FP16}
    table = block_corners()
    requests = []
    for _, fmt, exponent, datum, _ in table:
        datums = (datum, *(rng.getrandbits(8) for _ in range(BLOCK - 1)))
        requests.append(UnpackRow(Conversion(fmt, outputs[fmt]), datums, exponent))
    rows = with_golden(requests)
    pairs = list(enumerate(zip(rows, table, strict=True)))
    held = (each[0] for k, (row, each) in pairs if found(row, k, requests[k].conversion)[0] == each[-1])
    return rows, Coverage([each[0] for each in table], held)
