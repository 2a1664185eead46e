"""Bench of GMPOOL's column: a maximum in each place, ties, scales, chains of instructions, random columns, latency, resets.

GMPOOL rounds nothing: it adds exponents and compares; the maximum and each tie stand in every place.

Expected values come from golden's exact tier before anything is driven. ``BITPATH_CASES`` sets the random columns of a test.
"""

from collections.abc import Sequence
from random import Random

import cocotb

from bitpath.golden.tensix.declarations.numerics import GmpoolFp16
from bitpath.rtl.tensix.pool.gmpool_column import GmpoolColumn
from bitpath.rtl.tensix.pool.layouts import GmpoolColumnConfig
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import config_from_environment
from bitpath.verif.kit.coverage import Coverage
from bitpath.verif.kit.pipeline import Made, Request, StreamBench
from bitpath.verif.kit.testplan import covers
from bitpath.verif.tensix.pool.gmpool import (
    MODES,
    TIE_BINS,
    Column,
    Mode,
    any_column,
    chain,
    place_bins,
    places,
    scale_bins,
    scaled,
    single_bits,
    ties,
)

NUMERICS = config_from_environment(GmpoolColumnConfig).numerics
CHAIN = 4
"""Instructions onto one Dst row."""
EACH_MODE = [cocotb.Param(value=k, name=str(mode).replace("/", "_")) for k, mode in enumerate(MODES)]
COMPARABLE = [each for each in EACH_MODE if NUMERICS.gmpool_fp16 is GmpoolFp16.REBIAS or not MODES[each.value].widens]
"""Modes in which a datum of SrcA may equal Dst's."""


def draw(modes: Sequence[Mode], rng: Random) -> list[Request]:
    return [any_column(NUMERICS, rng, mode).request for mode in modes]


BENCH = StreamBench(
    __name__,
    GmpoolColumnConfig,
    GmpoolColumn,
    MODES,
    draw,
    lambda mode: (str(mode),),
    default_cases=300,
    draws="columns",
)
random_columns, latency, resets = BENCH.tests("random_columns")
covers(
    "gmpool_column.stream",
    "Each request carries its own control and scales",
    "Every style, width and argmax in any order, full speed, gaps, stalls and both; latency; resets",
    random_columns,
    latency,
    resets,
)


def _table(table: list[tuple[str, Column]], bins: Sequence[str]) -> Made:
    return [column.request for _, column in table], Coverage(bins, (name for name, _ in table))


@covers("gmpool_column.places", "Sign and magnitude compare by different rules above and below zero")
@BENCH.exchange("both", mode=COMPARABLE)
def maximum_in_each_place(mode: int) -> Made:
    """In each style and width, the maximum in Dst and in each of the 16 rows: positive, negative, a zero or denormal."""
    return _table(list(places(NUMERICS, pauses.rng("places"), MODES[mode])), place_bins(NUMERICS, MODES[mode]))


@covers(
    "gmpool_column.ties",
    "The last one of the order Dst, rows 4 to 7, 0 to 3, 8 to 15 wins; the index and an integer zero's sign show "
    "it, and no known answer does",
)
@BENCH.exchange("both", mode=COMPARABLE)
def ties_in_each_place(mode: int) -> Made:
    """The maximum in any two of Dst and the rows, and in all of them; integer zeros of both signs."""
    return _table(list(ties(NUMERICS, pauses.rng("ties"), MODES[mode])), TIE_BINS)


@covers("gmpool_column.scales", "A scale of 0 puts a row below every datum; an exponent loses one bias, and may wrap")
@BENCH.exchange("both", mode=EACH_MODE)
def scale_exponents(mode: int) -> Made:
    """Scale exponents 0, 1, 127, 254, 255 (FP16: 0, 1, 15, 30, 31) with SrcA exponents next to the ends; sums that
    wrap."""
    return _table(list(scaled(NUMERICS, pauses.rng("scales"), MODES[mode])), scale_bins(NUMERICS, MODES[mode]))


@covers("gmpool_column.scales")
@BENCH.exchange("both", mode=EACH_MODE)
def single_bits_of_exponents(mode: int) -> Made:
    """Exponent and scale of the maximum add up to each power of two: no bit of the sum is left out."""
    return [column.request for column in single_bits(NUMERICS, pauses.rng("scales"), MODES[mode])]


@covers("gmpool_column.chains", "An undefined word is below every datum; the count of argmax grows by one and wraps")
@BENCH.sweep()
def chains() -> Made:
    """Four instructions onto one Dst row that was undefined, each with its own SrcB row, with and without argmax."""
    rng = pauses.rng("chains")
    count = max(1, BENCH.cases // len(MODES) // CHAIN)
    return [column.request for mode in MODES for _ in range(count) for column in chain(NUMERICS, rng, mode, CHAIN)]
