"""Tensix MVMUL: 16-term dot products in one fidelity phase, added to float Dst words.

Bit-identical to `tensix.mvmul` for the numerics that `supports` names. All of it is integer arithmetic: products below
2**(12 + guard) and their sums in 32 bits, additions to Dst in 64.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from bitpath.golden.arrays.bits import code64, kernel, left32, right32
from bitpath.golden.arrays.parallel import in_parallel, owned, shares
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.tensix.declarations.formats import COLUMNS as WORD_COLUMNS
from bitpath.golden.tensix.declarations.numerics import TensixNumerics

COLUMNS = WORD_COLUMNS
BLOCKS = 128
"""Fewest blocks for a thread of their own."""
PRODUCT_FRACTION_BITS, SUM_FRACTION_BITS, NARROW_FRACTION_BITS = 10, 23, 10
"""Fraction bits of a product, of an addend, and of an addend rounded for a 16-bit Dst."""
PRODUCT_BITS = 12
ZERO_EXPONENT, EMPTY_EXPONENT = -(1 << 14), -(1 << 10)
"""Exponents of a zero operand, and of one with a zero field that does not count. Real ones with offset are within 400."""
ANY_ZERO = -(1 << 13)
"""An exponent sum with a zero operand is below this, every other above; with an empty operand it is below 0."""
LARGEST_SHIFT = 31
"""Every addend is below 2**30, so no bit is left after this shift."""


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
def _away(value, shift):
    """Divide int64 by ``2**shift`` and round to nearest, halves away from zero: those below it get less than a half."""
    return (value << 1) + (np.int64(1) << shift) + (value >> 63) >> shift + 1


@njit(forceinline=True)
def _up(value, shift):
    """Divide by ``2**shift`` and round to nearest, halves to plus infinity."""
    return value + ((np.int64(1) << shift) >> 1) >> shift


@njit(forceinline=True)
def _field(word, exponent_mask, fraction_mask, right, field_mask, left):
    """Return the signed field of a source word that a phase multiplies, 0 of a zero."""
    magnitude = ((word & fraction_mask | 1 << 10) >> right & field_mask) << left
    magnitude = magnitude if word >> 10 & exponent_mask else 0
    return -magnitude if word >> 18 else magnitude


@njit(forceinline=True)
def _exponent(word, exponent_mask, field, empty_terms):
    """Return a source word's exponent, or the marker of a zero or of an operand that does not count."""
    exponent = word >> 10 & exponent_mask
    counted = exponent if (field != 0) | (empty_terms != 0) else np.int32(EMPTY_EXPONENT)
    return counted if exponent else np.int32(ZERO_EXPONENT)


