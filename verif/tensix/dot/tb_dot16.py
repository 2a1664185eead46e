"""Bench of the Tensix dot product: classes, corners of every style, integers, single lanes, volume, latency, resets.

Expected values come from golden before anything is driven. ``BITPATH_CASES`` sets the random cases of a test.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod
from random import Random

import cocotb
import numpy as np

from bitpath.golden.tensix import mvmul
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, PHASES, Style
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.exact.dot import PRODUCT_FRACTION_BITS, SUM_FRACTION_BITS
from bitpath.rtl.tensix.dot.dot16 import Dot16
from bitpath.rtl.tensix.dot.layouts import Dot16Config
from bitpath.verif.common.boundary_codes import breaks
from bitpath.verif.kit import pauses
from bitpath.verif.kit.coverage import Coverage
from bitpath.verif.kit.mismatches import Context
from bitpath.verif.kit.pipeline import Made, Request, StreamBench
from bitpath.verif.kit.testplan import covers
from bitpath.verif.tensix.dot import dot as special
from bitpath.verif.tensix.dot.dot import (
    DST_DISTANCES,
    FLOAT_MODES,
    INT32_MAX,
    INTEGER_MODE,
    SRC_SIGN,
    SUM_DISTANCES,
    DotCase,
    Mode,
    bins,
    block_payloads,
    boundaries,
    boundary_exponent,
    cancelling,
    close_case,
    dst_word,
    exponent_range,
    float_word,
    hits,
    huge_case,
    integer_case,
    lone,
    product_distances,
    product_words,
    random_cases,
    split,
    sum_grid,
)

# Operands of the Tensix dot product from a solver: each detects one small fault of the RTL.


FOUND = (
    (
        Mode(Style.BF16, False),
        0,
        "77C80 6BC00 77E40 77340 6F680 77F40 7FE40 40000 6E7C0 6E7C0 7DD00 787C0 7C7C0 7ADC0 7C740 78780",
        "20200 6B920 20980 21180 29360 20A10 189D0 145A0 2A3F0 2A3F0 40000 203F0 1C3F0 5AAB0 1C3B0 20380",
        0x6C87,
    ),
    (
        Mode(Style.BF16, False),
        3,
        "7FFF8 7FFF0 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8",
        "5FFF8 617F8 617F8 617F8 213F8 217F8 5F7F8 217F8 5FBF8 61BF0 617F0 21BF8 21BF8 21BF8 21BF8 21BF8",
        0x7987,
    ),
    (
        Mode(Style.BF16, True),
        1,
        "7A028 6FC38 5E828 73828 7BC38 7BC18 6FC30 7BC38 74838 74410 77C20 72C30 5E838 7A838 7BC38 74838",
        "411B0 4ABC0 1E1D0 09230 00D90 00DF0 0CE40 00FB0 083F0 081F0 43E80 08BC0 1E380 02300 00FD0 083F0",
        0xB77B407F,
    ),
    (
        Mode(Style.BF16, False),
        0,
        "4FD00 4FF40 4FFC0 4FF00 4F980 4FC00 4FB80 4F800 47D80 47C80 47A80 47980 47F40 47D40 47F00 47F00",
        "4CDE0 4FF40 4FA50 4FF60 0F230 4F9E0 0FB80 0F8E0 4BCB0 4BF30 0A890 0B1C0 099A0 4B9F0 4C250 4C370",
        0x410,
    ),
    (
        Mode(Style.BF16, False),
        0,
        "5F180 5F340 5DBC0 5DB80 5E040 5FBC0 5FBC0 5FBC0 5E3C0 5E300 5F340 5E3C0 5DF40 5E000 5FBC0 57AC0",
        "00830 40440 007F0 00650 00BB0 007C0 407D0 407E0 02240 02000 00410 02250 01E90 00400 00610 48940",
        0x280,
    ),
    (
        Mode(Style.BF16, False),
        2,
        "7FFF8 7FFF8 40000 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 7FFF8 5FFF8 5FC78",
        "40000 40000 7FFF0 40000 40000 40000 40000 40000 40000 40000 40000 40000 40000 40000 02008 01008",
        0xA0,
    ),
)
"""Mode and phase, 16 words of SrcA and of SrcB as hexadecimal digits, and Dst."""


def found(mode: Mode) -> Iterator[DotCase]:
    for of_mode, phase, a, b, dst in FOUND:
        if of_mode == mode:
            yield DotCase(mode, phase, _words(a), _words(b), dst)


def _words(digits: str) -> tuple[int, ...]:
    return tuple(int(word, 16) for word in digits.split())


# Directed corners of the Tensix dot product: cases for every bin of `bins`.


A_FIELDS, B_FIELDS = range(16, 32), range(64, 128)
"""Fields of phase 0 with their hidden bits."""
FIELDS = sorted(product(A_FIELDS, B_FIELDS), key=prod)
"""Pairs of such fields, in the order of their products."""
PRODUCTS = [*map(prod, FIELDS)]
HALF_PLACES = 12
"""Fraction bits of a sum below half a unit of a 16-bit Dst, which keeps 10 of 23."""
HALF_BELOW = 14
"""Binades from a sum to Dst at which the lowest product bit is half a unit of 2**-23."""
TRIES = 1000
"""Random choices of products before a sum counts as none of theirs."""
REPEATS = 3
"""Number of cases for every corner; all other properties are random."""


def corners(numerics: TensixNumerics, rng: Random, mode: Mode) -> list[DotCase]:
    """Return cases for every bin of a mode."""
    makers = (_product_distances, _sum_distances, _dst_distances, _ties, _units, _cancellations)
    makers += (_nearly_all_ones, _ends, _empty_fields, _zeros)
    made = [case for maker in makers for _ in range(REPEATS) for case in maker(numerics, rng, mode)]
    broken = [case for maker in (_boundaries, _broken_dst_ties) for case in maker(numerics, rng, mode)]
    return [*made, *broken, *found(mode)]


def _sweep(rng: Random, distances: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield distances with phases: phase 0, in which no field is empty, and a random one."""
    for distance in distances:
        yield distance, 0
        yield distance, rng.randrange(PHASES)


