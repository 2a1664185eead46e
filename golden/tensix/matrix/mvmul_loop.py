"""Tensix MVMUL: 16-term dot products in one fidelity phase, added to float Dst words.

Bit-identical to `tensix.mvmul` for the numerics that `supports` names.

Exactness. Words are biased exponents e and significands; here they are float64 numbers s * 2**e, and so are their products,
of 12 bits, and Dst. To round a number t onto a grid 2**q, 1.5 * 2**52 * 2**q is added and taken away again: the addition
rounds to nearest even, once, for its result has its last place there. Ties away from zero come of t * (1 + d) in place of
t, and ties to plus infinity of t + abs(t) * d: with a d below the last place of t relative to its size, a tie becomes more
than one, and nothing else crosses one. Fields of SrcA come with this factor. Sums of a group's products on its grid, of 29
bits at most, are exact in any order, as is that of Dst and the addends. A result is rounded at last in its code: half of
its last place is added, and what lies below falls away.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from bitpath.golden.arrays.bits import code64, kernel, value64
from bitpath.golden.arrays.parallel import in_parallel, owned, shares
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.tensix.declarations.formats import COLUMNS as WORD_COLUMNS
from bitpath.golden.tensix.declarations.numerics import TensixNumerics

COLUMNS = WORD_COLUMNS
BLOCKS = 128
"""Fewest blocks for a thread of their own."""
OCTET = 8
"""Products that are summed at a time."""
PRODUCT_FRACTION_BITS, SUM_FRACTION_BITS, NARROW_FRACTION_BITS = 10, 23, 10
"""Fraction bits of a product, of an addend, and of an addend rounded for a 16-bit Dst."""
SUM_UNIT, PRODUCT_UNIT = 2.0**-SUM_FRACTION_BITS, 2.0**-PRODUCT_FRACTION_BITS
AWAY = 1 + 2.0**-26
"""Moves a tie of products, of 12 bits, and of Dst, of 24 bits, away from zero."""
UP = 2.0**-32
"""Moves a tie of sums, of 29 bits, up."""
ON_GRID = 1.5 * 2.0**52
"""Rounds to nearest even where it is added, times the grid, and taken away."""


class SourceFields(NamedTuple):
    """How both sources are taken apart.

    Attributes
    ----------
    offset : added to two biased exponents.
    zero_exponent : exponent of a product of a zero operand.
    exponent_mask : mask of the exponents, shifted down.
    a_mask, a_right : fraction bits of SrcA that are kept, and the shift that leaves the phase's 5 bits lowest.
    b_mask, b_right, b_field, b_left : the same of SrcB, then the mask of the phase's bits and the shift up to their weight.
    """

    offset: int
    zero_exponent: int
    exponent_mask: int
    a_mask: int
    a_right: int
    b_mask: int
    b_right: int
    b_field: int
    b_left: int


def supports(numerics: TensixNumerics) -> bool:
    """Return True if the kernel implements these numerics: the ties of the presets, any values of the other fields."""
    return numerics.sum_tie is Rounding.RNU and (
        numerics.product_tie is numerics.dst_tie is numerics.final_tie is Rounding.RNA
    )


def mvmul(
    numerics: TensixNumerics,
    dst: np.ndarray,
    src_b: np.ndarray,
    src_a: np.ndarray,
    which: tuple[np.ndarray, np.ndarray],
    reading: SourceFields,
    dst_fields: tuple[int, int],
) -> np.ndarray:
    """Return the new Dst words, uint32 [n, rows * 16].

    Parameters
    ----------
    dst : uint32 [n, rows * 16].
    src_b, src_a : logical words, uint32 [m, rows, 16] and [l, 16, 16].
    which : for each of the n blocks, the numbers of its SrcB and its SrcA.
    reading : masks and shifts that unpack the words.
    dst_fields : exponent and fraction bits of a Dst word.
    """
    operands = [owned(each) for each in (src_b, src_a)]
    numbers = [owned(each) for each in which]
    dst = owned(dst)
    result = np.empty(dst.shape, np.uint32)
    is_dst32 = dst_fields[1] == SUM_FRACTION_BITS
    fields = [np.int32(each) for each in (*reading, numerics.group, numerics.product_guard_bits)]
    fields += [np.int32(numerics.empty_terms_in_maximum)]
    last = [not is_dst32 and numerics.pre_round, is_dst32 and numerics.minus_one_quirk, *dst_fields]

    def work(part: slice) -> None:
        _mvmul(dst[part], *operands, *(each[part] for each in numbers), result[part], *fields, *map(np.int64, last))

    in_parallel(work, shares(len(dst), BLOCKS))
    return result


@njit(forceinline=True)
def _power(exponent):
    """Return ``2**exponent``, float64."""
    return value64((np.int64(exponent) + 1023) << 52)


@njit(forceinline=True)
def _rounded(value, grid):
    """Round a number onto a grid, a power of two, to nearest even."""
    return value + ON_GRID * grid - ON_GRID * grid


@njit(forceinline=True)
def _read(
    words, values, powers, least, offset, zero_power, exponent_mask, fraction_mask, right, field_mask, left, empty_terms, factor
):  # fmt: skip
    """Write the signed fields of source words times their powers of two and a factor, and these powers.

    A power that does not count is 0. A zero raises `least` to the power that its product has.
    """
    for i in range(COLUMNS):
        word = np.int32(words[i])
        exponent = word >> 10 & exponent_mask
        field = ((word & fraction_mask | 1 << 10) >> right & field_mask) << left
        power = _power(exponent + offset) if exponent else 0.0
        least[i] = least[i] if exponent else max(least[i], zero_power)
        values[i] = np.float64(-field if word >> 18 else field) * power * factor
        powers[i] = power if (field != 0) | (empty_terms != 0) else 0.0


@kernel(fused=True)
def _mvmul(
    dst, src_b, src_a, which_b, which_a, result,
    offset, zero_exponent, exponent_mask, a_mask, a_right, b_mask, b_right, b_field, b_left, group, guard, empty_terms,
    narrow, quirk, exponent_bits, fraction_bits,
):  # fmt: skip
    rows, groups, octets = dst.shape[1] // COLUMNS, COLUMNS // group, max(COLUMNS // OCTET, COLUMNS // group)
    zero_power, unit = _power(zero_exponent), ON_GRID * _power(-guard)
    a, a_powers = np.empty((COLUMNS // OCTET, OCTET, COLUMNS)), np.empty((COLUMNS // OCTET, OCTET, COLUMNS))
    a_least, combined = np.empty((groups, COLUMNS)), np.empty((1, COLUMNS))
    b_least = np.empty(COLUMNS)
    # A row's operands by octets: those of a group of four stand in an octet of their own, beside zeros.
    b, b_powers = np.zeros((rows, octets * OCTET)), np.zeros((rows, octets * OCTET))
    least_by_groups = np.empty((rows, groups))
    sums, highest = np.empty((octets, rows * COLUMNS)), np.empty((octets, rows * COLUMNS))
    for block in range(dst.shape[0]):
        if block == 0 or which_a[block] != which_a[block - 1]:
            a_least[:] = 1.0
            for k in range(COLUMNS):
                out = a[k // OCTET, k % OCTET], a_powers[k // OCTET, k % OCTET], a_least[k // group]
                own = src_a[which_a[block], k]
                _read(own, *out, 0, zero_power, exponent_mask, a_mask, a_right, 0x1F, 0, empty_terms, AWAY)
        if block == 0 or which_b[block] != which_b[block - 1]:
            for row in range(rows):
                own, out = src_b[which_b[block], row], (b[row], b_powers[row], b_least)
                b_least[:] = 1.0
                _read(own, *out, offset, zero_power, exponent_mask, b_mask, b_right, b_field, b_left, empty_terms, 1.0)
                if group < OCTET:
                    _spread(b[row])
                    _spread(b_powers[row])
                for number in range(groups):
                    least = 1.0
                    for k in range(number * group, (number + 1) * group):
                        least = max(least, b_least[k])
                    least_by_groups[row, number] = least
        for row in range(rows):
            _products(a, a_powers, a_least, b, b_powers, least_by_groups, row, unit, combined, highest, sums)
        if group > OCTET:
            sums[0] += sums[1]
        _add(dst[block], sums[:groups], highest[:groups], result[block], narrow, quirk, exponent_bits, fraction_bits)


@njit(forceinline=True)
def _products(a, a_powers, a_least, b, b_powers, b_least, row, unit, combined, highest, sums):
    """Write the sums of a row's octets and the largest powers of two of its groups."""
    octets, groups = b.shape[1] // OCTET, a_least.shape[0]
    operands = a, a_powers, b, b_powers
    for octet in range(octets):
        own, number = octet * 2 // octets, octet * groups // octets
        _multiply(*operands, own, row, octet, unit, a_least, number, b_least[row, number], highest, sums)
    if groups == 1:
        # Both octets' products are aligned to the largest exponent of all.
        for i in range(COLUMNS):
            combined[0, i] = max(highest[0, row * COLUMNS + i], highest[1, row * COLUMNS + i])
        for octet in range(octets):
            _multiply(*operands, octet, row, octet, unit, combined, 0, 0.0, highest, sums)


