"""Dst: 1024 rows of 16-bit words, or in the same storage 512 rows of 32-bit words, and rows that are undefined.

Rows of an instruction become rows of the storage by::

    remapped (Blackhole, remap_addrs)    r -> (r & 0x3C7) ^ ((r & 0x30) >> 1) ^ ((r & 8) << 2)
    swizzled (swizzle_32b, 32 bits)      r -> (r & 0x3F3) ^ ((r & 0x18) >> 1) ^ ((r & 4) << 1)
    32 bits                              upper half in R = (r & 0x1F8) << 1 | r & 0x207, lower half in R + 8

A row of 32-bit words is undefined if its upper half's row is.

Ref: tt-isa-documentation, Dst: of Wormhole 3930471, of Blackhole 4b35ad1; ZEROACC.
"""

import numpy as np

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, DST16_ROWS, DST32, WordLayout
from bitpath.golden.tensix.operands.words import from_physical, to_physical


class DstRegister:
    """The register, all rows undefined at first.

    Attributes
    ----------
    bits : uint16 [1024, 16], in the register's bit order.
    defined : bool [1024], of each row of 16 bits.
    remapped, swizzled : Blackhole's permutations of rows.
    """

    def __init__(self) -> None:
        self.bits = np.zeros((DST16_ROWS, COLUMNS), np.uint16)
        self.defined = np.zeros(DST16_ROWS, bool)
        self.remapped = self.swizzled = False

    def rows(self, first: int, count: int, *, dst32: bool) -> np.ndarray:
        """Return the storage rows of an instruction's rows, with `dst32` those of their upper halves; rows wrap at 1024."""
        rows = np.arange(first, first + count) % DST16_ROWS
        if self.remapped:
            rows = rows & 0x3C7 ^ (rows & 0x30) >> 1 ^ (rows & 8) << 2
        if not dst32:
            return rows
        if self.swizzled:
            rows = rows & 0x3F3 ^ (rows & 0x18) >> 1 ^ (rows & 4) << 1
        return (rows & 0x1F8) << 1 | rows & 0x207

    def read(self, first: int, count: int, layout: WordLayout | None, *, ones: bool = False) -> np.ndarray:
        """Return logical words, uint32 [count, 16]; an undefined row reads as 0, with `ones` as all ones.

        Parameters
        ----------
        layout : `DST32`, a layout of 16 bits, or None for words of 16 bits in the register's order.
        """
        dst32 = layout is DST32
        rows = self.rows(first, count, dst32=dst32)
        words = self.bits[rows].astype(np.uint32)
        if dst32:
            words = words << 16 | self.bits[rows + BLOCK_ROWS]
        if layout is not None:
            words = from_physical(words, layout)
        fill = np.uint32((1 << (32 if dst32 else 16)) - 1 if ones else 0)
        return np.where(self.defined[rows, np.newaxis], words, fill)

    def write(self, first: int, words: np.ndarray, layout: WordLayout) -> None:
        """Write logical words, uint32 [rows, 16]; the rows become defined."""
        dst32 = layout is DST32
        rows = self.rows(first, len(words), dst32=dst32)
        physical = to_physical(words, layout)
        self.bits[rows] = physical >> 16 if dst32 else physical
        if dst32:
            self.bits[rows + BLOCK_ROWS] = physical & 0xFFFF
        self.defined[rows] = True