def _spread(rng: Random, lanes: dict[int, int]) -> list[int | None]:
    return [lanes.get(k) for k in range(COLUMNS)]


def _product_distances(numerics: TensixNumerics, rng: Random, mode: Mode) -> Iterator[DotCase]:
    """Two products of a group at each distance, and a Dst near them."""
    for distance, phase in _sweep(rng, (*range(product_distances(numerics) + 1), 40)):
        bottom, top = exponent_range(mode, phase)
        high = rng.randint(min(bottom + distance, top), top)
        base = rng.randrange(0, COLUMNS, numerics.group)
        first, second = rng.sample(range(base, base + numerics.group), 2)
        words = product_words(rng, mode, phase, _spread(rng, {first: high, second: high - distance}))
        yield DotCase(mode, phase, *words, dst_word(rng, mode, high + rng.randint(-12, 3)))


def _sum_distances(numerics: TensixNumerics, rng: Random, mode: Mode) -> Iterator[DotCase]:
    """A group sum at each distance below Dst."""
    for distance, phase in _sweep(rng, (*range(SUM_DISTANCES), 45)):
        bottom, top = exponent_range(mode, phase)
        highest = min(top, mode.dst_format.exponent_mask - distance)
        if mode.style is Style.FP16 and not mode.dst32 and distance > SUM_DISTANCES - 1:
            # Dst cannot be this far above, but another group can.
            base = rng.randint(1, 2)
            words = product_words(rng, mode, 0, _spread(rng, {0: base, COLUMNS - 1: base + distance}))
            yield DotCase(mode, 0, *words, 0)
            continue
        exponent = rng.randint(bottom, max(bottom, highest))
        lanes = rng.sample(range(numerics.group), rng.choice((1, 1, 3)))
        words = product_words(rng, mode, phase, _spread(rng, dict.fromkeys(lanes, exponent)))
        yield DotCase(mode, phase, *words, dst_word(rng, mode, exponent + distance))


