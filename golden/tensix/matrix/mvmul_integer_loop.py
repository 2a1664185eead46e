"""Tensix MVMUL in style INT8: 16-term dot products of one fidelity phase, added to INT32 Dst words.

Fields have at most 10 bits, so a sum of 16 products is below 2**24 and exact in int32; so is its sum with Dst in int64.
"""

import numpy as np

from bitpath.golden.arrays.kernels import kernel, piece
from bitpath.golden.arrays.parallel import in_parallel, owned, shares
from bitpath.golden.tensix.declarations.formats import COLUMNS as WORD_COLUMNS
from bitpath.golden.tensix.operands.registers import INT32_MAX as LARGEST_MAGNITUDE
from bitpath.golden.tensix.operands.registers_loop import read_rows, write_rows

COLUMNS = WORD_COLUMNS
BLOCKS = 128
"""Fewest blocks for a thread of their own."""
INT32_MAX = LARGEST_MAGNITUDE


def mvmul(
    dst: np.ndarray,
    src_b: np.ndarray,
    src_a: np.ndarray,
    which: tuple[np.ndarray, np.ndarray],
    fields: tuple[np.int32, ...],
) -> np.ndarray:
    """Return the new Dst words, uint32 [n, rows * 16].

    Parameters
    ----------
    dst : uint32 [n, rows * 16].
    src_b, src_a : logical words, uint32 [m, rows, 16] and [l, 16, 16].
    which : for each of the n blocks, the numbers of its SrcB and its SrcA.
    fields : magnitude bits of SrcB and of SrcA that the phase multiplies; 1 for SrcB and for SrcA if a word whose exponent field is
        0 is 0.
    """
    operands = [owned(each) for each in (src_b, src_a)]
    numbers = [owned(each) for each in which]
    dst = owned(dst)
    result = np.empty(dst.shape, np.uint32)

    def work(part: slice) -> None:
        _mvmul(dst[part], *operands, *(each[part] for each in numbers), result[part], *fields)

    in_parallel(work, shares(len(dst), BLOCKS))
    return result


@piece
def read_integers(words, fields, mask, flush):
    """Write the signed fields of source words."""
    for i in range(words.shape[0]):
        word = np.int32(words[i])
        field = 0 if (flush != 0) & (word >> 10 & 0xFF == 0) else word & mask
        fields[i] = -field if word >> 18 else field


@piece
def saturated_sum(word, value):
    """Add an integer to a sign-magnitude INT32 Dst word, int64, saturating; zero is +0."""
    magnitude = word & INT32_MAX
    total = (-magnitude if word >> 31 else magnitude) + value
    return min(abs(total), INT32_MAX) | np.int64(total < 0) << 31


@piece
def add_integers(a, b, sums, dst, result):
    """Write a row of Dst words plus 16 products each, by way of `sums`."""
    for i in range(sums.shape[0]):
        sums[i] = 0
    for k in range(COLUMNS):
        for i in range(sums.shape[0]):
            sums[i] += b[k] * a[k, i]
    for i in range(sums.shape[0]):
        result[i] = saturated_sum(np.int64(dst[i]), sums[i])


@kernel
def _mvmul(dst, src_b, src_a, which_b, which_a, result, b_mask, a_mask, b_flush, a_flush):
    rows = dst.shape[1] // COLUMNS
    b, a, sums = np.empty(COLUMNS, np.int32), np.empty((COLUMNS, COLUMNS), np.int32), np.empty(COLUMNS, np.int32)
    for block in range(dst.shape[0]):
        if block == 0 or which_a[block] != which_a[block - 1]:
            for k in range(COLUMNS):
                read_integers(src_a[which_a[block], k], a[k], a_mask, a_flush)
        for row in range(rows):
            read_integers(src_b[which_b[block], row], b, b_mask, b_flush)
            own = slice(row * COLUMNS, (row + 1) * COLUMNS)
            add_integers(a, b, sums, dst[block, own], result[block, own])


@kernel
def mvmul_in_dst(
    bits, defined, first, remapped, swizzled, dst32, moves, src_b, src_a, b_mask, a_mask, b_flush, a_flush
):
    """Add the product of SrcB rows, uint32 [rows, 16], and a SrcA block to the Dst rows from `first` on; `moves` are routes out and in."""
    old, new = np.empty(src_b.shape, np.uint32), np.empty(src_b.shape, np.uint32)
    place = first, remapped, swizzled, dst32
    read_rows(bits, defined, *place, moves[0], 0, old)
    one, shape = np.zeros(1, np.int64), (1, old.size)
    blocks = src_b.reshape(1, *src_b.shape), src_a.reshape(1, *src_a.shape)
    _mvmul(old.reshape(shape), *blocks, one, one, new.reshape(shape), b_mask, a_mask, b_flush, a_flush)
    write_rows(bits, defined, *place, moves[1], new)
