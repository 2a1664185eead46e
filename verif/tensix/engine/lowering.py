"""tensix.matmul on the Tensix engine: memory images of tiles, commands, and where results lie.

Neither the order of the output tiles nor the size of the memories changes a bit of the result: an output tile stays in Dst
while its tile products follow each other in the order of K.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from bitpath.golden.tensix.declarations.formats import DST32_ROWS, FACE, FIDELITY_PHASES, Fidelity, Format, Style
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.golden.tensix.matmul.host import FORMATS, l1_bytes
from bitpath.golden.tensix.matmul.matmul import TILE_ROWS, to_tiles
from bitpath.rtl.tensix.dot.layouts import StyleCode
from bitpath.rtl.tensix.engine.command import WORD_BYTES, command_layout
from bitpath.rtl.tensix.engine.config import TensixEngineConfig
from bitpath.rtl.tensix.engine.tensix_engine import EngineMemory, host_write_layout
from bitpath.verif.kit.memory_image import image_words, write_payloads
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.player import Segment


@dataclass(frozen=True, kw_only=True, eq=False)
class TileMatmul:
    """A matrix product as tiles in L1.

    Attributes
    ----------
    left : uint8 [M/32, K/32, n], the L1 images of the left operand's tiles.
    right : uint8 [K/32, N/32, n].
    fmt : a format that `tensix.matmul` takes.
    fidelity : which phases are run.
    dst32 : width of Dst.
    """

    left: np.ndarray
    right: np.ndarray
    fmt: str
    fidelity: Fidelity
    dst32: bool

    @property
    def l1_format(self) -> Format:
        return Format.FP32 if self.fmt == "tf32" else FORMATS[self.fmt].register

    @property
    def style(self) -> Style:
        return FORMATS[self.fmt].style

    @property
    def result_format(self) -> Format:
        """The L1 format that keeps Dst words as they are."""
        if self.style is Style.INT8:
            return Format.INT32
        if self.dst32:
            return Format.FP32
        return Format.FP16 if self.style is Style.FP16 else Format.BF16

    @property
    def result_words(self) -> int:
        """64-byte words of an output tile."""
        return TILE_ROWS * FACE * (4 if self.dst32 else 2) // WORD_BYTES


@dataclass
class TileSegment(Segment):
    """A segment, and the output tiles that it leaves in the result memory: the tile's row and column, its first word."""

    results: list[tuple[int, int, int]] = field(default_factory=list)


def tile_matmul(
    a: np.ndarray, b: np.ndarray, *, fmt: str, fidelity: Fidelity, dst32: bool, numerics: TensixNumerics
) -> TileMatmul:
    """The product of two matrices that `tensix.plan_matmul` takes, cut into tiles as it cuts them."""
    left, right = (
        np.array([[l1_bytes(tile, fmt, numerics) for tile in row] for row in to_tiles(matrix)]) for matrix in (a, b)
    )
    return TileMatmul(left=left, right=right, fmt=fmt, fidelity=fidelity, dst32=dst32)


def memory_words(image: np.ndarray) -> list[int]:
    """The 64-byte words of an L1 image, the last one filled up with zeros."""
    return image_words(image, WORD_BYTES)


def host_writes(config: TensixEngineConfig, memory: EngineMemory, address: int, words: Iterable[int]) -> list[int]:
    """Payloads that write words to a memory from an address on."""
    return write_payloads(host_write_layout(config), memory, address, words)


