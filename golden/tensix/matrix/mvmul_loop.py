"""Tensix MVMUL: 16-term dot products in one fidelity phase, added to float Dst words.

Words, products and sums are float64 numbers s * 2**e of a significand s and a biased exponent e, in units of a product's
last place. Products have 12 bits and a group's sum 29. Ties are rounded as in `accumulate_loop`, whose proofs hold here.

Sums are exact in any order. Fields of SrcA have the factor `away`: 5 + 32 bits times 7 bits of SrcB are exact.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from bitpath.golden.arrays.kernels import kernel, piece
from bitpath.golden.arrays.parallel import in_parallel, owned, shares
from bitpath.golden.tensix.declarations.formats import COLUMNS as WORD_COLUMNS
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.matrix.accumulate_loop import ON_GRID, STEP, STEPS, add_to_dst, addition, power_of_two
from bitpath.golden.tensix.operands.registers_loop import read_rows, write_rows
from bitpath.golden.tensix.operands.sources import SourceFields

COLUMNS = WORD_COLUMNS
BLOCKS = 128
"""Fewest blocks for a thread of their own."""
OCTET = 8
"""Products that are summed at a time."""
A_FIELD = np.int32(0x1F)
"""Mask of SrcA's fields; as int32, so that both operands are read by one compiled function."""


class General(NamedTuple):
    """Fields of the numerics.

    Attributes
    ----------
    group, guard : products of a group, and their guard bits.
    empty_terms : 1 if a product whose field is 0 takes part in the maximum exponent.
    away : factor of SrcA's fields.
    goes_up : True if a tie of a product moves up, else None.
    addition : the last arguments of `add_to_dst`.
    """

    group: np.int32
    guard: np.int32
    empty_terms: np.int32
    away: float
    goes_up: bool | None
    addition: tuple[Any, ...]


def general_fields(numerics: TensixNumerics, dst_fields: tuple[int, int]) -> General:
    """Return the fields for Dst words with these exponent and fraction bits."""
    away, up = STEPS[numerics.product_tie]
    return General(
        group=np.int32(numerics.group),
        guard=np.int32(numerics.product_guard_bits),
        empty_terms=np.int32(numerics.empty_terms_in_maximum),
        away=away,
        goes_up=True if up else None,
        addition=addition(numerics, dst_fields),
    )


def row_of(general: General) -> np.ndarray:
    """Return the fields but `goes_up`, float64 [14]: numba takes over an array in less time than a tuple."""
    steps, *last = general.addition
    return np.array([general.group, general.guard, general.empty_terms, general.away, *steps, *last], np.float64)


def signed(fields: Any) -> Any:
    """Return fields, a named tuple, as int32, the width of the words' loops."""
    return fields._make(map(np.int32, fields))


def mvmul(
    dst: np.ndarray,
    src_b: np.ndarray,
    src_a: np.ndarray,
    which: tuple[np.ndarray, np.ndarray],
    reading: np.ndarray,
    general: np.ndarray,
    goes_up: bool | None,
) -> np.ndarray:
    """Return the new Dst words, uint32 [n, rows * 16].

    Parameters
    ----------
    dst : uint32 [n, rows * 16].
    src_b, src_a : logical words, uint32 [m, rows, 16] and [l, 16, 16].
    which : for each of the n blocks, the numbers of its SrcB and its SrcA.
    reading : a `SourceFields`, int32 [10]: masks and shifts that unpack the words.
    general, goes_up : fields of the numerics, by `row_of`, and the one that it leaves out.
    """
    src_b, src_a, dst = owned(src_b), owned(src_a), owned(dst)
    which_b, which_a = owned(which[0]), owned(which[1])
    result = np.empty(dst.shape, np.uint32)

    def work(part: slice) -> None:
        _mvmul(dst[part], src_b, src_a, which_b[part], which_a[part], result[part], reading, general, goes_up)

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
def _mvmul(dst, src_b, src_a, which_b, which_a, result, source_row, general_row, goes_up):
    rows = dst.shape[1] // COLUMNS
    reading, general = reading_of(source_row), _general_of(general_row, goes_up)
    a, a_powers, a_least, b, b_powers, b_least, least, highest, sums = workspace(rows, general.group)
    for block in range(dst.shape[0]):
        if block == 0 or which_a[block] != which_a[block - 1]:
            read_src_a(src_a[which_a[block]], reading, general, a, a_powers, a_least)
        if block == 0 or which_b[block] != which_b[block - 1]:
            for row in range(rows):
                read_src_b(src_b[which_b[block], row], row, reading, general, b, b_powers, b_least, least)
        operands = a, a_powers, a_least, b, b_powers, b_least
        add_products(dst[block], *operands, general, least, highest, sums, result[block])


