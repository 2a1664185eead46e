"""Bench of GMPOOL's column: a maximum in each place, ties, scales, chains of instructions, random columns, latency, resets.

GMPOOL rounds nothing: it adds exponents and compares; the maximum and each tie stand in every place.

Expected values come from golden's exact tier before anything is driven. ``BITPATH_CASES`` sets the random columns of a test.
"""

import os

import cocotb

from bitpath.golden.tensix.declarations.numerics import GmpoolFp16
from bitpath.rtl.tensix.pool.gmpool_column import GmpoolColumn
from bitpath.rtl.tensix.pool.layouts import GmpoolColumnConfig
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.pipeline import PACES, Pipeline
from bitpath.verif.kit.testplan import covers
from bitpath.verif.tensix.pool.gmpool import (
    MODES,
    TIE_BINS,
    any_column,
    chain,
    place_bins,
    places,
    scale_bins,
    scaled,
    single_bits,
    ties,
)

CONFIG = config_from_environment(GmpoolColumnConfig)
NUMERICS = CONFIG.numerics
STAGES = CONFIG.pipeline.stages
SIGNATURE = GmpoolColumn(CONFIG).signature
CASES = int(os.environ.get("BITPATH_CASES", "300"))
LIMIT = {"timeout_time": 100, "timeout_unit": "ms"}
CHAIN = 4
"""Instructions onto one Dst row."""
EACH_MODE = [cocotb.Param(value=k, name=str(mode).replace("/", "_")) for k, mode in enumerate(MODES)]
COMPARABLE = [each for each in EACH_MODE if NUMERICS.gmpool_fp16 is GmpoolFp16.REBIAS or not MODES[each.value].widens]
"""Modes in which a datum of SrcA may equal Dst's."""


async def _table(dut, table, bins) -> None:
    """Send columns with their bins, with gaps and stalls."""
    sent = [column.request for _, column in table]
    async with bench(dut, SIGNATURE) as frame:
        coverage = frame.coverage(bins)
        for name, _ in table:
            coverage.hit(name)
        await Pipeline(frame, STAGES).exchange(sent, "both")


@covers("gmpool_column.places", "Sign and magnitude compare by different rules above and below zero")
@cocotb.test(**LIMIT)
@cocotb.parametrize(mode=COMPARABLE)
async def maximum_in_each_place(dut, mode):
    """In each style and width, the maximum in Dst and in each of the 16 rows: positive, negative, a zero or denormal."""
    mode = MODES[mode]
    await _table(dut, list(places(NUMERICS, pauses.rng("places"), mode)), place_bins(NUMERICS, mode))


@covers(
    "gmpool_column.ties",
    "The last one of the order Dst, rows 4 to 7, 0 to 3, 8 to 15 wins; the index and an integer zero's sign show "
    "it, and no known answer does",
)
@cocotb.test(**LIMIT)
@cocotb.parametrize(mode=COMPARABLE)
async def ties_in_each_place(dut, mode):
    """The maximum in any two of Dst and the rows, and in all of them; integer zeros of both signs."""
    await _table(dut, list(ties(NUMERICS, pauses.rng("ties"), MODES[mode])), TIE_BINS)


@covers("gmpool_column.scales", "A scale of 0 puts a row below every datum; an exponent loses one bias, and may wrap")
@cocotb.test(**LIMIT)
@cocotb.parametrize(mode=EACH_MODE)
async def scale_exponents(dut, mode):
    """Scale exponents 0, 1, 127, 254, 255 (FP16: 0, 1, 15, 30, 31) with SrcA exponents next to the ends; sums that
    wrap."""
    mode = MODES[mode]
    await _table(dut, list(scaled(NUMERICS, pauses.rng("scales"), mode)), scale_bins(NUMERICS, mode))


@covers("gmpool_column.scales")
@cocotb.test(**LIMIT)
@cocotb.parametrize(mode=EACH_MODE)
async def single_bits_of_exponents(dut, mode):
    """Exponent and scale of the maximum add up to each power of two: no bit of the sum is left out."""
    sent = [column.request for column in single_bits(NUMERICS, pauses.rng("scales"), MODES[mode])]
    async with bench(dut, SIGNATURE) as frame:
        await Pipeline(frame, STAGES).exchange(sent, "both")


@covers("gmpool_column.chains", "An undefined word is below every datum; the count of argmax grows by one and wraps")
@cocotb.test(**LIMIT)
async def chains(dut):
    """Four instructions onto one Dst row that was undefined, each with its own SrcB row, with and without argmax."""
    rng = pauses.rng("chains")
    count = max(1, CASES // len(MODES) // CHAIN)
    sent = [column.request for mode in MODES for _ in range(count) for column in chain(NUMERICS, rng, mode, CHAIN)]
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, STAGES).sweep(sent)


@covers("gmpool_column.stream", "Each request carries its own control and scales")
@cocotb.test(**LIMIT)
@cocotb.parametrize(pace=list(PACES))
async def random_columns(dut, pace):
    """Every style, width and argmax in any order, full speed, gaps, stalls and both; latency; resets."""
    rng = pauses.rng("columns")
    columns = [any_column(NUMERICS, rng, mode) for mode in MODES]
    columns += [any_column(NUMERICS, rng, rng.choice(MODES)) for _ in range(CASES - len(columns))]
    async with bench(dut, SIGNATURE) as frame:
        coverage = frame.coverage(map(str, MODES))
        for column in columns:
            coverage.hit(column.mode)
        await Pipeline(frame, STAGES).exchange([column.request for column in columns], pace)


def _some(rng, count: int) -> list:
    return [any_column(NUMERICS, rng, rng.choice(MODES)).request for _ in range(count)]


@covers("gmpool_column.stream")
@cocotb.test(**LIMIT)
async def latency_is_the_number_of_stages(dut):
    sent = _some(pauses.rng("columns"), 20)
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, STAGES).one_at_a_time(sent)


@covers("gmpool_column.stream")
@cocotb.test(**LIMIT, skip=not STAGES)
async def resets(dut):
    """Reset with columns in every pipeline stage; a combinational unit has no reset."""
    rng = pauses.rng("columns")
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, STAGES).resets(lambda: _some(rng, 2))
