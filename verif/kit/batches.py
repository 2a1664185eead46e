"""Vectors of a unit as arrays of 32-bit words, in the form that the player reads."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

WORD_BITS = 32
Place = tuple[int, int]
"""Lowest bit and width of a field."""


def words_of(bits: int) -> int:
    """Return the number of 32-bit words that hold ``bits`` bits."""
    return -(-bits // WORD_BITS)


@dataclass(frozen=True, eq=False)
class Part:
    """A range of words of every vector; a vector is the bitwise OR of its parts.

    Attributes
    ----------
    table : uint32 [R, W].
    index : row of each vector, uint32 [N]; None if vector k uses row k.
    first : word of a vector at which its row begins.
    """

    table: np.ndarray
    index: np.ndarray | None = None
    first: int = 0

    def rows(self, numbers: np.ndarray) -> np.ndarray:
        """Return the rows of the vectors with these indices, uint32 [n, W]."""
        return self.table[numbers if self.index is None else self.index[numbers]]


@dataclass(frozen=True, eq=False)
class Batch:
    """Vectors of one kind, with the function that computes golden's answers.

    Attributes
    ----------
    kind : description of the vectors.
    parts : parts that make up every vector.
    count : number of vectors, N.
    golden : function that returns the answers, uint32 [N] or [N, W].
    beats, latency, lead : for a lane, the cycles of a vector's operands, the cycles from the first operand to the answer, and
        from the accumulators to the answer.
    """

    kind: str
    parts: tuple[Part, ...]
    count: int
    golden: Callable[[], np.ndarray]
    beats: int = 1
    latency: int = 0
    lead: int = 0

    def words(self, numbers: np.ndarray) -> np.ndarray:
        """Return the vectors with these indices, uint32 [n, W]."""
        width = max(part.first + part.table.shape[1] for part in self.parts)
        whole = np.zeros((len(numbers), width), np.uint32)
        for part in self.parts:
            whole[:, part.first : part.first + part.table.shape[1]] |= part.rows(numbers)
        return whole

    def write(self, file: BinaryIO) -> None:
        """Append the batch in the player's file format."""
        np.array([self.count, self.beats, self.latency, self.lead, len(self.parts)], np.uint32).tofile(file)
        for part in self.parts:
            indexed = part.index is not None
            np.array([*part.table.shape, part.first, indexed], np.uint32).tofile(file)
            np.ascontiguousarray(part.table, np.uint32).tofile(file)
            if indexed:
                np.ascontiguousarray(part.index, np.uint32).tofile(file)


def fill(rows: int, words: int, fields: Iterable[tuple[int, int, Any]]) -> np.ndarray:
    """Return rows of words, uint32 [R, W], that hold the given fields.

    Parameters
    ----------
    fields : lowest bit, width of at most 32, and values of each field: integers [R], or one for all rows.
    """
    table = np.zeros((rows, words + 1), np.uint32)
    for lowest, width, values in fields:
        word, bit = divmod(lowest, WORD_BITS)
        moved = (np.asarray(values).astype(np.uint64) & np.uint64((1 << width) - 1)) << np.uint64(bit)
        table[:, word] |= moved.astype(np.uint32)
        if bit + width > WORD_BITS:
            table[:, word + 1] |= (moved >> np.uint64(WORD_BITS)).astype(np.uint32)
    return table[:, :words]


def decoded(layout: Mapping[str, Place], words: np.ndarray) -> dict[str, int]:
    """Return the nonzero fields of a vector's words."""
    bits = int.from_bytes(np.ascontiguousarray(words, "<u4").tobytes(), "little")
    fields = {name: bits >> lowest & (1 << width) - 1 for name, (lowest, width) in layout.items()}
    return {name: value for name, value in fields.items() if value}


def side_by_side(*ports: tuple[str, Any]) -> dict[str, Place]:
    """Return the places of the leaves of several ports (names and layouts); each port starts at a new word."""
    found: dict[str, Place] = {}
    lowest = 0
    for name, layout in ports:
        inside = places(layout, name)
        found |= {path: (lowest + offset, width) for path, (offset, width) in inside.items()}
        lowest += WORD_BITS * words_of(sum(width for _, width in inside.values()))
    return found


def places(layout: Any, prefix: str = "", lowest: int = 0) -> dict[str, Place]:
    """Return lowest bit and width of every leaf of an Amaranth layout, by its path: ``src_a.0.sign``."""
    from amaranth.hdl import Shape
    from amaranth.lib import data

    if not (isinstance(layout, data.Layout) or (isinstance(layout, type) and issubclass(layout, data.View))):
        return {prefix: (lowest, Shape.cast(layout).width)}
    found: dict[str, Place] = {}
    for name, field in data.Layout.cast(layout):
        inner = f"{prefix}.{name}" if prefix else str(name)
        found |= places(field.shape, inner, lowest + field.offset)
    return found
