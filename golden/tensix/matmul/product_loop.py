"""Tensix's matrix products, compiled: all MVMULs of rows by columns, by tiles of K, phases and halves of a tile.

A step adds 16 products to a row of Dst words. Steps are of two kinds, which give the same bits:

- *Plain*: 32-bit lanes, for numerics that `plain_fields` takes and tiles of operands with near exponents.
- *General*: `mvmul_loop` on float64 lanes, for all others: whole rows of a block of the result.

Exponents. A product has the exponent e = e_a + e_b + offset, where a phase has one offset; a product of a zero has
max(offset, 0), or 0. A group has the maximum E of its exponents, and is 0 unless E > 0. With a number e is above the offset, so
zeros decide E only where a group has no number, or where E is not above 0 without them either. Hence E = m + offset, with m the
maximum of e_a + e_b over numbers, or `group_of_zeros`: one m serves all phases.

Plain sums. An operand is the float32 number s * 2**(e - r) of its significand s, its exponent e and a reference r of its tile;
`A_SPAN` and `SPAN` keep operands and products normal. SrcA's significands of 5 bits are times 1 + 2**-19, which gives 24 bits.
In units of a product's last place at exponent m::

    x = p * (1 + 2**-19)                          p has 12 bits, and is a multiple of its own last place u
    t = c + x[0] + ... + x[7],  c = 1.5 * 2**23   each addition rounds to a multiple of 1
    sum = bits(t) - bits(c)

p and all ties are multiples of the smaller of u and 1/2. The step from p to x is below 2**12 * 2**-19 * u, away from zero, so
that an x of a tie is beyond it and no other x reaches one. Where the addition is not fused, x is rounded to 24 bits, and stays
between p and the next such multiple. The sum is below 2**15, so that t's last place is 1 throughout. Since no x is a tie, each
addition rounds x alone, as RNA rounds p.

Plain addition. A sum is at most 8 * 31 * 127 < 2**15, so that two sums and Dst's significand, in units of 2**-23, have a total
below 2**29. Doubled they fit in int32. With d, the distance to the highest exponent, at most 30::

    y = ((2 * v >> d) + 1) >> 1                   RNU: floor(v / 2**d + 1/2)
    y = ((2 * v - (v < 0) >> d) + 1) >> 1         RNA: a negative v that is a tie is less, and no other v reaches a tie
    w = 2 * abs(t) | (abs(t) >= 2**24)            float32(w) rounds abs(t) to 24 bits, RNA

A distance above 30 gives 0, as 30 does. From 2**24 on, float32(w) discards at least two bits of w, of which the last one is
set: w is no tie, and is above the tie that abs(t) may be. Below, w has 24 bits.

A 16-bit Dst rounds the addends once more, to 10 fraction bits. Their total has 17 bits, so that float32(w) is 2 * abs(t). It is
rounded to Dst's fraction.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bitpath.golden.arrays.bits import copy_corner
from bitpath.golden.arrays.kernels import kernel, piece
from bitpath.golden.arrays.parallel import Progress, cuts, in_parallel, owned, threads
from bitpath.golden.formats.catalogue import Rounding
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, FACE, PHASES, TILE, Format, Style
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.matrix.mvmul_integer_loop import add_integers, read_integers
from bitpath.golden.tensix.matrix.mvmul_loop import (
    A_FIELD,
    add_products,
    eight,
    general_fields,
    read_src_a,
    read_src_b,
    reading_of,
    signed,
    workspace,
)
from bitpath.golden.tensix.operands.registers import dst_fields
from bitpath.golden.tensix.operands.sources import (
    SourceFields,
    integer_flushes,
    integer_mask_a,
    integer_mask_b,
    source_fields,
)

ROWS, COLUMNS = 64, 64
"""Sizes of a block of the result: its tile of both operands fits in the L2 cache."""
SHORTEST, LONGEST = 1 << 20, 1 << 25
"""Fewest products for a thread of their own, and most between two reports of progress."""
OCTET, OCTETS = 8, 4
"""Products of a group, and groups of a tile."""
ABSENT = -(1 << 14)
"""Exponent of a zero: below every other one, and the sum of two is an int16."""
A_SPAN, SPAN, B_HIGHEST = 120, 220, 100
"""Most distance of SrcA's exponents, of both sources' together, and the float32 exponent of SrcB's highest."""
STEP_AWAY = 1 << 4
"""Bits of 1 + 2**-19 as float32, below those of 1."""
FRACTION = 23
HIDDEN = 1 << FRACTION
FRACTION_MASK = HIDDEN - 1
BIAS = 127
HALF_GRID = 1 << FRACTION - 1
SUM_SHIFT = 14
"""Places from a product's last place to half of that of Dst's significand."""


