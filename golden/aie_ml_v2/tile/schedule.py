"""A layer for the tile: a schedule, the registers that it starts from, and its operands in memory."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.cycles import SLOTS
from bitpath.golden.aie_ml_v2.declarations.tile import BANK_BYTES, BANK_WORDS, LINE_BYTES
from bitpath.golden.aie_ml_v2.operands.mx_blocks import MxBlocks
from bitpath.golden.aie_ml_v2.tile.memory import DataMemory
from bitpath.golden.aie_ml_v2.tile.operation import Operation
from bitpath.golden.aie_ml_v2.tile.tile import Bundle, Tile, TileReport
from bitpath.golden.arrays.arguments import checked

PAIR_BYTES = 2 * BANK_BYTES * BANK_WORDS
"""Bytes of a programmer's bank: a pair of banks."""
A, B, C = (n * PAIR_BYTES for n in range(3))
"""Where operands and result begin, each in a pair of banks of its own."""


class Schedule:
    """Operations by cycle and slot."""

    def __init__(self) -> None:
        self._placed: dict[int, dict[str, Operation]] = {}

    def put(self, cycle: int, slot: str, operation: Operation) -> None:
        """Place an operation; raise ValueError where the slot is taken, or before cycle 0."""
        taken = self._placed.setdefault(cycle, {})
        if cycle < 0 or slot not in SLOTS or slot in taken:
            raise ValueError(f"slot {slot} of cycle {cycle} must be free")
        taken[slot] = operation

    def bundles(self) -> tuple[Bundle, ...]:
        """Return a bundle for each cycle up to the last that has an operation."""
        return tuple(Bundle(**self._placed.get(cycle, {})) for cycle in range(max(self._placed, default=-1) + 1))


@dataclass(frozen=True, kw_only=True)
class Layer:
    """A product of matrices on the tile.

    Attributes
    ----------
    bundles : its schedule, which may read registers that an earlier bundle has not yet written: `Tile(exposed=True)`.
    registers : values before the first bundle.
    images : bytes in memory, by their address.
    result : address and bytes of the result.
    decode : the result's bytes as a matrix, int64 or MxBlocks.
    macs : multiply-accumulates, those with a sparse operand's zeros included.
    """

    bundles: tuple[Bundle, ...]
    registers: Mapping[str, int]
    images: Mapping[int, np.ndarray] = field(repr=False)
    result: tuple[int, int]
    decode: Callable[[np.ndarray], np.ndarray | MxBlocks] = field(repr=False)
    macs: int


@checked
def run_layer(layer: Layer, *, conflicts: str = "raise") -> tuple[np.ndarray | MxBlocks, TileReport]:
    """Run a layer on a tile of its own; return its result, int64 [M, N] or MxBlocks [M, N / 16], and what it took.

    Parameters
    ----------
    conflicts : as `Tile` takes it.

    Raises
    ------
    HazardError : requests that meet at a bank, unless `conflicts` is "stall".
    TypeError, ValueError : no Layer; as `Tile`.
    """
    tile = Tile(conflicts=conflicts, exposed=True)
    for name, value in layer.registers.items():
        tile.registers.write(name, value)
    for address, image in layer.images.items():
        write_bytes(tile.memory, address, image)
    report = tile.run(layer.bundles)
    return layer.decode(read_bytes(tile.memory, *layer.result)), report


def write_bytes(memory: DataMemory, address: int, data: np.ndarray) -> None:
    """Store bytes from a line on; those above them in their last line become 0."""
    lines = np.pad(data, (0, -len(data) % LINE_BYTES)).reshape(-1, LINE_BYTES)
    for i, line in enumerate(lines):
        memory.store(address + LINE_BYTES * i, line)


def read_bytes(memory: DataMemory, address: int, size: int) -> np.ndarray:
    """Load bytes from a line on."""
    lines = [memory.load(address + at, LINE_BYTES) for at in range(0, size, LINE_BYTES)]
    return np.concatenate(lines)[:size]