@njit(forceinline=True)
def _spread(row):
    """Move the four quads of two octets to an octet each, to where they stand in it, and put zeros beside them."""
    row[28:], row[16:20], row[12:16] = row[12:16], row[8:12], row[4:8]
    row[4:12] = row[20:28] = 0.0


@njit(forceinline=True, fastmath={"contract"})
def _multiply(a, a_powers, b, b_powers, own, row, octet, unit, least, number, row_least, highest, sums):
    """Write the sums of eight products of a row and octet `own` of SrcA, and the largest powers of two among them.

    The powers are at least those in `least[number]` and `row_least`. Scalars are read before the loop, so that it is
    vectorised.
    """
    k = octet * OCTET
    b0, b1, b2, b3, b4, b5, b6, b7 = _eight(b, row, k)
    p0, p1, p2, p3, p4, p5, p6, p7 = _eight(b_powers, row, k)
    for i in range(COLUMNS):
        m0 = max(a_powers[own, 0, i] * p0, a_powers[own, 1, i] * p1)
        m1 = max(a_powers[own, 2, i] * p2, a_powers[own, 3, i] * p3)
        m2 = max(a_powers[own, 4, i] * p4, a_powers[own, 5, i] * p5)
        m3 = max(a_powers[own, 6, i] * p6, a_powers[own, 7, i] * p7)
        m0, m1, m2 = max(m0, m1), max(m2, m3), max(row_least, least[number, i])
        m0 = max(m0, m1)
        most = max(m0, m2)
        up = most * unit
        s0 = (a[own, 0, i] * b0 + up - up) + (a[own, 1, i] * b1 + up - up)
        s1 = (a[own, 2, i] * b2 + up - up) + (a[own, 3, i] * b3 + up - up)
        s2 = (a[own, 4, i] * b4 + up - up) + (a[own, 5, i] * b5 + up - up)
        s3 = (a[own, 6, i] * b6 + up - up) + (a[own, 7, i] * b7 + up - up)
        highest[octet, row * COLUMNS + i] = most
        sums[octet, row * COLUMNS + i] = (s0 + s1) + (s2 + s3)


