"""Operands of aie_ml_v2.matmul as the words that the engine's memories hold."""

from dataclasses import dataclass

import numpy as np
from amaranth.lib import data

from bitpath.golden.aie_ml_v2.declarations.codes import MX_BLOCK, MX_PAIRS
from bitpath.golden.aie_ml_v2.declarations.modes import MODES, TIMINGS, Datapath, Mode
from bitpath.golden.aie_ml_v2.mac.sparsity import SparseVector
from bitpath.golden.aie_ml_v2.matmul.matmul import FLOAT_FORMATS, Program
from bitpath.golden.aie_ml_v2.operands.layout import MxBlocks
from bitpath.golden.arrays.codec import codes_of
from bitpath.rtl.aie_ml_v2.engine.command import X_WORD, Y_WORD
from bitpath.rtl.aie_ml_v2.mac.config import MacMode
from bitpath.verif.kit.packing import width

BYTE = 8
ENGINE_MODES = tuple(name for name, mode in MODES.items() if mode.name.upper() in MacMode.__members__)
"""Rows of Table 7 that the engine has, by name."""


@dataclass(frozen=True, kw_only=True, eq=False)
class OperandWords:
    """A program's operands as words of the operand memories, a beat each.

    Attributes
    ----------
    x : uint8 [M/m, K/k, beats, bytes of an X word].
    y : uint8 [K/k, N/n, beats, bytes of a Y word].
    mode : the row of Table 7.
    element_format : of both operands, counted in the mode's formats; 0 where it has none.
    """

    x: np.ndarray
    y: np.ndarray
    mode: Mode
    element_format: int

    @property
    def beats(self) -> int:
        """Words of a tile."""
        return self.x.shape[2]

    @property
    def tiles(self) -> tuple[int, int, int]:
        """Tiles along M, K and N."""
        return (*self.x.shape[:2], self.y.shape[1])


def operand_words(program: Program) -> OperandWords:
    """The words of a program's operands.

    Raises
    ------
    ValueError : a sparse product, or lanes of 64 bits.
    """
    if program.mode.name not in ENGINE_MODES or isinstance(program.b, SparseVector):
        what = "a sparse product" if isinstance(program.b, SparseVector) else f"fmt {program.fmt!r}"
        raise ValueError(f"aie_engine: {what} is not computed; dense ones of {', '.join(ENGINE_MODES)} are allowed")
    is_float = program.mode.datapath is Datapath.FLOAT
    return OperandWords(
        x=x_words(program.a, program.mode),
        y=y_words(program.b, program.mode),
        mode=program.mode,
        element_format=program.mode.formats.index(FLOAT_FORMATS[program.fmt]) if is_float else 0,
    )


def x_words(tiles: np.ndarray | MxBlocks, mode: Mode) -> np.ndarray:
    """Tiles [..., m, k], or blocks [..., m, 1], as words of the memory of X: uint8 [..., beats, bytes]."""
    if isinstance(tiles, MxBlocks):
        return block_words(tiles, mode, X_WORD)
    return element_words(tiles, mode, X_WORD)


def y_words(tiles: np.ndarray | MxBlocks, mode: Mode) -> np.ndarray:
    """Tiles [..., n, k], or blocks [..., n, 1], as words of the memory of Y: uint8 [..., beats, bytes]."""
    if isinstance(tiles, MxBlocks):
        return block_words(tiles, mode, Y_WORD)
    return element_words(tiles.swapaxes(-1, -2), mode, Y_WORD)


def element_words(tiles: np.ndarray, mode: Mode, layout: data.StructLayout) -> np.ndarray:
    """Tiles [..., rows, columns] of floats or integers, row by row: uint8 [..., 1, bytes of a word]."""
    codes = tiles.astype(f"<u{mode.a_bits // BYTE}") if mode.a_bits else codes_of(np.ascontiguousarray(tiles))
    elements = codes.reshape(*tiles.shape[:-2], 1, -1).view(np.uint8)
    return _words(layout, tile=elements)


def block_words(blocks: MxBlocks, mode: Mode, layout: data.StructLayout) -> np.ndarray:
    """Tiles [..., n, 1] of blocks as the mode has them: uint8 [..., beats, bytes of a word].

    MX4's codes get zeros below. Each of MX9's beats has half of a block's elements, and their shift bits.
    """
    target = mode.mx[0]
    beats = TIMINGS[mode.datapath].issue_interval
    depth, pairs = MX_BLOCK // beats, MX_PAIRS // beats
    codes = blocks.codes[..., 0, :].astype(np.int64) << target.width - blocks.fmt.width
    words = [
        _words(
            layout,
            tile=bit_stream(codes[..., beat * depth : (beat + 1) * depth], target.width),
            exponents=blocks.exponent[..., 0],
            shifts=blocks.shift[..., 0] >> beat * pairs & (1 << pairs) - 1,
        )
        for beat in range(beats)
    ]
    return np.stack(words, axis=-2)


def bit_stream(codes: np.ndarray, code_width: int) -> np.ndarray:
    """Codes [..., n, depth], one after the other from bit 0 up: uint8 [..., bytes]."""
    bits = codes[..., np.newaxis] >> np.arange(code_width) & 1
    return np.packbits(bits.astype(np.uint8).reshape(*codes.shape[:-2], -1), axis=-1, bitorder="little")


def _words(layout: data.StructLayout, **fields: np.ndarray) -> np.ndarray:
    """Words whose fields have these bytes [..., n], the rest 0: uint8 [..., bytes]."""
    words = np.zeros((*fields["tile"].shape[:-1], width(layout) // BYTE), np.uint8)
    for name, content in fields.items():
        start = layout[name].offset // BYTE
        words[..., start : start + content.shape[-1]] = content
    return words