def _dst_distances(numerics: TensixNumerics, rng: Random, mode: Mode) -> Iterator[DotCase]:
    """Dst at each distance below a group sum."""
    for distance, phase in _sweep(rng, (*range(DST_DISTANCES + 1), 40)):
        bottom, top = exponent_range(mode, phase)
        high = min(top, mode.dst_format.exponent_mask + distance)
        exponent = rng.randint(min(high, max(bottom, 1 + distance)), high)
        words = product_words(rng, mode, phase, _spread(rng, {rng.randrange(COLUMNS): exponent}))
        yield DotCase(mode, phase, *words, dst_word(rng, mode, exponent - distance))


def _field_words(fields: tuple[int, int], exponents: tuple[int, int], sign: int) -> tuple[int, int]:
    """Return sources with these fields in phase 0, whose product has this sign."""
    (a, b), (x, y) = fields, exponents
    return sign * SRC_SIGN | x << 10 | a << 6 & 0x3FF, y << 10 | b << 4 & 0x3FF


def _odd_fields(rng: Random) -> tuple[int, int]:
    return rng.randrange(17, 32, 2), rng.randrange(65, 128, 2)


def _dot(mode: Mode, pairs: list[tuple[int, int]], dst: int) -> DotCase:
    """Return a case in phase 0 with these sources in the lowest lanes."""
    pairs = pairs + [(0, 0)] * (COLUMNS - len(pairs))
    return DotCase(mode, 0, tuple(a for a, _ in pairs), tuple(b for _, b in pairs), dst)


def _ties(numerics: TensixNumerics, rng: Random, mode: Mode) -> Iterator[DotCase]:
    """Odd products and a Dst of odd fraction, at distances that make the last bit a half."""
    fmt = mode.dst_format
    last = SUM_FRACTION_BITS - fmt.fraction_bits
    bottom, top = exponent_range(mode, 0)
    for sign in (0, 1):
        product_below = 1 + numerics.product_guard_bits
        exponent = rng.randint(bottom + product_below, min(top, fmt.exponent_mask))
        pairs = [
            _field_words(_odd_fields(rng), split(rng, mode, 0, exponent - below), sign) for below in (0, product_below)
        ]
        yield _dot(mode, pairs, dst_word(rng, mode, exponent))
        # Half a unit of 2**-23, then half a unit of 2**-10, which a 16-bit Dst keeps.
        for sum_below, dst_below in ((14, last + 1), (1, last - 12)):
            exponent = rng.randint(bottom, min(top, fmt.exponent_mask - sum_below))
            pair = _field_words(_odd_fields(rng), split(rng, mode, 0, exponent), sign)
            yield _dot(mode, [pair], dst_word(rng, mode, exponent + sum_below))
            if dst_below > 0:
                exponent = rng.randint(max(bottom, 1 + dst_below), min(top, fmt.exponent_mask))
                pair = _field_words(_odd_fields(rng), split(rng, mode, 0, exponent), rng.getrandbits(1))
                dst = dst_word(rng, mode, exponent - dst_below) & fmt.sign_mask - 1 | 1 | sign * fmt.sign_mask
                yield _dot(mode, [pair], dst)


def _nearly_all_ones(numerics: TensixNumerics, rng: Random, mode: Mode) -> Iterator[DotCase]:
    """Group sums near a double rounding tie of a 16-bit Dst.

    The discarded bits are all ones, or all but one, with a half below them that carries into them.
    """
    bottom, top = exponent_range(mode, 0)
    highest = min(top, mode.dst_format.exponent_mask - HALF_BELOW)
    if mode.dst32 or highest < bottom:
        return
    for zero, odd, sign in product(range(HALF_PLACES + 1), (0, 1), (0, 1)):
        # Bit 0 is the half; each other bit is zero in turn, or none for bit 0.
        total = (2 << HALF_PLACES) - 1 - (1 << zero if zero else 0) | odd << HALF_PLACES + 2
        fields = _fields_adding_up(rng, total, numerics.group)
        exponent = rng.randint(bottom, highest)
        pairs = [_field_words(each, split(rng, mode, 0, exponent), sign) for each in fields]
        if pairs:
            yield _dot(mode, pairs, dst_word(rng, mode, exponent + HALF_BELOW))