@njit(forceinline=True)
def _eight(b, row, k):
    """Return eight neighbours of a row."""
    low = b[row, k], b[row, k + 1], b[row, k + 2], b[row, k + 3]
    return *low, b[row, k + 4], b[row, k + 5], b[row, k + 6], b[row, k + 7]


@kernel
def _add(dst, sums, highest, result, narrow, quirk, exponent_bits, fraction_bits):
    """Add sums of products, and the powers of two of their exponents, [groups, datums], to Dst words."""
    size = dst.shape[0]
    powers, totals = np.empty(size), np.empty(size)
    below, infinity = np.int64(52 - fraction_bits), np.int64((1 << exponent_bits) - 1)
    sign_bit = exponent_bits + fraction_bits
    unit = _power(-NARROW_FRACTION_BITS if narrow else -SUM_FRACTION_BITS)
    for i in range(size):
        powers[i] = _power(np.int64(dst[i]) >> fraction_bits & infinity)
    for group in range(sums.shape[0]):
        own = highest[group]
        for i in range(size):
            powers[i] = max(powers[i], own[i])
    for i in range(size):
        word = np.int64(dst[i])
        exponent = word >> fraction_bits & infinity
        code = (exponent + 1023 << 52) | (word & (1 << fraction_bits) - 1) << below | (word >> sign_bit & 1) << 63
        value = value64(code) if exponent else 0.0
        totals[i] = _rounded(_rounded(value * AWAY, powers[i] * SUM_UNIT) * AWAY, powers[i] * unit)
    for group in range(sums.shape[0]):
        own, values = highest[group], sums[group]
        for i in range(size):
            # A group whose exponents are all 0 or below is 0.
            addend = values[i] * PRODUCT_UNIT if own[i] > 1.0 else 0.0
            addend = _rounded(addend + abs(addend) * UP, powers[i] * SUM_UNIT)
            totals[i] += _rounded(addend + abs(addend) * UP, powers[i] * unit)
    for i in range(size):
        # The quirk: -1 unit becomes -1.0, four binades up.
        total = -16.0 * powers[i] if (quirk != 0) & (totals[i] == -powers[i] * unit) else totals[i]
        # Half of the last place is added to the magnitude's code; a carry goes on into the exponent.
        code = (code64(abs(total)) + (np.int64(1) << below - 1) >> below) - (1023 << fraction_bits)
        if exponent_bits == 5:
            code = np.int64(0x7FFF) if code >> fraction_bits > infinity else code
        else:
            code = infinity << fraction_bits if code >> fraction_bits >= infinity else code
        nothing = (total == 0.0) | (code >> fraction_bits <= 0)
        result[i] = 0 if nothing else code | np.int64(total < 0.0) << sign_bit
