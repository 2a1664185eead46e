"""Registers: fields of Dst words, the 32-bit Dst within the 16-bit rows, and the rows at which an instruction may start.

Ref: tt-isa-documentation 3930471, Dst and MVMUL.
"""

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_choice, checked, integer
from bitpath.golden.arrays.parallel import owned
from bitpath.golden.tensix.declarations.formats import (
    BLOCK_ROWS,
    DST16_ROWS,
    DST32_ROWS,
    LAYOUTS,
    SRC_ROWS,
    Chip,
    Style,
    WordLayout,
)
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.operands.arguments import check_width, numerics_or_default

# Register words in their two bit orders: logical (sign, exponent, fraction) and as the registers hold them.


@checked
def to_physical(words: np.ndarray, layout: WordLayout | str) -> np.ndarray:
    """Return logical words in the register's bit order.

    Parameters
    ----------
    words : uint32 of any shape.
    layout : `SRC`, `DST16_BF16`, `DST16_FP16` or `DST32` of the declarations, or its name.

    Returns
    -------
    uint32 of the same shape.

    Raises
    ------
    TypeError, ValueError : another dtype; an unknown layout; words wider than the layout.
    """
    return reordered(words, _checked(words, layout), to_physical=True)


@checked
def from_physical(words: np.ndarray, layout: WordLayout | str) -> np.ndarray:
    """Return words in the register's bit order as logical ones; the inverse of `to_physical`.

    Raises
    ------
    TypeError, ValueError : as `to_physical`.
    """
    return reordered(words, _checked(words, layout), to_physical=False)


def reordered(words: np.ndarray, layout: WordLayout, *, to_physical: bool) -> np.ndarray:
    """Return uint32 words of a layout in its other order."""
    # The compiler is loaded with the first call.
    from bitpath.golden.tensix.operands import registers_loop

    result = np.empty(words.shape, np.uint32)
    moves = registers_loop.route(layout, to_physical=to_physical)
    registers_loop.reorder(owned(words.reshape(-1)), moves, result.reshape(-1))
    return result


def _checked(words: np.ndarray, layout: WordLayout | str) -> WordLayout:
    if not isinstance(layout, WordLayout):
        layout = LAYOUTS[check_choice("layout", layout, LAYOUTS)]
    check_array("words", words, np.uint32)
    check_width("words", words, layout.width)
    return layout


INT32_MAX = (1 << 31) - 1
"""Largest magnitude of a sign-magnitude INT32 Dst word."""


def dst_fields(style: Style, dst32: bool) -> tuple[int, int]:
    """Return exponent and fraction bits of a float Dst word."""
    if dst32:
        return 8, 23
    return (5, 10) if style is Style.FP16 else (8, 7)


def dst32_rows(row: int) -> tuple[int, int]:
    """Return the two 16-bit rows of Dst that hold the high and the low halves of a 32-bit row.

    Raises
    ------
    ValueError : the row does not exist.
    """
    row = integer("row", row, range(DST32_ROWS))
    high = (row & 0x1F8) << 1 | row & 0x207
    return high, high + BLOCK_ROWS


def permuted_row(row: int, *, remap: bool, swizzle: bool = False) -> int:
    """Return the row of Dst that Blackhole's address modes take for a row of 10 bits, before `dst32_rows` splits it.

    Parameters
    ----------
    remap : DEST_ACCESS_CFG_remap_addrs, for 16-bit and 32-bit rows.
    swizzle : DEST_ACCESS_CFG_swizzle_32b, for 32-bit rows alone, after `remap`.

    Raises
    ------
    ValueError : the row does not exist.
    """
    row = integer("row", row, range(DST16_ROWS))
    if remap:
        row = (row & 0x3C7) ^ (row & 0x30) >> 1 ^ (row & 0x8) << 2
    if swizzle:
        row = (row & 0x3F3) ^ (row & 0x18) >> 1 ^ (row & 0x4) << 1
    return row


def check_rows(
    *,
    src_a_row: int,
    src_b_row: int,
    dst_row: int,
    dst32: bool,
    numerics: TensixNumerics | None = None,
    chip: Chip | str | None = None,
) -> None:
    """Raise ValueError where an MVMUL may not start at one of these rows.

    SrcB and Dst start at multiples of 8, SrcA at multiples of `numerics.src_a_row_step` that leave 16 rows.
    """
    step = numerics_or_default(numerics, chip).src_a_row_step
    for name, row, rows, multiple, used in (
        ("src_a_row", src_a_row, SRC_ROWS, step, 2 * BLOCK_ROWS),
        ("src_b_row", src_b_row, SRC_ROWS, BLOCK_ROWS, BLOCK_ROWS),
        ("dst_row", dst_row, DST32_ROWS if dst32 else DST16_ROWS, BLOCK_ROWS, BLOCK_ROWS),
    ):
        if integer(name, row, range(rows - used + 1)) % multiple:
            raise ValueError(f"{name} must be a multiple of {multiple}, not {row}")