def lower(config: TensixEngineConfig, matmul: TileMatmul) -> Iterator[TileSegment]:
    """Segments that compute all output tiles, each with as many operand and result tiles as the memories hold."""
    rows, depth, columns = *matmul.left.shape[:2], matmul.right.shape[1]
    most = min(DST32_ROWS // TILE_ROWS, config.result_depth // matmul.result_words)
    program = _Program(config, matmul)
    for group in output_groups(rows, columns, most):
        if not program.has_room_for(len(group)):
            yield program.take()
        for k in range(depth):
            for dst_tile, (row, column) in enumerate(group):
                if not program.has_operands(row, k, column):
                    yield program.take()
                program.multiply(row, k, column, dst_tile, first=k == 0, last=k == depth - 1)
    yield program.take()


class _Program:
    """The segment that is being written."""

    def __init__(self, config: TensixEngineConfig, matmul: TileMatmul):
        self.config, self.matmul = config, matmul
        self.memories = {
            EngineMemory.LEFT: _TileMemory(config.operand_depth, matmul.left),
            EngineMemory.RIGHT: _TileMemory(config.operand_depth, matmul.right),
        }
        self._begin()

    def _begin(self) -> None:
        self.segment = TileSegment()
        self.commands: list[dict[str, Any]] = []
        self.used: list[dict[EngineMemory, tuple[int, int]]] = []
        for memory in self.memories.values():
            memory.clear()

    def take(self) -> TileSegment:
        """The segment so far; a new one begins."""
        # An operand tile that the next product uses too stays in its register.
        for command, mine, following in zip(self.commands, self.used, self.used[1:], strict=False):
            command["keep_left"] = mine[EngineMemory.LEFT] == following[EngineMemory.LEFT]
            command["keep_right"] = mine[EngineMemory.RIGHT] == following[EngineMemory.RIGHT]
        segment = self.segment
        segment.commands = [pack(command_layout(self.config), command) for command in self.commands]
        self._begin()
        return segment

    def has_room_for(self, tiles: int) -> bool:
        """Whether so many output tiles more fit in the result memory."""
        return (len(self.segment.results) + tiles) * self.matmul.result_words <= self.config.result_depth

    def has_operands(self, row: int, k: int, column: int) -> bool:
        """Whether a product's operands are in the memories, or fit in."""
        places = _places(row, k, column)
        return all(self.memories[memory].has_room_for(tile) for memory, tile in places.items())

    def multiply(self, row: int, k: int, column: int, dst_tile: int, *, first: bool, last: bool) -> None:
        """Add a tile product to a Dst tile; the ``first`` one of an output tile clears it and the ``last`` one stores it."""
        matmul = self.matmul
        places = _places(row, k, column)
        addresses = {}
        for memory, tile in places.items():
            addresses[memory], new = self.memories[memory].place(tile)
            self.segment.writes += host_writes(self.config, memory, addresses[memory], new)
        address = len(self.segment.results) * matmul.result_words if last else 0
        if last:
            self.segment.results.append((row, column, address))
        control = {
            "l1_format": int(matmul.l1_format),
            "register_format": int(FORMATS[matmul.fmt].register),
            "unsigned": 0,
        }
        result = int(matmul.result_format)
        self.used.append(places)
        self.commands.append(
            {
                "left": {"address": addresses[EngineMemory.LEFT], "control": control},
                "right": {"address": addresses[EngineMemory.RIGHT], "control": control},
                "style": StyleCode.of(matmul.style),
                "last_phase": len(FIDELITY_PHASES[matmul.fidelity]) - 1,
                "clear": first,
                "stores": last,
                "store": {
                    "address": address,
                    # What Dst holds, as it is.
                    "control": {"mid_format": result, "out_format": result, "dst32": matmul.dst32, "raw": 1},
                    "dst_tile": dst_tile,
                    "fp16": matmul.style is Style.FP16,
                },
            }
        )


def _places(row: int, k: int, column: int) -> dict[EngineMemory, tuple[int, int]]:
    """The operand tiles of a product."""
    return {EngineMemory.LEFT: (row, k), EngineMemory.RIGHT: (k, column)}


def output_groups(rows: int, columns: int, most: int) -> Iterator[list[tuple[int, int]]]:
    """Groups of at most ``most`` output tiles that are computed side by side, in an order that saves loads.

    A square of tiles is walked as a staircase: from one tile to the next either the row or the column stays, so that each
    product brings one new operand tile, from the two sides in turn. Other shapes are walked to and fro.
    """
    side = max(1, most // 2)
    for top, left in product(range(0, rows, side), range(0, columns, side)):
        height, width = min(side, rows - top), min(side, columns - left)
        if height == width:
            walks = [
                [(i, (i + step) % width) for i in range(height) for step in (start, start + 1)[: width - start]]
                for start in range(0, width, 2)
            ]
        else:
            walk = [(i, j if i % 2 == 0 else width - 1 - j) for i in range(height) for j in range(width)]
            walks = [walk[start : start + most] for start in range(0, len(walk), most)]
        yield from ([(top + i, left + j) for i, j in walk] for walk in walks)


class _TileMemory:
    """Which tiles of an operand stand where in its memory."""

    def __init__(self, depth: int, images: np.ndarray):
        self.images = images
        self.tile_words = -(-images.shape[-1] // WORD_BYTES)
        self.tiles = depth // self.tile_words
        self.addresses: dict[tuple[int, int], int] = {}

    def has_room_for(self, tile: tuple[int, int]) -> bool:
        return tile in self.addresses or len(self.addresses) < self.tiles

    def place(self, tile: tuple[int, int]) -> tuple[int, list[int]]:
        """The tile's address, and its words where they are not there yet."""
        if tile in self.addresses:
            return self.addresses[tile], []
        self.addresses[tile] = len(self.addresses) * self.tile_words
        return self.addresses[tile], memory_words(self.images[tile])

    def clear(self) -> None:
        self.addresses.clear()
