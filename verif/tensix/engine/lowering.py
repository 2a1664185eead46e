"""tensix.matmul on the Tensix engine: memory images of tiles, commands, and where results lie.

Neither the order of the output tiles nor the size of the memories changes a bit of the result: an output tile stays in Dst
while its tile products follow each other in the order of K.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from bitpath.golden.tensix.declarations.formats import DST32_ROWS, FACE, FIDELITY_PHASES, Fidelity, Format, Style
from bitpath.golden.tensix.matmul.cycles import MVMUL_LATENCY, UNPACKER_START, unpack_cycles
from bitpath.golden.tensix.matmul.matmul import PACKED, TILE_ROWS, Program
from bitpath.golden.tensix.matmul.schedule import (
    HAND_OVER,
    TileProduct,
    TileSchedule,
    TileTimes,
    bank_moves,
    pack_cycles,
    schedule_products,
    tile_pack_cycles,
    tile_products,
)
from bitpath.rtl.tensix.dot.layouts import StyleCode
from bitpath.rtl.tensix.engine.command import PACK_ROWS, WORD_BYTES, TensixEngineConfig, command_layout
from bitpath.rtl.tensix.engine.tensix_engine import EngineMemory, host_write_layout
from bitpath.rtl.tensix.pack.packer import Packer
from bitpath.verif.kit.packing import image_words, pack, write_payloads
from bitpath.verif.kit.player import Segment

# Cycles of the Tensix engine: golden's schedule, with the engine's clearing of Dst and its cycles before and behind.


PASS = 16
"""Instructions of one fidelity phase."""
CLEAR = 4
"""Instructions that clear a tile."""
BEGIN = 1
"""Cycle in which a command enters its queues."""
DRAIN = MVMUL_LATENCY - 1
"""Cycles with results in flight after the last instruction of a product."""
STORE = 1 + 1 + Packer.LATENCY
"""Cycles from the request of a tile's last rows to their write: Dst read, read of the old word, packer stages."""


def engine_cycles(found: TileSchedule, *, stores: bool = True) -> int:
    """Return the cycles for which an engine is busy with products that follow a schedule; the last one is stored or not."""
    # A schedule counts from its first cycle on.
    return BEGIN + 1 + found.cycles + (STORE if stores else DRAIN)


def scheduled(config: TensixEngineConfig, program: Program) -> int:
    """Return the cycles for which an engine is busy with a program that its memories hold whole."""
    if program.block is None:
        raise ValueError("program must have a block: the engine's own order has no schedule")
    times = TileTimes(
        data=unpack_cycles(program.fmt.stored) - UNPACKER_START,
        compute=len(program.instructions) * config.unit.passes,
        pack=tile_pack_cycles(program, PACK_ROWS),
        clear=CLEAR,
    )
    return engine_cycles(schedule_products(tile_products(program, program.block), times))


def load_cycles(*formats: Format) -> int:
    """Return the cycles from the first of consecutive loads to the first in which the Matrix unit reads the last tile."""
    return UNPACKER_START + sum(unpack_cycles(fmt) - UNPACKER_START for fmt in formats) + HAND_OVER


def product_cycles(passes: int, fidelity: Fidelity) -> int:
    """Return the cycles of a product's instructions, of ``passes`` cycles each."""
    return PASS * len(FIDELITY_PHASES[fidelity]) * passes


@dataclass(frozen=True)
class PacedProducts:
    """Products of one kind, and the number of cycles in which they keep the engine busy.

    Attributes
    ----------
    clears : True if each product clears its Dst tile, False if only the first does.
    alternates : True if products alternate between two tiles of Dst.
    stores : stored products, "none", "last" or "all".
    """

    clears: bool
    alternates: bool
    stores: str
    cycles: int


class PaceOfProducts:
    """Cycle counts of products on one engine, each with tiles of its own.

    Parameters
    ----------
    passes : cycles of one instruction.
    fidelity : fidelity of the products.
    l1_format : format of both operands.
    result : format of stored tiles.
    """

    def __init__(self, passes: int, fidelity: Fidelity, l1_format: Format, result: Format):
        self.data = unpack_cycles(l1_format) - UNPACKER_START
        self.compute = product_cycles(passes, fidelity)
        self.pack = pack_cycles(result, PACK_ROWS)

    def cases(self, count: int) -> list[PacedProducts]:
        """Return ``count`` products of every kind."""
        return [
            self._case(count, clears=False, alternates=False, stores="none"),
            self._case(count, clears=False, alternates=False, stores="last"),
            self._case(count, clears=True, alternates=False, stores="none"),
            self._case(count, clears=True, alternates=True, stores="last"),
            self._case(count, clears=True, alternates=True, stores="all"),
            self._case(count, clears=True, alternates=False, stores="all"),
        ]

    def _case(self, count: int, *, clears: bool, alternates: bool, stores: str) -> PacedProducts:
        products = [
            TileProduct(
                left=(index, 0),
                right=(index, 0),
                dst_tile=index % 2 * alternates,
                first=clears or index == 0,
                last=stores == "all" or (stores == "last" and index == count - 1),
            )
            for index in range(count)
        ]
        # The last MVMULs of a product are in flight to the face that the next one clears last.
        clear = CLEAR + (clears and not alternates and stores == "none")
        times = TileTimes(data=self.data, compute=self.compute, pack=self.pack, clear=clear)
        found = schedule_products(products, times)
        return PacedProducts(clears, alternates, stores, engine_cycles(found, stores=stores != "none"))