class Plain(NamedTuple):
    """Fields of plain steps.

    Attributes
    ----------
    group_of_zeros : maximum exponent of a group of zeros, before the offset.
    minus_one : what a total of -1 unit becomes.
    narrow : 1 to round addends to 10 fraction bits.
    half, kept : half a unit in the last place of Dst and the bits of a float32 word that Dst keeps.
    overflow, last, largest : the first exponent that overflows, the exponent and the significand that Dst has then.
    """

    group_of_zeros: int
    minus_one: int
    narrow: int
    half: int
    kept: int
    overflow: int
    last: int
    largest: int


NARROW = FRACTION - 10
"""Bits that the second rounding of an addend discards."""
NARROW_HALF = 1 << NARROW - 1


def plain_fields(numerics: TensixNumerics, fields: tuple[int, int]) -> Plain | None:
    """Return the fields for Dst words with these exponent and fraction bits, None where all steps must be general."""
    exponent_bits, fraction_bits = fields
    is_dst32, dropped, last = fraction_bits == FRACTION, FRACTION - fraction_bits, (1 << exponent_bits) - 1
    ties = numerics.product_tie, numerics.sum_tie, numerics.dst_tie, numerics.final_tie
    if (
        ties != (Rounding.RNA, Rounding.RNU, Rounding.RNA, Rounding.RNA)
        or (numerics.group, numerics.product_guard_bits) != (OCTET, 0)
        or not numerics.empty_terms_in_maximum
        or not (is_dst32 or numerics.pre_round)
    ):
        return None
    plain = Plain(
        group_of_zeros=0 if numerics.zero_terms_keep_bias else 2 * ABSENT,
        minus_one=-(1 << FRACTION + 4) if is_dst32 and numerics.minus_one_quirk else -1,
        narrow=not is_dst32,
        half=1 << dropped >> 1,
        kept=-1 << dropped,
        overflow=last if exponent_bits == 8 else last + 1,
        last=last,
        largest=HIDDEN if exponent_bits == 8 else (1 << fraction_bits + 1) - 1 << dropped,
    )
    return signed(plain)


