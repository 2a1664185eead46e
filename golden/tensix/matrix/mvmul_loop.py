"""Tensix MVMUL: 16-term dot products in one fidelity phase, added to float Dst words.

Words, products and sums are float64 numbers s * 2**e of a significand s and a biased exponent e, in units of a product's
last place. Products have 12 bits and a group's sum 29. Ties are rounded as in `accumulate_loop`, whose proofs hold here.

Sums are exact in any order. Fields of SrcA have the factor `away`: 5 + 32 bits times 7 bits of SrcB are exact.
"""

import numpy as np
from numba import njit

from bitpath.golden.arrays.kernels import kernel, piece
from bitpath.golden.arrays.parallel import in_parallel, owned, shares
from bitpath.golden.tensix.declarations.formats import COLUMNS as WORD_COLUMNS
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.matrix.accumulate_loop import ON_GRID, STEP, STEPS, add_to_dst, addition, power_of_two
from bitpath.golden.tensix.operands.sources import SourceFields

COLUMNS = WORD_COLUMNS
BLOCKS = 128
"""Fewest blocks for a thread of their own."""
OCTET = 8
"""Products that are summed at a time."""
A_FIELD = np.int32(0x1F)
"""Mask of SrcA's fields; as int32, so that both operands are read by one compiled function."""


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
    fields = [np.int32(each) for each in (*reading, numerics.group, numerics.product_guard_bits)]
    fields += [np.int32(numerics.empty_terms_in_maximum)]
    away, up = STEPS[numerics.product_tie]
    last = away, True if up else None, *addition(numerics, dst_fields)

    def work(part: slice) -> None:
        _mvmul(dst[part], *operands, *(each[part] for each in numbers), result[part], *fields, *last)

    in_parallel(work, shares(len(dst), BLOCKS))
    return result


@piece
def _read(
    words, values, powers, least, offset, zero_power, exponent_mask, fraction_mask, right, field_mask, left, zeros, empty_terms, factor
):  # fmt: skip
    """Write the signed fields of source words times their powers of two and a factor, and these powers.

    A power that does not count is 0. A zero raises `least` to the power that its product has.
    """
    for i in range(COLUMNS):
        word = np.int32(words[i])
        exponent = word >> 10 & exponent_mask
        field = ((word & fraction_mask | 1 << 10) >> right & field_mask) << left
        present = (exponent != 0) | (zeros == 0)
        power = power_of_two(exponent + offset) if present else 0.0
        least[i] = least[i] if present else max(least[i], zero_power)
        values[i] = np.float64(-field if word >> 18 else field) * power * factor
        powers[i] = power if (field != 0) | (empty_terms != 0) else 0.0


@kernel(fused=True)
def _mvmul(
    dst, src_b, src_a, which_b, which_a, result,
    offset, zero_exponent, exponent_mask, a_mask, a_right, b_mask, b_right, b_field, b_left, b_zeros, group, guard, empty_terms,
    away, goes_up, steps, narrow, quirk, exponent_bits, fraction_bits, to_even,
):  # fmt: skip
    rows, groups, octets = dst.shape[1] // COLUMNS, COLUMNS // group, max(COLUMNS // OCTET, COLUMNS // group)
    zero_power, unit = power_of_two(zero_exponent), ON_GRID * power_of_two(-guard)
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
                masks = exponent_mask, a_mask, a_right, A_FIELD, np.int32(0), np.int32(1)
                _read(own, *out, np.int32(0), zero_power, *masks, empty_terms, away)
        if block == 0 or which_b[block] != which_b[block - 1]:
            for row in range(rows):
                own, out = src_b[which_b[block], row], (b[row], b_powers[row], b_least)
                b_least[:] = 1.0
                masks = exponent_mask, b_mask, b_right, b_field, b_left, b_zeros
                _read(own, *out, offset, zero_power, *masks, empty_terms, 1.0)
                if group < OCTET:
                    _spread(b[row])
                    _spread(b_powers[row])
                for number in range(groups):
                    least = 1.0
                    for k in range(number * group, (number + 1) * group):
                        least = max(least, b_least[k])
                    least_by_groups[row, number] = least
        for row in range(rows):
            _products(a, a_powers, a_least, b, b_powers, least_by_groups, row, unit, goes_up, combined, highest, sums)
        if group > OCTET:
            for i in range(sums.shape[1]):
                sums[0, i] += sums[1, i]
        # A group whose exponents are all 0 or below is 0.
        own = sums[:groups], highest[:groups], 1.0, result[block]
        add_to_dst(dst[block], *own, steps, narrow, quirk, exponent_bits, fraction_bits, to_even)


@piece
def _products(a, a_powers, a_least, b, b_powers, b_least, row, unit, goes_up, combined, highest, sums):
    """Write the sums of a row's octets and the largest powers of two of its groups."""
    octets, groups = b.shape[1] // OCTET, a_least.shape[0]
    operands = a, a_powers, b, b_powers
    for octet in range(octets):
        own, number = octet * 2 // octets, octet * groups // octets
        _multiply(*operands, own, row, octet, unit, goes_up, a_least, number, b_least[row, number], highest, sums)
    if groups == 1:
        # Both octets' products are aligned to the largest exponent of all.
        for i in range(COLUMNS):
            combined[0, i] = max(highest[0, row * COLUMNS + i], highest[1, row * COLUMNS + i])
        for octet in range(octets):
            _multiply(*operands, octet, row, octet, unit, goes_up, combined, 0, 0.0, highest, sums)


@piece
def _spread(row):
    """Move the four quads of two octets to an octet each, to where they stand in it, and put zeros beside them."""
    for i in range(4):
        row[28 + i], row[16 + i], row[12 + i] = row[12 + i], row[8 + i], row[4 + i]
        row[4 + i] = row[8 + i] = row[20 + i] = row[24 + i] = 0.0


@njit(forceinline=True, no_cfunc_wrapper=True, fastmath={"contract"})
def _multiply(a, a_powers, b, b_powers, own, row, octet, unit, goes_up, least, number, row_least, highest, sums):
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
        s0 = _aligned(a[own, 0, i] * b0, goes_up, up) + _aligned(a[own, 1, i] * b1, goes_up, up)
        s1 = _aligned(a[own, 2, i] * b2, goes_up, up) + _aligned(a[own, 3, i] * b3, goes_up, up)
        s2 = _aligned(a[own, 4, i] * b4, goes_up, up) + _aligned(a[own, 5, i] * b5, goes_up, up)
        s3 = _aligned(a[own, 6, i] * b6, goes_up, up) + _aligned(a[own, 7, i] * b7, goes_up, up)
        highest[octet, row * COLUMNS + i] = most
        sums[octet, row * COLUMNS + i] = (s0 + s1) + (s2 + s3)


@njit(forceinline=True, no_cfunc_wrapper=True, fastmath={"contract"})
def _aligned(product, goes_up, up):
    """Round a product to the grid of `up`; `goes_up`, None if it does not, moves a tie up."""
    if goes_up is None:  # decided by its type, before the loop around it is compiled
        return product + up - up
    return product + abs(product) * STEP + up - up


@piece
def _eight(b, row, k):
    """Return eight neighbours of a row."""
    low = b[row, k], b[row, k + 1], b[row, k + 2], b[row, k + 3]
    return *low, b[row, k + 4], b[row, k + 5], b[row, k + 6], b[row, k + 7]