@kernel(fused=True)
def mvmul_in_dst(
    bits, defined, first, remapped, swizzled, dst32, moves, src_b, src_a, source_row, general_row, goes_up
):
    """Add the product of SrcB rows, uint32 [rows, 16], and a SrcA block to the Dst rows from `first` on; `moves` are routes out and in."""
    old, new = np.empty(src_b.shape, np.uint32), np.empty(src_b.shape, np.uint32)
    place = first, remapped, swizzled, dst32
    read_rows(bits, defined, *place, moves[0], 0, old)
    one, shape = np.zeros(1, np.int64), (1, old.size)
    blocks = src_b.reshape(1, *src_b.shape), src_a.reshape(1, *src_a.shape)
    _mvmul(old.reshape(shape), *blocks, one, one, new.reshape(shape), source_row, general_row, goes_up)
    write_rows(bits, defined, *place, moves[1], new)


@piece
def reading_of(row):
    """Return the fields of a row of an array of them."""
    low = row[0], row[1], row[2], row[3], row[4]
    return SourceFields(*low, row[5], row[6], row[7], row[8], row[9])


@piece
def _general_of(row, goes_up):
    """Return the fields of a row of `row_of`."""
    steps = row[4], row[5], row[6], row[7], row[8]
    last = np.int64(row[9]), np.int64(row[10]), np.int64(row[11]), np.int64(row[12]), np.int64(row[13])
    return General(np.int32(row[0]), np.int32(row[1]), np.int32(row[2]), row[3], goes_up, (steps, *last))


@piece
def workspace(rows, group):
    """Return the arrays that the other pieces share, for MVMULs of so many rows.

    Returns
    -------
    a, a_powers : operands of SrcA and their powers of two, [2, 8, 16], by octets of their rows.
    a_least : least powers of their groups' products, [groups, 16].
    b, b_powers : operands of SrcB, [rows, octets * 8]: those of a group of four stand in an octet of their own, beside zeros.
    b_least : least powers of their groups' products, [rows, groups].
    least : scratch of a row, [1, 16].
    highest, sums : highest powers of the octets and their sums, [octets, rows * 16].
    """
    groups, octets = COLUMNS // group, max(COLUMNS // OCTET, COLUMNS // group)
    a, a_powers = np.empty((COLUMNS // OCTET, OCTET, COLUMNS)), np.empty((COLUMNS // OCTET, OCTET, COLUMNS))
    b, b_powers = np.zeros((rows, octets * OCTET)), np.zeros((rows, octets * OCTET))
    a_least, b_least, least = np.empty((groups, COLUMNS)), np.empty((rows, groups)), np.empty((1, COLUMNS))
    highest, sums = np.empty((octets, rows * COLUMNS)), np.empty((octets, rows * COLUMNS))
    return a, a_powers, a_least, b, b_powers, b_least, least, highest, sums


@piece
def read_src_a(words, reading, general, a, a_powers, a_least):
    """Write the operands of a SrcA block, words [16, 16]."""
    a_least[:] = 1.0
    zero_power = power_of_two(reading.zero_exponent)
    masks = reading.exponent_mask, reading.a_mask, reading.a_right, A_FIELD, np.int32(0), np.int32(1)
    for k in range(COLUMNS):
        out = a[k // OCTET, k % OCTET], a_powers[k // OCTET, k % OCTET], a_least[k // general.group]
        _read(words[k], *out, np.int32(0), zero_power, *masks, general.empty_terms, general.away)


@piece
def read_src_b(words, row, reading, general, b, b_powers, b_least, least):
    """Write the operands of a SrcB row, words [16]."""
    least[:] = 1.0
    zero_power = power_of_two(reading.zero_exponent)
    masks = reading.exponent_mask, reading.b_mask, reading.b_right, reading.b_field, reading.b_left, reading.b_zeros
    out = b[row], b_powers[row], least[0]
    _read(words, *out, reading.offset, zero_power, *masks, general.empty_terms, 1.0)
    if general.group < OCTET:
        _spread(b[row])
        _spread(b_powers[row])
    for number in range(COLUMNS // general.group):
        highest = 1.0
        for k in range(number * general.group, (number + 1) * general.group):
            highest = max(highest, least[0, k])
        b_least[row, number] = highest


@piece
def add_products(dst, a, a_powers, a_least, b, b_powers, b_least, general, combined, highest, sums, result):
    """Write the Dst words of an MVMUL, [rows * 16], from the operands that were read."""
    unit = ON_GRID * power_of_two(-general.guard)
    for row in range(b.shape[0]):
        own = a, a_powers, a_least, b, b_powers, b_least
        _products(*own, row, unit, general.goes_up, combined, highest, sums)
    if general.group > OCTET:
        for i in range(sums.shape[1]):
            sums[0, i] += sums[1, i]
    # A group whose exponents are all 0 or below is 0.
    groups = COLUMNS // general.group
    add_to_dst(dst, sums[:groups], highest[:groups], 1.0, result, *general.addition)


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
    b0, b1, b2, b3, b4, b5, b6, b7 = eight(b[row], k)
    p0, p1, p2, p3, p4, p5, p6, p7 = eight(b_powers[row], k)
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
def eight(row, k):
    """Return eight neighbours of a row."""
    low = row[k], row[k + 1], row[k + 2], row[k + 3]
    return *low, row[k + 4], row[k + 5], row[k + 6], row[k + 7]