@kernel
def _mvmul(
    dst, src_b, src_a, which_b, which_a, result,
    offset, zero_exponent, exponent_mask, a_mask, a_right, b_mask, b_right, b_field, b_left, group, guard, empty_terms,
    narrow, quirk, exponent_bits, fraction_bits,
):  # fmt: skip
    size = dst.shape[1]
    groups = COLUMNS // group
    # Both operands of every product, by k and then by datum of Dst, so that the inner loops are long.
    a_exponents, a_fields = np.empty((COLUMNS, size), np.int16), np.empty((COLUMNS, size), np.int16)
    b_exponents, b_fields = np.empty((COLUMNS, size), np.int16), np.empty((COLUMNS, size), np.int16)
    sums, highest = np.empty((groups, size), np.int32), np.empty((groups, size), np.int32)
    for block in range(dst.shape[0]):
        if block == 0 or which_a[block] != which_a[block - 1]:
            words = src_a[which_a[block]]
            for k in range(COLUMNS):
                exponents, fields, own = a_exponents[k], a_fields[k], words[k]
                for i in range(COLUMNS):
                    word = np.int32(own[i])
                    field = _field(word, exponent_mask, a_mask, a_right, np.int32(0x1F), np.int32(1))
                    fields[i] = field
                    exponents[i] = _exponent(word, exponent_mask, field, empty_terms)
                for i in range(COLUMNS, size):
                    fields[i] = fields[i - COLUMNS]
                    exponents[i] = exponents[i - COLUMNS]
        if block == 0 or which_b[block] != which_b[block - 1]:
            words = src_b[which_b[block]]
            for row in range(size // COLUMNS):
                for k in range(COLUMNS):
                    word = np.int32(words[row, k])
                    field = _field(word, exponent_mask, b_mask, b_right, b_field, b_left)
                    b_fields[k, row * COLUMNS : (row + 1) * COLUMNS] = field
                    exponent = _exponent(word, exponent_mask, field, empty_terms) + offset
                    b_exponents[k, row * COLUMNS : (row + 1) * COLUMNS] = exponent
        for number in range(groups):
            most, total = highest[number], sums[number]
            _align(
                a_exponents, a_fields, b_exponents, b_fields, number * group, group, most, total, zero_exponent, guard
            )
        _add(dst[block], sums, highest, result[block], narrow, quirk, exponent_bits, fraction_bits)


@kernel
def _align(a_exponents, a_fields, b_exponents, b_fields, first, group, highest, total, zero_exponent, guard):
    """Align a group's products to their largest exponent and add them: `highest` and `total` of every datum."""
    highest[:] = 0
    total[:] = 0
    size = total.shape[0]
    for k in range(first, first + group):
        a_exponent, b_exponent = a_exponents[k], b_exponents[k]
        for i in range(size):
            exponent = np.int32(np.int32(a_exponent[i]) + np.int32(b_exponent[i]))
            highest[i] = max(highest[i], zero_exponent if exponent < ANY_ZERO else exponent)
    # Nothing is left of a product after one bit more than it has. Fields of SrcA come doubled, for the half.
    largest = np.int32(PRODUCT_BITS + 1 + guard)
    for k in range(first, first + group):
        a_exponent, a_field, b_exponent, b_field = a_exponents[k], a_fields[k], b_exponents[k], b_fields[k]
        for i in range(size):
            exponent = np.int32(np.int32(a_exponent[i]) + np.int32(b_exponent[i]))
            doubled = left32(np.int32(np.int32(a_field[i]) * np.int32(b_field[i])), guard)
            distance = min(np.int32(highest[i] - exponent), largest)
            # A half is added, a quarter less below zero, so that a tie goes away from it: the doubled one has a bit for it.
            rounded = np.int32(doubled + left32(np.int32(1), distance) + right32(doubled, 31))
            total[i] += right32(rounded, distance + np.int32(1))
    for i in range(size):
        # Exponents of 0 and below make the group 0.
        total[i] = total[i] << SUM_FRACTION_BITS - PRODUCT_FRACTION_BITS - guard if highest[i] > 0 else np.int32(0)


@kernel
def _add(dst, sums, exponents, result, narrow, quirk, exponent_bits, fraction_bits):
    """Add sums, in units of 2**-23 at biased exponents [groups, datums], to Dst words."""
    size = dst.shape[0]
    exponent_, total_ = np.empty(size, np.int64), np.empty(size, np.int64)
    point = np.int64(NARROW_FRACTION_BITS if narrow else SUM_FRACTION_BITS)
    dropped = SUM_FRACTION_BITS - point
    for i in range(size):
        exponent_[i] = np.int64(dst[i]) >> fraction_bits & (1 << exponent_bits) - 1
    for group in range(sums.shape[0]):
        each = exponents[group]
        for i in range(size):
            exponent_[i] = max(exponent_[i], np.int64(each[i]))
    for i in range(size):
        word = np.int64(dst[i])
        own = word >> fraction_bits & (1 << exponent_bits) - 1
        value = (word & (1 << fraction_bits) - 1 | 1 << fraction_bits) << SUM_FRACTION_BITS - fraction_bits
        value = (-value if word >> exponent_bits + fraction_bits & 1 else value) if own else np.int64(0)
        # Shifted by nothing where Dst has 32 bits or is not rounded first.
        total_[i] = _away(_away(value, min(exponent_[i] - own, np.int64(LARGEST_SHIFT))), dropped)
    for group in range(sums.shape[0]):
        each, values = exponents[group], sums[group]
        for i in range(size):
            addend = _up(np.int64(values[i]), min(exponent_[i] - np.int64(each[i]), np.int64(LARGEST_SHIFT)))
            total_[i] += _up(addend, dropped)
    for i in range(size):
        # The quirk: -1 unit becomes -1.0, four binades up.
        wrong = (quirk != 0) & (total_[i] == -1)
        total = -(np.int64(1) << point) if wrong else total_[i]
        exponent = exponent_[i] + 4 if wrong else exponent_[i]
        # A float64 holds a total exactly, and its exponent is the position of the leading bit.
        position = (code64(np.float64(total)) >> 52 & 0x7FF) - 1023
        shift = position - fraction_bits
        # No total reaches 2**32, and one of 0 gives 0 below.
        left = min(max(-shift, np.int64(0)), np.int64(LARGEST_SHIFT))
        significand = _away(abs(total) << left, max(shift, np.int64(0)))
        # A rounding carry leaves 2.0, whose fraction is 0 too.
        biased = exponent + position - point + (significand >> fraction_bits + 1)
        code = (biased << fraction_bits) + (significand & (1 << fraction_bits) - 1)
        if exponent_bits == 5:
            code = np.int64(0x7FFF) if biased > 31 else code
        else:
            code = np.int64(255) << fraction_bits if biased >= 255 else code
        code |= np.int64(total < 0) << exponent_bits + fraction_bits
        result[i] = 0 if (total == 0) | (biased <= 0) else code
