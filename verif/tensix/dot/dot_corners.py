"""Directed corners of the Tensix dot product: cases for every bin of :mod:`.dot_bins`."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod
from random import Random

from bitpath.golden.tensix.declarations.formats import COLUMNS, PHASES, Style
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.exact.accumulate import SUM_FRACTION_BITS
from bitpath.golden.tensix.exact.multiplier import PRODUCT_FRACTION_BITS
from bitpath.verif.common.boundary_codes import breaks
from bitpath.verif.tensix.dot.dot import (
    SRC_SIGN,
    DotCase,
    Mode,
    cancelling,
    close_case,
    dst_word,
    exponent_range,
    float_word,
    huge_case,
    lone,
    product_words,
    split,
)
from bitpath.verif.tensix.dot.dot_bins import (
    DST_DISTANCES,
    SUM_DISTANCES,
    boundaries,
    boundary_exponent,
    product_distances,
    sum_grid,
)
from bitpath.verif.tensix.dot.dot_found import found

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
