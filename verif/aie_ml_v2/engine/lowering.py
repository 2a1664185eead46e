"""aie_ml_v2.matmul on the engine: segments of memory words and commands, and where results lie.

Neither the order of the output tiles nor the size of the memories changes a bit of the result: an output tile stays in its
accumulator while the steps of K follow each other.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from amaranth.lib import data

from bitpath.golden.aie_ml_v2.declarations.codes import MX_BLOCK, MX_PAIRS
from bitpath.golden.aie_ml_v2.declarations.modes import MODES, TIMINGS, Datapath, Mode
from bitpath.golden.aie_ml_v2.mac.sparsity import SparseVector
from bitpath.golden.aie_ml_v2.matmul.matmul import FLOAT_FORMATS, Program
from bitpath.golden.aie_ml_v2.operands.layout import MxBlocks
from bitpath.golden.arrays.codec import codes_of
from bitpath.rtl.aie_ml_v2.engine.aie_engine import AieMemory, host_write_layout
from bitpath.rtl.aie_ml_v2.engine.command import X_WORD, Y_WORD, AieEngineConfig, command_layout
from bitpath.rtl.aie_ml_v2.mac.config import LANE_BITS, MacMode
from bitpath.verif.kit.packing import image_words, pack, width, write_payloads
from bitpath.verif.kit.player import Segment

# Operands of aie_ml_v2.matmul as the words that the engine's memories hold.


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


def result_words(config: AieEngineConfig, mode: Mode) -> int:
    """Words of the result memory that an output tile takes."""
    return max(1, mode.lanes // config.unit.lanes)


def result_lanes(mode: Mode, content: np.ndarray) -> np.ndarray:
    """The lanes of an output tile, uint32, from the bytes of its words; a word may have more lanes than the mode."""
    return content.view(f"<u{LANE_BITS // 8}")[: mode.lanes]


def lower(config: AieEngineConfig, program: Program) -> Iterator[Segment]:
    """Segments that compute all output tiles, each with as many operand and result tiles as the memories hold.

    Where all of K fits, a segment is a block of output tiles. Where it does not, the tiles of one command are computed in
    several segments, each of which adds to the accumulators that the one before left.
    """
    operands = operand_words(program)
    rows, depth, columns = operands.tiles
    beats, words = operands.beats, result_words(config, operands.mode)
    # The accumulators are two halves: one computes while the other one is stored.
    most = min(columns, config.unit.accumulators // 2, config.y_depth // beats, config.result_depth // words)
    chunk = min(depth, config.x_depth // beats, config.y_depth // (beats * most))
    height, width = 1, most
    if chunk == depth:
        fitting = min(config.y_depth // (beats * depth), config.result_depth // words)
        width = min(columns, fitting // most * most)
        height = min(config.x_depth // (beats * depth), config.result_depth // (width * words))
    for top, left in product(range(0, rows, height), range(0, columns, width)):
        block = range(top, min(top + height, rows)), range(left, min(left + width, columns))
        for first in range(0, depth, chunk):
            yield _segment(config, operands, *block, range(first, min(first + chunk, depth)), most)


def _segment(
    config: AieEngineConfig, operands: OperandWords, rows: range, columns: range, steps: range, most: int
) -> Segment:
    """Return the segment for a block's output tiles over a range of K steps, with at most ``most`` tiles a command."""
    segment = Segment()
    layout, words = host_write_layout(config), result_words(config, operands.mode)
    x = operands.x[rows.start : rows.stop, steps.start : steps.stop]
    y = operands.y[steps.start : steps.stop, columns.start : columns.stop]
    for memory, image in ((AieMemory.X, x), (AieMemory.Y, y)):
        segment.writes += write_payloads(layout, memory, 0, image_words(image, image.shape[-1]))
    last = steps.stop == operands.tiles[1]
    for row in rows:
        for left in range(columns.start, columns.stop, most):
            tiles = range(left, min(left + most, columns.stop))
            address = len(segment.results) * words
            if last:
                segment.results += [(row, column, address + index * words) for index, column in enumerate(tiles)]
            fields = {
                "x": (row - rows.start) * len(steps) * operands.beats,
                "y": (left - columns.start) * operands.beats,
                # One step that fills the memory has no next one.
                "y_stride": len(columns) * operands.beats % config.y_depth,
                "last_step": len(steps) - 1,
                "x_format": operands.element_format,
                "y_format": operands.element_format,
                "x_signed": 1,
                "y_signed": 1,
                "clear": steps.start == 0,
                "stores": last,
                "store": {
                    "mode": MacMode.of(operands.mode),
                    "accumulator": len(segment.commands) % 2 * (config.unit.accumulators // 2),
                    "last_tile": len(tiles) - 1,
                    "address": address if last else 0,
                },
            }
            segment.commands.append(pack(command_layout(config), fields))
    return segment