def result_words(program: Program) -> int:
    """64-byte words of an output tile."""
    return TILE_ROWS * FACE * PACKED[program.packing.result].itemsize // WORD_BYTES


def memory_words(image: np.ndarray) -> list[int]:
    """The 64-byte words of an L1 image, the last one filled up with zeros."""
    return image_words(image, WORD_BYTES)


def host_writes(config: TensixEngineConfig, memory: EngineMemory, address: int, words: Iterable[int]) -> list[int]:
    """Payloads that write words to a memory from an address on."""
    return write_payloads(host_write_layout(config), memory, address, words)


def lower(config: TensixEngineConfig, program: Program) -> Iterator[Segment]:
    """Segments that compute all output tiles, each with as many operand and result tiles as the memories hold.

    The output tiles go in the program's blocks, where it has any.
    """
    segments = _Segments(config, program)
    for each in tile_products(program, program.block) if program.block else _in_groups(config, program):
        if not segments.has_room_for(each):
            yield segments.take()
        segments.multiply(each)
    yield segments.take()


def holds_all(config: TensixEngineConfig, program: Program) -> bool:
    """Return True if the memories hold all operands and results of a program, so that one segment suffices."""
    rows, _, columns = program.tiles
    sides = (_TileMemory(config.operand_depth, images) for images in (program.left, program.right))
    fits = all(side.tiles >= side.images.shape[0] * side.images.shape[1] for side in sides)
    return fits and rows * columns * result_words(program) <= config.result_depth


def _in_groups(config: TensixEngineConfig, program: Program) -> Iterator[TileProduct]:
    """The tile products in the order of `output_groups`."""
    rows, depth, columns = program.tiles
    most = min(DST32_ROWS // TILE_ROWS, config.result_depth // result_words(program))
    for group in output_groups(rows, columns, most):
        for k in range(depth):
            for dst_tile, (row, column) in enumerate(group):
                yield TileProduct(
                    left=(row, k), right=(k, column), dst_tile=dst_tile, first=k == 0, last=k == depth - 1
                )


class _Segments:
    """The segments of a program; the present one grows until it is taken."""

    def __init__(self, config: TensixEngineConfig, program: Program):
        self.config, self.program = config, program
        self.memories = {
            EngineMemory.LEFT: _TileMemory(config.operand_depth, program.left),
            EngineMemory.RIGHT: _TileMemory(config.operand_depth, program.right),
        }
        self._begin()

    def _begin(self) -> None:
        self.segment = Segment()
        self.commands: list[dict[str, Any]] = []
        self.products: list[TileProduct] = []
        for memory in self.memories.values():
            memory.clear()

    def take(self) -> Segment:
        """The segment so far; a new one begins."""
        # An operand tile that a following product uses too stays in its bank.
        for source, tiles in (
            ("a", [each.right for each in self.products]),
            ("b", [each.left for each in self.products]),
        ):
            for command, move in zip(self.commands, bank_moves(tiles), strict=True):
                command |= {f"release_{source}": move.release, f"flip_{source}": move.flip}
        segment = self.segment
        segment.commands = [pack(command_layout(self.config), command) for command in self.commands]
        self._begin()
        return segment

    def has_room_for(self, product: TileProduct) -> bool:
        """Return True if the memories hold, or have room for, both tiles of a product, and its result if it has one."""
        stored = (len(self.segment.results) + product.last) * result_words(self.program) <= self.config.result_depth
        return stored and all(self.memories[memory].has_room_for(tile) for memory, tile in _places(product).items())

    def multiply(self, product: TileProduct) -> None:
        """Add a tile product to a Dst tile."""
        program, fmt = self.program, self.program.fmt
        addresses = {}
        for memory, tile in _places(product).items():
            addresses[memory], new = self.memories[memory].place(tile)
            self.segment.writes += host_writes(self.config, memory, addresses[memory], new)
        address = len(self.segment.results) * result_words(program) if product.last else 0
        if product.last:
            self.segment.results.append((product.left[0], product.right[1], address))
        control = {
            "l1_format": int(fmt.stored),
            "register_format": int(fmt.register),
            "unsigned": 0,
        }
        packing = program.packing
        store = {
            "mid_format": int(packing.result),
            "out_format": int(packing.result),
            "dst32": program.dst32,
            "raw": packing.raw,
            "relu": packing.relu,
            "relu_threshold": packing.relu_threshold,
            "descale_shift": packing.descale_shift,
            "accumulate": packing.accumulates,
        }
        self.products.append(product)
        self.commands.append(
            {
                "left": {"address": addresses[EngineMemory.LEFT], "control": control},
                "right": {"address": addresses[EngineMemory.RIGHT], "control": control},
                "style": StyleCode.of(fmt.style),
                "last_phase": program.instructions[-1].phase,
                "clear": product.first,
                "stores": product.last,
                "store": {
                    "address": address,
                    "control": store,
                    "dst_tile": product.dst_tile,
                    "fp16": fmt.style is Style.FP16,
                },
            }
        )


def _places(product: TileProduct) -> dict[EngineMemory, tuple[int, int]]:
    """The operand tiles of a product."""
    return {EngineMemory.LEFT: product.left, EngineMemory.RIGHT: product.right}


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
    """Addresses of an operand's tiles in its memory."""

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
