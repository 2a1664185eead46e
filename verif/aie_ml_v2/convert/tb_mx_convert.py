"""Bench of the conversion to blocks: every last place and sticky bit, corners, random blocks at every pace, latency, resets.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random blocks of a test.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from random import Random

import cocotb
import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import BLOCK_FORMATS, MX_BIAS, MxFormat, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.scalar.codec import decode, power_of_two
from bitpath.golden.scalar.rounding import round_to_integer
from bitpath.rtl.aie_ml_v2.convert.mx_convert import MxConvert, MxConvertConfig
from bitpath.verif.aie_ml_v2.convert.mx_convert import (
    Conversion,
    Converted,
    conversions,
    corners,
    every_place,
    expected,
    in_blocks,
    random_conversion,
    with_golden,
)
from bitpath.verif.common.boundary_codes import exact_code
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.coverage import Coverage
from bitpath.verif.kit.packing import unpack
from bitpath.verif.kit.pipeline import LIMIT, Made, Request, StreamBench
from bitpath.verif.kit.testplan import covers
from bitpath.verif.kit.values import integer_boundaries, near

# Elements at and beside the boundaries of a block's codes: zero, the largest code, an even and an odd one.


Places = Mapping[Fraction, set[str]]
"""The bins of each magnitude, in units of its last place."""


def places_beside(fmt: MxFormat, rounding: RoundingCode, rng: Random) -> Places:
    """Return the magnitudes, each with a sticky bit at every distance that FP32 has."""
    found: dict[Fraction, set[str]] = defaultdict(set)
    boundaries = partial(integer_boundaries, 0, fmt.max_code)
    for each in near(boundaries, rng, range(2, FP32.precision + 2), rounding.mode):
        if each.value >= 0 and exact_code(each.value, FP32) is not None:
            found[each.value].add(each.bin)
    return found


def boundary_blocks(fmt: MxFormat, rounding: RoundingCode, places: Places) -> list[Conversion]:
    """Return blocks of the magnitudes in both signs, and in MX with and without shift."""
    units = [sign * float(each) for each in places for sign in (1, -1)]
    return conversions(in_blocks(fmt, np.array(units)), fmt, rounding)


def hits(numerics: AieNumerics, block: Conversion, result: Converted, places: Places) -> Iterator[str]:
    """Yield the bins of the elements to which golden gives the exact value's code."""
    fmt = block.fmt
    lowest = fmt.min_code if numerics.mx_min_code else -fmt.max_code
    values = [decode(FP32, code).value for code in block.lanes]
    for k, value in enumerate(values):
        pair = values[k & ~1 :][:2]
        shifted = fmt.has_shifts and max(map(abs, pair)) < 1
        names = places.get(abs(value) * power_of_two(fmt.magnitude_bits - 1 + shifted), ())
        exponent = result.exponent - MX_BIAS - (result.shift >> k // 2 & 1)
        rounded = round_to_integer(value * power_of_two(fmt.magnitude_bits - 1 - exponent), block.rounding.mode)
        if names and result.codes[k] == min(max(rounded, lowest), fmt.max_code):
            yield from (f"{fmt.name}/shift {int(shifted)}/{name}" for name in names)


def bins(fmt: MxFormat, places: Places) -> list[str]:
    shifts = range(1 + fmt.has_shifts)
    return sorted(f"{fmt.name}/shift {shift}/{name}" for names in places.values() for name in names for shift in shifts)


CONFIG = config_from_environment(MxConvertConfig)
NUMERICS = CONFIG.numerics
UNIT = MxConvert(CONFIG)
FORMATS = [fmt.name for fmt in UNIT.layouts.formats]
COMBINATIONS = [(fmt, code) for fmt in UNIT.layouts.formats for code in RoundingCode]
"""All combinations of block format and rounding code."""
BIAS_BLOCKS = 200
"""Number of blocks; the standard deviation of their mean error is below a hundredth of a unit in the last place."""


def draw(combinations: Sequence[tuple[MxFormat, RoundingCode]], rng: Random) -> list[Request]:
    return with_golden([random_conversion(each, rng) for each in combinations], NUMERICS)


BENCH = StreamBench(
    __name__,
    MxConvertConfig,
    MxConvert,
    COMBINATIONS,
    draw,
    lambda kind: (f"{kind[0].name}/{kind[1].name}",),
    default_cases=500,
    draws="blocks",
)
random_blocks, latency, resets = BENCH.tests("random_blocks")
covers(
    "mx_convert.stream",
    "Each request carries its own control through all pipeline stages",
    "All formats and codes in any order, full speed, gaps, stalls and both; the bytes in memory of every block; latency; resets",
    random_blocks,
    latency,
    resets,
)


@covers(
    "mx_convert.places",
    "Each rounding code differs from the others only in a few of these",
    "Every magnitude of MX9, MX6 and MX4 in both signs, exact, just above, and below, at and above the midpoint "
    "to the next, with and without shift bit, in ten rounding codes; a sticky bit at every distance beside zero, "
    "the largest code, an even and an odd one",
)
@covers(
    "mx_convert.bfp16ebs8",
    "XDNA2's block has its own bump, and no pairs",
    "Blocks of eight without shift bits: every last place, ties, distances, exponents, specials; a carry bumps "
    "all codes of the block, one of them odd; every other choice of the numerics",
)
@BENCH.sweep(fmt=FORMATS, rounding=[code.name for code in RoundingCode])
def every_last_place(fmt: str, rounding: str) -> Made:
    """Every magnitude, and every midpoint above it, exact and with its neighbours; a sticky bit at every distance beside zero,
    the largest code, an even and an odd one."""
    fmt, code = BLOCK_FORMATS[fmt], RoundingCode[rounding]
    places = places_beside(fmt, code, pauses.rng("boundaries"))
    blocks = boundary_blocks(fmt, code, places)
    results = zip(blocks, expected(blocks, NUMERICS), strict=True)
    hit = (name for block, result in results for name in hits(NUMERICS, block, result, places))
    return with_golden([*conversions(every_place(fmt), fmt, code), *blocks], NUMERICS), Coverage(bins(fmt, places), hit)


@covers(
    "mx_convert.ties",
    "Golden and RTL could share a wrong table",
    "The same around an even and an odd last place with the expected result stated: for directed codes between "
    "two values, for nearest ones at the midpoint",
)
@covers(
    "mx_convert.shifts",
    "A shift bit follows the larger exponent of its pair and covers one binade only",
    "All 255 possible shift bytes, 0 included; pairs 0, 1, 2 and more binades below the block exponent, until "
    "they round to zero",
)
@covers(
    "mx_convert.exponents",
    "A single element determines the block exponent",
    "Exponents 0, 1, 2, 253, 254 in every place; 255 as infinity and NaN of both signs in every place; zeros; "
    "subnormals only, with exponent 1 and with large exponents, flushed or kept",
)
@covers(
    "mx_convert.carries",
    "The hardware's choice is not known, so all three are options",
    "Numbers that round up to a power of two, in the pair of the largest exponent, one and two binades below it, "
    "and at exponent 254: saturated, bumped to the next exponent, or the most negative code",
)
@covers("mx_convert.bfp16ebs8")
@BENCH.sweep()
def directed_corners() -> Made:
    table = corners(NUMERICS, UNIT.layouts.formats)
    results = expected([each.request for each in table], NUMERICS)
    pairs = list(zip(table, results, strict=True))
    made = [Request(each.request.payload, result.bits, each.request.shown) for each, result in pairs]
    return made, Coverage([each.bin for each in table], (each.bin for each, result in pairs if each.agrees(result)))


@covers("mx_convert.bias")
@cocotb.test(**LIMIT)
@cocotb.parametrize(fmt=FORMATS)
async def mlir_air_1440_floor_is_biased_and_even_is_not(dut, fmt):
    """The mean error of the unit's blocks, in units of each element's last place: -1/2 with floor, the machine's own
    default, and 0 with even rounding."""
    fmt, codes = BLOCK_FORMATS[fmt], (RoundingCode.FLOOR, RoundingCode.CONV_EVEN)
    x = np.random.default_rng(pauses.rng("numbers").getrandbits(32)).uniform(-1, 1, (BIAS_BLOCKS, fmt.elements))
    x = x.astype(np.float32)
    results = []
    async with bench(dut, BENCH.unit.signature) as frame:
        driver, board = frame.driver("i"), frame.scoreboard("o", UNIT.layouts.result)
        frame.monitor("o", lambda bits: (board.got(bits), results.append(unpack(UNIT.layouts.result, bits).block)))
        for code in codes:
            for request in with_golden(conversions(x, fmt, code), NUMERICS):
                board.expect(request.expected, request.shown)
                driver.send_bits(request.payload)
        await frame.drain()
        for code, blocks in zip(codes, (results[:BIAS_BLOCKS], results[BIAS_BLOCKS:]), strict=True):
            errors = [
                float(number) / place - block.codes[k]
                for row, block in zip(x, blocks, strict=True)
                for k, number in enumerate(row)
                for shift in [block.shift >> k // 2 & 1 if fmt.has_shifts else 0]
                for place in [2.0 ** (block.exponent - MX_BIAS - shift + 1 - fmt.magnitude_bits)]
                if abs(block.codes[k]) < fmt.max_code  # numbers that round out of range saturate
            ]
            assert len(errors) > BIAS_BLOCKS
            assert abs(sum(errors) / len(errors) - (0.5 if code is RoundingCode.FLOOR else 0)) < 0.04, code.name