def _fields_adding_up(rng: Random, total: int, most: int) -> list[tuple[int, int]]:
    """Return fields whose products have this sum, or none if it takes too many products."""
    smallest, largest = PRODUCTS[0], PRODUCTS[-1]
    if not smallest <= total <= most * largest:
        return []
    fewest, many = -(-total // largest), min(most, total // smallest)
    for _ in range(TRIES):
        fields, rest = [], total
        for left in reversed(range(rng.randint(fewest, many))):
            # Only products that leave a possible sum for the products after them; the last must be the rest itself.
            first = bisect_left(PRODUCTS, rest - left * largest)
            end = bisect_right(PRODUCTS, rest - left * smallest)
            if first == end:
                break
            fields.append(FIELDS[rng.randrange(first, end)])
            rest -= prod(fields[-1])
        else:
            return fields
    return []


def _boundaries(numerics: TensixNumerics, rng: Random, mode: Mode) -> Iterator[DotCase]:
    """Ties, and ties that one bit breaks, below the kept bits of a sum.

    Kept bits are all ones where rounding up overflows or reaches the smallest normal number; elsewhere they are even, so
    that the sticky bit alone decides a rounding to nearest even.
    """
    fmt = mode.dst_format
    units = SUM_FRACTION_BITS if mode.dst32 else PRODUCT_FRACTION_BITS
    for name, how, places in boundaries(mode):
        dropped = rng.choice(places)
        kept = (2 << fmt.fraction_bits) - (2 if name == "normal" else 1)
        total = int((kept + Fraction(1, 2) + breaks(dropped)[how]) * (1 << dropped))
        for sign in (0, 1):
            exponent = boundary_exponent(mode, name, dropped)
            yield _dot(mode, *_adding_up(rng, mode, total << SUM_FRACTION_BITS - units, exponent, sign))


def _adding_up(rng: Random, mode: Mode, total: int, exponent: int, sign: int) -> tuple[list[tuple[int, int]], int]:
    """Return sources and a Dst word, all of one exponent, whose sum is ``total`` units of 2**-23 and has this sign."""
    fmt = mode.dst_format
    places = SUM_FRACTION_BITS - fmt.fraction_bits
    product_places = SUM_FRACTION_BITS - PRODUCT_FRACTION_BITS
    while True:
        # The lowest bits of the sum are those of Dst, where products have none.
        held = (1 << fmt.fraction_bits | rng.getrandbits(fmt.fraction_bits)) << places
        held -= held % (1 << product_places)
        low = total % (1 << product_places)
        for opposite in (0, 1):
            dst = held + (-low % (1 << product_places) if opposite else low)
            fields = _fields_adding_up(rng, total + (dst if opposite else -dst) >> product_places, COLUMNS)
            if fields:
                word = (
                    (sign ^ opposite) * fmt.sign_mask
                    | exponent << fmt.fraction_bits
                    | dst >> places & fmt.fraction_mask
                )
                return [_field_words(each, split(rng, mode, 0, exponent), sign) for each in fields], word


def _broken_dst_ties(numerics: TensixNumerics, rng: Random, mode: Mode) -> Iterator[DotCase]:
    """A Dst whose alignment discards a tie, or a tie that one bit breaks."""
    fmt = mode.dst_format
    bottom, top = exponent_range(mode, 0)
    for beside in breaks(fmt.fraction_bits).values():
        shift = rng.randint(max(1, beside.denominator.bit_length() - 1), fmt.fraction_bits)
        discarded = int((Fraction(1, 2) + beside) * (1 << shift))
        # A discarded bit is this many places below the grid.
        distance = shift - fmt.fraction_bits + sum_grid(numerics, mode)
        exponent = rng.randint(max(bottom, 1 + distance), min(top, fmt.exponent_mask))
        pair = _field_words(_odd_fields(rng), split(rng, mode, 0, exponent), rng.getrandbits(1))
        for sign in (0, 1):
            kept = dst_word(rng, mode, exponent - distance) & fmt.sign_mask - 1 >> shift << shift
            yield _dot(mode, [pair], kept | discarded | sign * fmt.sign_mask)


def _units(numerics: TensixNumerics, rng: Random, mode: Mode) -> Iterator[DotCase]:
    """Sums of 0 and of plus and minus one unit: the last place of Dst against 1.0, or two products against each other.

    The two products are also so small that the exponent of their sum is not positive.
    """
    fmt = mode.dst_format
    bottom, top = exponent_range(mode, 0)
    for sign in (0, 1):
        highest = min(top, fmt.exponent_mask)
        for exponent in (rng.randint(bottom, highest), rng.randint(bottom, bottom + 5)):
            exponents = split(rng, mode, 0, exponent)
            one = _field_words((16, 64), exponents, sign)
            minus_one = (1 - sign) * fmt.sign_mask | exponent << fmt.fraction_bits
            yield _dot(mode, [one], minus_one)
            yield _dot(mode, [one], minus_one | 1)
            yield _dot(mode, [_field_words((31, 65), exponents, sign), _field_words((19, 106), exponents, 1 - sign)], 0)


def _cancellations(numerics: TensixNumerics, rng: Random, mode: Mode) -> Iterator[DotCase]:
    """A product and a Dst that cancels it up to a few units; two products; small exponents too."""
    for _ in range(8):
        phase = rng.randrange(2)
        bottom, top = exponent_range(mode, phase)
        exponent = rng.randint(bottom, min(top, mode.dst_format.exponent_mask - 1))
        words = product_words(rng, mode, phase, _spread(rng, {rng.randrange(COLUMNS): exponent}))
        yield cancelling(numerics, rng, DotCase(mode, phase, *words, 0))
        small = close_case(rng, mode, phase, bottom, bottom + 3)
        a = [small.a[0], small.a[0] ^ SRC_SIGN, *(0 for _ in range(COLUMNS - 2))]
        b = [small.b[0], small.b[0] ^ (rng.getrandbits(7) & -8), *(0 for _ in range(COLUMNS - 2))]
        yield replace(small, a=tuple(a), b=tuple(b), dst=0)


def _ends(numerics: TensixNumerics, rng: Random, mode: Mode) -> Iterator[DotCase]:
    """Both ends of the exponents of sources and Dst; groups of underflowing products."""
    fmt, top = mode.dst_format, mode.source_exponent_max
    for phase in range(PHASES):
        yield huge_case(rng, mode, phase)
        for x, y in ((top, top), (top, 1), (1, top), (top, top // 2 + 1)):
            words = lone(float_word(rng, x)), lone(float_word(rng, y))
            yield DotCase(mode, phase, *words, dst_word(rng, mode, rng.choice((1, fmt.bias, fmt.exponent_mask))))
        bottom = 1 + mode.offset(phase)
        exponents = [rng.randint(bottom, bottom + 4) if k < numerics.group else None for k in range(COLUMNS)]
        for each in (exponents, [5, *exponents[1:]]):
            words = product_words(rng, mode, phase, each)
            yield DotCase(mode, phase, *words, rng.choice((0, dst_word(rng, mode, 2))))


def _empty_fields(numerics: TensixNumerics, rng: Random, mode: Mode) -> Iterator[DotCase]:
    """A product with an empty field has the largest exponent, in every phase with such fields."""
    for phase in range(1, PHASES):
        bottom, top = exponent_range(mode, phase)
        exponent = rng.randint(bottom, top - 4)
        exponents = _spread(rng, {0: exponent + rng.randint(1, 4), 1: exponent})
        a, b = (list(words) for words in product_words(rng, mode, phase, exponents))
        if phase & 1:
            a[0] &= ~0x3F
        else:
            b[0] &= ~0xF
        # A bit of either low field that BF16 also has.
        a[1] |= 1 << 5
        b[1] |= 1 << 3
        yield DotCase(mode, phase, tuple(a), tuple(b), dst_word(rng, mode, exponent + rng.randint(-4, 4)))


def _zeros(numerics: TensixNumerics, rng: Random, mode: Mode) -> Iterator[DotCase]:
    """Products of zeros alone, against a Dst around their exponents in style FP16."""
    for phase in range(PHASES):
        for distance in (-3, 0, 1, 5, 12, 24, 25, 40):
            exponent = max(mode.offset(phase), 30) - distance
            words = [[float_word(rng, 0) for _ in range(COLUMNS)] for _ in range(2)]
            # One zero source is enough.
            words[rng.randrange(2)] = [float_word(rng, rng.randint(0, 31)) for _ in range(COLUMNS)]
            yield DotCase(mode, phase, *map(tuple, words), dst_word(rng, mode, exponent))


def draw(kinds: Sequence[None], rng: Random) -> list[Request]:
    return requests(random_cases(NUMERICS, rng, len(kinds)))


BENCH = StreamBench(__name__, Dot16Config, Dot16, (None,), draw, default_cases=500, draws="operands")
NUMERICS = BENCH.config.numerics
random_classes, latency, resets = BENCH.tests("random_classes")
covers(
    "dot16.random",
    "Each class stresses one part of alignment and rounding",
    "Random operands of six classes (any, close, tiny, huge, cancelling, integers), every style, both widths of "
    "Dst, all phases and operations, equal the exact tier bit for bit",
    random_classes,
)
covers(
    "dot16.handshake",
    "A stage that advances alone, or a payload that changes while valid waits for ready, loses or repeats a result",
    "Results and their order are correct with gaps, stalls, both, and at full throughput, for 0 to 4 pipeline "
    "stages; resets",
    random_classes,
    latency,
    resets,
)
covers(
    "dot16.latency",
    "The Matrix unit relies on the latency, without a handshake",
    "A result appears once, exactly ``stages`` cycles after its operands",
    latency,
)


def requests(cases: list[DotCase]) -> list[Request]:
    """Return the cases with the results of the exact tier."""
    return [Request(case.payload(NUMERICS), case.result(NUMERICS), shown_by(case)) for case in cases]


def shown_by(case: DotCase) -> Context:
    """Return the context of a case's result."""
    return lambda _: case.shown(NUMERICS)


@covers(
    "dot16.distance",
    "Each of the three shifters discards and rounds at its own bit positions",
    "Every alignment distance of products, of group sums and of Dst, up to a complete shift-out and beyond",
)
@covers(
    "dot16.carry_into_the_second_rounding",
    "Only the increment of the first rounding makes them a tie: its carry passes twelve bits",
    "Sums whose bits below half a unit of a 16-bit Dst are all ones, or all but one, followed by a half",
)
@covers(
    "dot16.ties",
    "tt-metal#46101 confirms the two roundings; ties round away from zero, those of sums toward +infinity",
    "Ties of both signs in the alignment of products, sums and Dst, in the second rounding of a 16-bit Dst, and "
    "in the result",
)
@covers(
    "dot16.units",
    "tt-metal#38306: rare enough that random products miss it",
    "Sums that cancel to 0, +1 and -1 unit, with and without the renormalisation bug of -1 unit",
)
@covers(
    "dot16.range",
    "There is no infinity on input, and no denormal on output",
    "Overflow and underflow of both signs, groups below exponent 1, negative exponents beside positive ones, "
    "exponent codes 255 and 31 of SrcA, SrcB and Dst as normal numbers",
)
@covers(
    "dot16.boundaries",
    "A lost sticky bit, a rounding after the range check or a tie that overflows too late shows there alone",
    "Sums of ones in all kept bits below infinity, below the smallest normal number and between: ties, and ties "
    "that one bit breaks, at every distance; the same in the alignment of Dst",
)
@covers(
    "dot16.found",
    "Random sums expose these faults in alignment distance, normalisation and final rounding too rarely",
    "Operands from a solver that detect single-bit faults which all other tests miss",
)
@covers(
    "dot16.zeros",
    "Both shift and round a Dst even if all addends are zero",
    "Operands whose field is 0 keep their exponent; products of zeros keep 97, 92, 90 and 85 in style FP16 with a "
    "32-bit Dst",
)
@BENCH.exchange(
    "both", mode=[cocotb.Param(value=k, name=str(each).replace(" ", "_")) for k, each in enumerate(FLOAT_MODES)]
)
def directed_corners(mode: int) -> Made:
    mode = FLOAT_MODES[mode]
    traced = [(case, case.trace(NUMERICS)) for case in corners(NUMERICS, pauses.rng("corners"), mode)]
    sent = [Request(case.payload(NUMERICS), trace.result, shown_by(case)) for case, trace in traced]
    return sent, Coverage(bins(NUMERICS, mode), (name for each in traced for name in hits(NUMERICS, *each)))


@covers("dot16.integers", "Style INT8 uses the same adders with different weights")
@BENCH.exchange("both")
def integers() -> Made:
    """Saturation at both ends and the largest sums that just fit, in every phase; cancellation and Dst's -0 to +0;
    every bit of either source."""
    table = list(special.integers(NUMERICS, pauses.rng("integers")))
    sent = requests([case for _, case in table])
    named = [(name, request.expected) for (name, _), request in zip(table, sent, strict=True)]
    stated = {
        "saturates": lambda result: result & INT32_MAX == INT32_MAX,
        "cancels": lambda result: result == 0,
        "minus zero": lambda result: result == 0,
    }
    held = (name for name, result in named if stated.get(name.split("/")[0], lambda _: True)(result))
    return sent, Coverage((name for name, _ in named), held)


@covers(
    "dot16.add",
    "Two significands replace two products",
    "ELWADD and ELWSUB: every distance either way, ties, cancellation, zeros, largest codes, in any phase",
)
@covers(
    "dot16.multiply",
    "The Matrix unit has no other datapath for ELWMUL",
    "ELWMUL is the dot product with zeros in 15 lanes",
)
@BENCH.exchange("both", operation=["additions", "products"])
def single_lanes(operation) -> Made:
    """ELWADD and ELWSUB, and ELWMUL as a dot product with zeros in the other lanes."""
    table = list(getattr(special, operation)(NUMERICS, pauses.rng(operation)))
    sent = requests([case for _, case in table])
    return sent, Coverage((name for name, _ in table), (name for name, _ in table))


@covers("dot16.volume", "Compares with the second tier of golden, with many results at full throughput")
@BENCH.sweep()
def volume() -> Made:
    """Whole MVMULs of every style, width and phase equal the vectorised model."""
    rng = pauses.rng("volume")
    sent = []
    for mode in (*FLOAT_MODES, INTEGER_MODE):
        for phase in range(PHASES):
            for _ in range(max(1, BENCH.cases // 500)):
                sent += _mvmul(rng, mode, phase)
    return sent


def _mvmul(rng, mode: Mode, phase: int) -> list[Request]:
    """Return an MVMUL whose rows, columns and Dst come from similar random cases."""
    low, high = (0, 0) if mode.style is Style.INT8 else exponent_range(mode, phase)
    centre = rng.randint(low, min(high, mode.dst_format.exponent_mask))

    def case() -> DotCase:
        return integer_case(rng, phase) if mode.style is Style.INT8 else close_case(rng, mode, phase, centre, centre)

    rows = np.array([case().b for _ in range(BLOCK_ROWS)], np.uint32)
    columns = np.array([case().a for _ in range(COLUMNS)], np.uint32)
    dst = np.array([[case().dst for _ in range(COLUMNS)] for _ in range(BLOCK_ROWS)], np.uint32)
    new = mvmul(dst, rows, columns.T.copy(), style=mode.style, dst32=mode.dst32, phase=phase, numerics=NUMERICS)
    payloads = block_payloads(NUMERICS, mode, phase, dst.tolist(), rows.tolist(), columns.tolist())
    cases = [
        DotCase(mode, phase, tuple(column), tuple(row), word)
        for row, words in zip(rows.tolist(), dst.tolist(), strict=True)
        for column, word in zip(columns.tolist(), words, strict=True)
    ]
    results = new.ravel().tolist()
    return [Request(*pair, shown_by(case)) for *pair, case in zip(payloads, results, cases, strict=True)]
