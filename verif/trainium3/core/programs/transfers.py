"""DMA instructions of a core: copies by the DGE, and single descriptors."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bitpath.golden.trainium3 import read_add_write
from bitpath.golden.trainium3.declarations.dtypes import container_bits
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.instruction import Engine
from bitpath.rtl.trainium3.dma.dtype import Dtype
from bitpath.rtl.trainium3.dma.read_add_write import WriteMode
from bitpath.verif.trainium3.core.programs.instructions import Instruction
from bitpath.verif.trainium3.core.programs.memories import Memories, Pattern, load, row_at, store
from bitpath.verif.trainium3.dtype_words import array_of, cast_words, codes_of


@dataclass(frozen=True)
class Side:
    """A side of a copy: elements of SBUF from partition ``start`` on, or of HBM, where ``start`` is None."""

    pattern: Pattern
    start: int | None = None
    partition_step: int = 0

    @property
    def fields(self) -> dict[str, Any]:
        own = {"sbuf": self.start is not None, "start": self.start or 0, "partition_step": self.partition_step}
        return self.pattern.fields | own

    def row(self, memories: Memories, p: int) -> tuple[np.ndarray, list[int]]:
        """Return the bytes in which the elements of the p-th partition lie, [1, bytes], and their places."""
        if self.start is not None:
            return memories.sbuf[self.start + p : self.start + p + 1], self.pattern.elements
        return memories.hbm[np.newaxis], [place + p * self.partition_step for place in self.pattern.elements]


ADDED = {WriteMode.ADD_BF16: "bf16", WriteMode.ADD_FP32: "fp32"}


def _after(mode: WriteMode, present: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the codes that a write leaves."""
    if mode is WriteMode.STORE:
        return values
    return codes_of(read_add_write(array_of(present, ADDED[mode]), array_of(values, ADDED[mode])))


@dataclass(frozen=True, kw_only=True)
class Copy(Instruction):
    """A copy whose descriptors the DGE makes, or a read-add-write."""

    engine: Engine = Engine.DMA
    source: Side
    destination: Side
    partitions: int
    size: int = 0
    queue: int = 0
    mode: WriteMode = WriteMode.STORE

    def body(self) -> dict[str, Any]:
        own = {"partitions": self.partitions, "size": self.size, "queue": self.queue}
        sides = {"source": self.source.fields, "destination": self.destination.fields}
        return {"copy": own | sides, "mode": self.mode, "direct": 0}

    def run(self, memories: Memories) -> None:
        width = 1 << self.size
        moved = [load(*self.source.row(memories, p), width) for p in range(self.partitions)]
        for p, values in enumerate(moved):
            row, places = self.destination.row(memories, p)
            store(row, places, width, _after(self.mode, load(row, places, width), values))


@dataclass(frozen=True, kw_only=True)
class Descriptor(Instruction):
    """One descriptor, with a cast if its dtypes differ; sides are (partition or None, byte)."""

    engine: Engine = Engine.DMA
    source: tuple[int | None, int]
    destination: tuple[int | None, int]
    count: int
    pair: tuple[str, str] = ("uint8", "uint8")
    mode: WriteMode = WriteMode.STORE
    queue: int = 0
    config: CoreConfig

    def body(self) -> dict[str, Any]:
        group = self.config.sbuf.group
        partitions = [each for each, _ in (self.source, self.destination) if each is not None]
        length = self.count * max(container_bits(each) for each in self.pair) // 8
        return {
            "direct": 1,
            "engine": partitions[0] // group if partitions else 0,
            "queue": self.queue,
            "source": self._address(*self.source),
            "destination": self._address(*self.destination),
            "length": length % (1 << 16),
            "pair": {"source": Dtype[self.pair[0].upper()], "destination": Dtype[self.pair[1].upper()]},
            "mode": self.mode,
        }

    def _address(self, partition: int | None, byte: int) -> int:
        if partition is None:
            return byte
        inside = partition % self.config.sbuf.group * self.config.partition_bytes + byte
        return inside | 1 << self.config.mover.address_bits - 1

    def run(self, memories: Memories) -> None:
        (source, destination), (first, at) = zip(
            *((self._bytes(memories, *side)) for side in (self.source, self.destination)), strict=True
        )
        sizes = [container_bits(each) // 8 for each in self.pair]
        codes = codes_of(source[first : first + self.count * sizes[0]].copy().view(f"u{sizes[0]}"))
        if self.pair[0] != self.pair[1]:
            codes = cast_words(codes, *self.pair)
        target = destination[at : at + self.count * sizes[1]]
        present = codes_of(target.copy().view(f"u{sizes[1]}"))
        target[:] = _after(self.mode, present, codes).astype(f"u{sizes[1]}").view(np.uint8)

    @staticmethod
    def _bytes(memories: Memories, partition: int | None, byte: int) -> tuple[np.ndarray, int]:
        return (memories.hbm if partition is None else memories.sbuf[partition]), byte


def load_rows(byte: int, place: int, partitions: int, count: int, size: int, start: int = 0, queue: int = 0) -> Copy:
    """Return the copy of rows of ``count`` elements, of ``2**size`` bytes, from a byte of HBM on to a byte of each partition."""
    source, destination = _sides(byte, place, partitions, count, size, start)
    return Copy(source=source, destination=destination, partitions=partitions, size=size, queue=queue)


def store_rows(byte: int, place: int, partitions: int, count: int, size: int) -> Copy:
    """Return the copy back, of the first partitions, behind all that the engines do."""
    destination, source = _sides(byte, place, partitions, count, size)
    return Copy(source=source, destination=destination, partitions=partitions, size=size, after=tuple(Engine))


def _sides(byte: int, place: int, partitions: int, count: int, size: int, start: int = 0) -> tuple[Side, Side]:
    width = 1 << size
    hbm = Side(row_at(count, byte, width), None, count if partitions > 1 else 0)
    return hbm, Side(row_at(count, place, width), start)