def multiply(
    numerics: TensixNumerics,
    src_b: np.ndarray,
    src_a: np.ndarray,
    columns: int,
    style: Style,
    fmt: Format,
    dst32: bool,
    phases: tuple[int, ...],
    progress: Progress | None = None,
    *,
    dst: np.ndarray | None = None,
) -> np.ndarray:
    """Return the Dst words of products, uint32 [B, M, columns].

    Parameters
    ----------
    src_b, src_a : logical words, uint32 [B, M, K] and [B, K, N], K a multiple of 32, N of 16 and at least `columns`.
    style, fmt, dst32 : of both operands, and the width of Dst.
    phases : fidelity phases, in order.
    progress : is told the blocks of work done and all of them.
    dst : Dst words before, uint32 [B, M, columns], to which the products are added; None is zeros.
    """
    result = np.zeros((*src_b.shape[:2], columns), np.uint32) if dst is None else dst.copy()
    operands = result, owned(src_b), owned(src_a)
    if style is Style.INT8:
        work = _integer_work(numerics, operands, phases)
    else:
        readings = [source_fields(numerics, style, dst32, phase, (fmt, fmt)) for phase in range(PHASES)]
        work = _float_work(numerics, operands, dst_fields(style, dst32), phases, readings)
    batch, rows, depth = src_b.shape
    units = batch * -(-rows // ROWS) * -(-columns // COLUMNS)
    products = min(rows, ROWS) * min(columns, COLUMNS) * depth * len(phases)
    in_parallel(work, _parts(units, products), progress)
    return result


Operands = tuple[np.ndarray, np.ndarray, np.ndarray]
"""The result, SrcB and SrcA."""


def _float_work(
    numerics: TensixNumerics,
    operands: Operands,
    fields: tuple[int, int],
    phases: tuple[int, ...],
    readings: list[SourceFields],
) -> Callable[[slice], None]:
    """Return the work on some blocks of the result.

    Parameters
    ----------
    fields : exponent and fraction bits of a Dst word.
    readings : how each of all phases reads the sources.
    """
    general, plain = general_fields(numerics, fields), plain_fields(numerics, fields)
    table = np.array([readings[phase] for phase in phases], np.int32)
    # Phases 0 and 3 have the upper and the lower halves of both significands.
    halves = signed(readings[0]), signed(readings[3])
    counts = 1 + max(phase & 1 for phase in phases), 1 + max(phase >> 1 for phase in phases)
    arguments = np.array(phases, np.int32), table, halves, *counts, plain, *map(np.int32, fields)

    def work(part: slice) -> None:
        needs_general = np.full((part.stop - part.start, ROWS), plain is None)
        if plain is not None:
            _multiply_plain(*operands, part.start, needs_general, *arguments)
        if needs_general.any():
            _multiply_general(*operands, part.start, needs_general, table, general)

    return work


def _integer_work(numerics: TensixNumerics, operands: Operands, phases: tuple[int, ...]) -> Callable[[slice], None]:
    masks = np.array([(integer_mask_b(phase), integer_mask_a(phase)) for phase in phases], np.int32)
    flushes = [np.int32(each) for each in integer_flushes(numerics)]
    return lambda part: _multiply_integers(*operands, part.start, part.stop, masks, *flushes)


def _parts(units: int, products: int) -> list[slice]:
    """Cut blocks of the result, each of so many products, into a part for each core, neither tiny nor long."""
    longest, shortest = -(-LONGEST // products), -(-SHORTEST // products)
    return cuts(units, max(min(-(-units // threads()), longest), shortest))


@kernel(fused=True)
def _multiply_plain(
    result, src_b, src_a, first, general, phases, readings, halves, a_halves, b_halves, plain, exponent_bits, fraction_bits
):  # fmt: skip
    a, a_exponents = np.empty((a_halves, TILE, COLUMNS), np.float32), np.empty((TILE, COLUMNS), np.int16)
    b, b_exponents = np.empty((b_halves, TILE), np.float32), np.empty(TILE, np.int16)
    maxima = np.empty((OCTETS, COLUMNS), np.int16)
    dst, exponents = np.empty((ROWS, COLUMNS), np.int32), np.empty((ROWS, COLUMNS), np.int32)
    for unit in range(general.shape[0]):
        batch, top, left = _place(result, first + unit)
        rows, columns = min(ROWS, result.shape[1] - top), min(COLUMNS, src_a.shape[2] - left)
        for row in range(rows):
            words = result[batch, top + row, left : left + COLUMNS]
            _decode(words, exponent_bits, fraction_bits, dst[row], exponents[row])
        # Lanes beyond the columns compute zeros.
        a[:], a_exponents[:] = np.float32(0), np.int16(ABSENT)
        for k in range(0, src_a.shape[1], TILE):
            a_span, a_reference = _read_tile(src_a[batch], k, left, columns, halves, a, a_exponents)
            for row in range(rows):
                span, reference = _read_row(src_b[batch, top + row, k : k + TILE], halves, b, b_exponents)
                if (a_span > A_SPAN) | (a_span + span > SPAN):
                    general[unit, row] = True
                if general[unit, row]:
                    continue
                _highest(a_exponents, b_exponents, plain.group_of_zeros, maxima)
                reference = np.int32(a_reference + reference)
                for i in range(phases.shape[0]):
                    own, offset = (a[phases[i] & 1], b[phases[i] >> 1]), readings[i, 0]
                    for half in range(2):
                        _add(*own, half, maxima, reference, offset, plain, dst[row], exponents[row])
        for row in range(rows):
            if not general[unit, row]:
                words = result[batch, top + row, left : left + COLUMNS]
                _encode(dst[row], exponents[row], exponent_bits, fraction_bits, words)


@kernel(fused=True)
def _multiply_general(result, src_b, src_a, first, general, readings, fields):
    chosen, block = np.empty(ROWS, np.int64), np.empty((FACE, FACE), np.uint32)
    step = min(BLOCK_ROWS, result.shape[1])
    a, a_powers, a_least, b, b_powers, b_least, least, highest, sums = workspace(step, fields.group)
    operands = a, a_powers, a_least, b, b_powers, b_least
    dst, new = np.empty(step * FACE, np.uint32), np.empty(step * FACE, np.uint32)
    for unit in range(general.shape[0]):
        batch, top, left = _place(result, first + unit)
        count = 0
        for row in range(min(ROWS, result.shape[1] - top)):
            if general[unit, row]:
                chosen[count] = top + row
                count += 1
        for column in range(left, min(left + COLUMNS, src_a.shape[2]), FACE):
            for start in range(0, count, step):
                rows = chosen[start : min(start + step, count)]
                _take(result[batch], rows, column, dst)
                for k in range(0, src_a.shape[1], TILE):
                    for phase in range(readings.shape[0]):
                        reading = reading_of(readings[phase])
                        for half in range(k, k + TILE, FACE):
                            copy_corner(src_a[batch, half : half + FACE, column : column + FACE], block)
                            read_src_a(block, reading, fields, a, a_powers, a_least)
                            for i in range(rows.shape[0]):
                                words = src_b[batch, rows[i], half : half + FACE]
                                read_src_b(words, i, reading, fields, b, b_powers, b_least, least)
                            add_products(dst, *operands, fields, least, highest, sums, new)
                            dst, new = new, dst
                for i in range(rows.shape[0]):
                    out = result[batch, rows[i], column : column + FACE]
                    for j in range(out.shape[0]):
                        out[j] = dst[i * FACE + j]


@piece
def _take(result, rows, column, dst):
    """Copy some rows of a face of Dst words."""
    for i in range(rows.shape[0]):
        words = result[rows[i], column : column + FACE]
        for j in range(words.shape[0]):
            dst[i * FACE + j] = words[j]


@piece
def _place(result, unit):
    """Return the batch, the first row and the first column of a block of the result; a row's blocks follow each other."""
    blocks = (result.shape[2] + COLUMNS - 1) // COLUMNS
    units = (result.shape[1] + ROWS - 1) // ROWS * blocks
    return unit // units, unit % units // blocks * ROWS, unit % blocks * COLUMNS


@piece
def _read_exponents(words, mask, zeros, exponents):
    """Write the exponents of words, `ABSENT` for zeros, and return the lowest and the highest one of the others."""
    lowest, highest = np.int32(-ABSENT), np.int32(ABSENT)
    for i in range(words.shape[0]):
        exponent = np.int32(np.int32(words[i]) >> 10 & mask)
        present = (exponent != 0) | (zeros == 0)
        exponents[i] = np.int16(exponent if present else ABSENT)
        lowest = min(lowest, exponent if present else np.int32(-ABSENT))
        highest = max(highest, exponent if present else np.int32(ABSENT))
    return lowest, highest


@piece
def _read_values(words, exponents, reference, mask, right, field_mask, left, step, values):
    """Write the signed fields of words times powers of two, of exponents less a reference."""
    for i in range(words.shape[0]):
        word = np.int32(words[i])
        field = np.int32(np.int32(np.int32(word & mask) | 1 << 10) >> (right & 31))
        field = np.int32(np.int32(field & field_mask) << (left & 31))
        field = np.int32(-field) if word >> 18 else field
        own = np.int32(exponents[i])
        power = np.int32(np.int32(np.int32(own - reference + BIAS) << FRACTION) | step)
        values[i] = np.float32(field) * np.int32(power).view(np.float32) if own > ABSENT else np.float32(0)


@piece
def _read_tile(words, k, left, columns, halves, values, exponents):
    """Write SrcA's operands of a tile; return the distance of their exponents and the reference, the highest one."""
    lowest, highest = np.int32(-ABSENT), np.int32(ABSENT)
    for i in range(TILE):
        own = words[k + i, left : left + columns]
        own_lowest, own_highest = _read_exponents(own, halves[0].exponent_mask, np.int32(1), exponents[i])
        lowest, highest = min(lowest, own_lowest), max(highest, own_highest)
    reference = max(highest, np.int32(0))
    for number in range(values.shape[0]):
        fields = halves[number]
        masks = fields.a_mask, fields.a_right, A_FIELD, np.int32(0), np.int32(STEP_AWAY)
        for i in range(TILE):
            own = words[k + i, left : left + columns]
            _read_values(own, exponents[i], reference, *masks, values[number, i])
    return np.int32(highest - lowest), reference


@piece
def _read_row(words, halves, values, exponents):
    """Write SrcB's operands of a row of a tile; return the distance of their exponents and the reference."""
    lowest, highest = _read_exponents(words, halves[0].exponent_mask, halves[0].b_zeros, exponents)
    reference = np.int32(max(highest, np.int32(0)) - B_HIGHEST)
    for number in range(values.shape[0]):
        fields = halves[number]
        masks = fields.b_mask, fields.b_right, fields.b_field, fields.b_left, np.int32(0)
        _read_values(words, exponents, reference, *masks, values[number])
    return np.int32(highest - lowest), reference


@piece
def _highest(a, b, least, maxima):
    """Write the maximum exponents of a tile's groups, without offset."""
    for octet in range(OCTETS):
        k, own = octet * OCTET, maxima[octet]
        b0, b1, b2, b3, b4, b5, b6, b7 = eight(b, k)
        for i in range(COLUMNS):
            m0 = max(np.int16(a[k, i] + b0), np.int16(a[k + 1, i] + b1))
            m1 = max(np.int16(a[k + 2, i] + b2), np.int16(a[k + 3, i] + b3))
            m2 = max(np.int16(a[k + 4, i] + b4), np.int16(a[k + 5, i] + b5))
            m3 = max(np.int16(a[k + 6, i] + b6), np.int16(a[k + 7, i] + b7))
            own[i] = max(m0, m1, m2, m3, np.int16(least))


@piece
def _grid(exponent, reference):
    """Return the float32 code of 1.5 * 2**23 units in the last place of a product."""
    # Where all products are 0 the exponent may be lower.
    lowest = np.int32(1 - BIAS)
    return np.int32(
        np.int32(np.int32(max(np.int32(exponent - reference), lowest) + BIAS + FRACTION) << FRACTION) | HALF_GRID
    )


@piece
def _shifted(value, distance):
    """Divide twice a value by ``2**distance``, and by two once more with a tie up."""
    return np.int32(np.int32(np.int32(value >> (min(distance, np.int32(30)) & 31)) + 1) >> 1)


@piece
def _again(value):
    """Round to 10 fraction bits, a tie up."""
    return np.int32(np.int32(np.int32(value + NARROW_HALF) >> NARROW) << NARROW)


@piece
def _add(a, b, half, maxima, reference, offset, plain, dst, exponents):
    """Add 16 products to a row of Dst, twice its significands and its exponents."""
    k, first, second = half * 16, maxima[2 * half], maxima[2 * half + 1]
    b0, b1, b2, b3, b4, b5, b6, b7 = eight(b, k)
    c0, c1, c2, c3, c4, c5, c6, c7 = eight(b, k + OCTET)
    for i in range(COLUMNS):
        e0, e1 = np.int32(first[i]), np.int32(second[i])
        g0, g1 = _grid(e0, reference), _grid(e1, reference)
        t0, t1 = np.int32(g0).view(np.float32), np.int32(g1).view(np.float32)
        t0, t1 = a[k, i] * b0 + t0, a[k + 8, i] * c0 + t1
        t0, t1 = a[k + 1, i] * b1 + t0, a[k + 9, i] * c1 + t1
        t0, t1 = a[k + 2, i] * b2 + t0, a[k + 10, i] * c2 + t1
        t0, t1 = a[k + 3, i] * b3 + t0, a[k + 11, i] * c3 + t1
        t0, t1 = a[k + 4, i] * b4 + t0, a[k + 12, i] * c4 + t1
        t0, t1 = a[k + 5, i] * b5 + t0, a[k + 13, i] * c5 + t1
        t0, t1 = a[k + 6, i] * b6 + t0, a[k + 14, i] * c6 + t1
        t0, t1 = a[k + 7, i] * b7 + t0, a[k + 15, i] * c7 + t1
        s0 = np.int32(np.int32(np.float32(t0).view(np.int32) - g0) << SUM_SHIFT)
        s1 = np.int32(np.int32(np.float32(t1).view(np.int32) - g1) << SUM_SHIFT)
        e0, e1, own = np.int32(e0 + offset), np.int32(e1 + offset), exponents[i]
        s0, s1 = s0 if e0 > 0 else np.int32(0), s1 if e1 > 0 else np.int32(0)
        highest = max(e0, e1, own)
        value = dst[i]
        s0, s1 = _shifted(s0, np.int32(highest - e0)), _shifted(s1, np.int32(highest - e1))
        value = _shifted(np.int32(value + np.int32(value >> 31)), np.int32(highest - own))
        if plain.narrow:
            s0, s1, value = _again(s0), _again(s1), _again(np.int32(value + np.int32(value >> 31)))
        total = np.int32(np.int32(s0 + s1) + value)
        total = plain.minus_one if total == -1 else total
        sign = np.int32(total >> 31)
        magnitude = np.int32(np.int32(total ^ sign) - sign)
        magnitude = np.int32(np.int32(magnitude << 1) | min(np.int32(magnitude >> 24), np.int32(1)))
        code = np.int32(np.int32(np.float32(magnitude).view(np.int32) + plain.half) & plain.kept)
        exponent = np.int32(np.int32(highest + np.int32(code >> FRACTION)) - (BIAS + FRACTION + 1))
        significand = np.int32(np.int32(code & FRACTION_MASK) | HIDDEN)
        significand = significand if exponent < plain.overflow else plain.largest
        exponent = min(exponent, plain.last)
        present = (exponent > 0) & (magnitude != 0)
        significand, exponent = significand if present else np.int32(0), exponent if present else np.int32(0)
        dst[i] = np.int32(np.int32(np.int32(significand << 1) ^ sign) - sign)
        exponents[i] = exponent


@piece
def _decode(words, exponent_bits, fraction_bits, significands, exponents):
    """Write twice the significands of Dst words, and their exponents; a word of exponent 0 is zero."""
    left, sign_bit = np.int32(FRACTION - fraction_bits & 31), np.int32(exponent_bits + fraction_bits & 31)
    fraction_mask = np.int32(np.int32(1 << (fraction_bits & 31)) - 1)
    exponent_mask = np.int32(np.int32(1 << (exponent_bits & 31)) - 1)
    significands[:], exponents[:] = np.int32(0), np.int32(0)
    for i in range(words.shape[0]):
        word = np.int32(words[i])
        exponent = np.int32(word >> (fraction_bits & 31) & exponent_mask)
        magnitude = np.int32(np.int32(HIDDEN | np.int32(word & fraction_mask) << left) << 1)
        negative = np.int32(-np.int32(word >> sign_bit & 1))
        exponents[i] = exponent
        significands[i] = np.int32(np.int32(magnitude ^ negative) - negative) if exponent != 0 else np.int32(0)


@piece
def _encode(significands, exponents, exponent_bits, fraction_bits, words):
    """Write Dst words of twice their significands and of their exponents."""
    right, sign_bit = np.int32(FRACTION - fraction_bits & 31), np.int32(exponent_bits + fraction_bits & 31)
    for i in range(words.shape[0]):
        magnitude = np.int32(np.int32(abs(significands[i]) >> 1 & FRACTION_MASK) >> right)
        code = np.int32(np.int32(exponents[i] << (fraction_bits & 31)) | magnitude)
        words[i] = np.uint32(np.uint32(code) | np.uint32(np.uint32(significands[i] < 0) << np.uint32(sign_bit)))


@kernel
def _multiply_integers(result, src_b, src_a, first, last, masks, b_flush, a_flush):
    a, b, sums = np.zeros((TILE, COLUMNS), np.int32), np.empty(TILE, np.int32), np.empty(COLUMNS, np.int32)
    dst = np.empty((min(ROWS, result.shape[1]), COLUMNS), np.uint32)
    for unit in range(first, last):
        batch, top, left = _place(result, unit)
        rows, columns = min(ROWS, result.shape[1] - top), min(COLUMNS, src_a.shape[2] - left)
        dst[:] = np.uint32(0)
        copy_corner(result[batch, top : top + rows, left:], dst)
        a[:] = np.int32(0)
        for k in range(0, src_a.shape[1], TILE):
            for phase in range(masks.shape[0]):
                for i in range(TILE):
                    read_integers(src_a[batch, k + i, left : left + columns], a[i], masks[phase, 1], a_flush)
                for row in range(rows):
                    read_integers(src_b[batch, top + row, k : k + TILE], b, masks[phase, 0], b_flush)
                    for half in range(0, TILE, FACE):
                        add_integers(a[half : half + FACE], b[half : half + FACE], sums, dst[row], dst[row])
        for row in range(rows):
            copy_corner(dst[row : row + 1], result[batch, top + row : top + row + 1, left:])
