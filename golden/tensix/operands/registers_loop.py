"""Words of registers, compiled: bits moved to another order, and rows of Dst between its storage and logical words.

A route is a list of moves, uint32 [n, 3] of a mask, a shift left and a shift right::

    moved = OR over the moves of (word & mask) << left >> right

Rows of an instruction become rows of the storage as :class:`bitpath.golden.tensix.core.state.DstRegister` has it.
"""

from functools import cache
from itertools import accumulate

import numpy as np

from bitpath.golden.arrays.kernels import kernel, piece
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS as WORD_ROWS
from bitpath.golden.tensix.declarations.formats import COLUMNS as WORD_COLUMNS
from bitpath.golden.tensix.declarations.formats import DST16_ROWS, Segment, WordLayout

BLOCK_ROWS, COLUMNS, ROWS = WORD_ROWS, WORD_COLUMNS, DST16_ROWS


@cache
def route(layout: WordLayout | None, *, to_physical: bool) -> np.ndarray:
    """Return the moves from a layout's logical order to the register's, or back; without a layout every bit stays."""
    if layout is None:
        return np.array([[0xFFFFFFFF, 0, 0]], np.uint32)
    logical, physical = _places(layout.logical), _places(layout.physical)
    moves = []
    for (name, bit), place in physical.items():
        source, target = (logical[name, bit], place) if to_physical else (place, logical[name, bit])
        moves.append((1 << source, max(target - source, 0), max(source - target, 0)))
    joined: dict[tuple[int, int], int] = {}
    for mask, left, right in moves:
        joined[left, right] = joined.get((left, right), 0) | mask
    return np.array([(mask, *shifts) for shifts, mask in joined.items()], np.uint32)


def _places(segments: tuple[Segment, ...]) -> dict[tuple[str, int], int]:
    """Return the position in the word of each bit of each field."""
    starts = accumulate((segment.width for segment in reversed(segments)), initial=0)
    return {
        (segment.name, segment.low + bit): start + bit
        for segment, start in zip(reversed(segments), starts, strict=False)
        for bit in range(segment.width)
    }


@piece
def _moved(word, moves):
    moved = np.uint32(0)
    for i in range(moves.shape[0]):
        moved |= np.uint32(np.uint32((word & moves[i, 0]) << moves[i, 1]) >> moves[i, 2])
    return moved


@kernel
def reorder(words, moves, result):
    """Write words, uint32 [n], in another order."""
    for i in range(words.shape[0]):
        result[i] = _moved(words[i], moves)


@piece
def _storage_row(row, remapped, swizzled, dst32):
    row = row % ROWS
    if remapped:
        row = (row & 0x3C7) ^ (row & 0x30) >> 1 ^ (row & 8) << 2
    if not dst32:
        return row
    if swizzled:
        row = (row & 0x3F3) ^ (row & 0x18) >> 1 ^ (row & 4) << 1
    return (row & 0x1F8) << 1 | row & 0x207


@kernel
def storage_rows(first, remapped, swizzled, dst32, rows):
    """Write the storage rows of an instruction's rows, with `dst32` those of their upper halves."""
    for i in range(rows.shape[0]):
        rows[i] = _storage_row(first + i, remapped, swizzled, dst32)


@kernel
def read_rows(bits, defined, first, remapped, swizzled, dst32, moves, fill, words):
    """Write the words of Dst rows, uint32 [rows, 16], in another order; those of an undefined row are `fill`."""
    for i in range(words.shape[0]):
        row = _storage_row(first + i, remapped, swizzled, dst32)
        for column in range(COLUMNS):
            word = np.uint32(bits[row, column])
            if dst32:
                word = np.uint32(word << 16 | bits[row + BLOCK_ROWS, column])
            words[i, column] = _moved(word, moves) if defined[row] else np.uint32(fill)


@kernel
def read_runs(bits, defined, starts, remapped, swizzled, dst32, moves, words):
    """Write the words of runs of datums, uint32 [runs, datums], in another order; those of an undefined row are 0.

    Parameters
    ----------
    starts : first datum of each run, int64; Dst's first row has datums 0 to 15.
    """
    for run in range(words.shape[0]):
        done = 0
        while done < words.shape[1]:
            datum = starts[run] + done
            row, column = _storage_row(datum // COLUMNS, remapped, swizzled, dst32), datum % COLUMNS
            for i in range(min(COLUMNS - column, words.shape[1] - done)):
                word = np.uint32(bits[row, column + i])
                if dst32:
                    word = np.uint32(word << 16 | bits[row + BLOCK_ROWS, column + i])
                words[run, done + i] = _moved(word, moves) if defined[row] else np.uint32(0)
            done += COLUMNS - column


@kernel
def write_rows(bits, defined, first, remapped, swizzled, dst32, moves, words):
    """Put words, uint32 [rows, 16], in Dst rows, which become defined."""
    for i in range(words.shape[0]):
        row = _storage_row(first + i, remapped, swizzled, dst32)
        for column in range(COLUMNS):
            word = _moved(words[i, column], moves)
            if dst32:
                bits[row, column] = word >> 16
                bits[row + BLOCK_ROWS, column] = word & 0xFFFF
            else:
                bits[row, column] = word
        defined[row] = True
