"""aie_ml_v2.matmul on the engine: segments of memory words and commands, and where results lie.

Neither the order of the output tiles nor the size of the memories changes a bit of the result: an output tile stays in its
accumulator while the steps of K follow each other.
"""

from collections.abc import Iterator
from itertools import product

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.modes import Mode
from bitpath.golden.aie_ml_v2.matmul.matmul import Program
from bitpath.rtl.aie_ml_v2.engine.aie_engine import AieMemory, host_write_layout
from bitpath.rtl.aie_ml_v2.engine.command import AieEngineConfig, command_layout
from bitpath.rtl.aie_ml_v2.mac.config import LANE_BITS, MacMode
from bitpath.verif.aie_ml_v2.engine.images import OperandWords, operand_words
from bitpath.verif.kit.memory_image import image_words, write_payloads
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.player import Segment


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
