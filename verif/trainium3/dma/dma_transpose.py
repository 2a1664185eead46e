"""Transposes as commands of an engine's part, the requests that they must make, and golden's results."""

from dataclasses import dataclass, replace
from math import prod
from random import Random

import numpy as np

from bitpath.golden.trainium3.declarations.memory import TRAINIUM3_TRANSPOSE
from bitpath.golden.trainium3.dma.transpose import dma_transpose, transpose_cycles
from bitpath.rtl.trainium3.dma.dma_transpose import (
    DmaTransposeConfig,
    fetch_layout,
    transpose_command,
    transposed_layout,
)
from bitpath.verif.kit.packing import pack, unpack

DTYPES = {2: np.dtype(np.uint16), 4: np.dtype(np.uint32)}


@dataclass(frozen=True)
class Job:
    """A transpose of a source of this shape: the part of its last axis from ``first`` on."""

    shape: tuple[int, ...]
    size: int
    source: int
    first: int
    columns: int
    row: int = 0
    from_sbuf: bool = False

    @property
    def middle(self) -> int:
        return prod(self.shape[1:-1])

    def command(self, config: DmaTransposeConfig, **others: int) -> int:
        pitch = self.shape[-1] * self.size
        axes = [{"step": self.middle * pitch, "num": self.shape[0]}, {"step": pitch, "num": self.middle}]
        fields = {
            "source": self.source + self.first * self.size,
            "axes": axes,
            "columns": self.columns,
            "row": self.row,
            "wide": self.size == 4,
            "from_sbuf": self.from_sbuf,
        }
        return pack(transpose_command(config), fields | others)

    def cycles(self, config: DmaTransposeConfig) -> int:
        """Golden's time of the transpose, with the configuration's tiles."""
        numerics = replace(TRAINIUM3_TRANSPOSE.numerics, tile_elements=config.elements)
        shape = (*self.shape[:-1], self.columns)
        return transpose_cycles(shape, self.size, source="sbuf" if self.from_sbuf else "hbm", numerics=numerics)

    def fetches(self, config: DmaTransposeConfig) -> list[int]:
        """The requests: addresses of source rows in the order of the destination's elements, two at a time if narrow."""
        bytes_ = self.source + self.size * np.arange(prod(self.shape)).reshape(self.shape)
        order = np.moveaxis(bytes_[..., self.first], 0, -1).ravel().tolist()
        found = []
        step = 1 if self.size == 4 else 2
        for tile in range(0, len(order), config.elements):
            part = order[tile : tile + config.elements]
            for low, *high in (part[i : i + step] for i in range(0, len(part), step)):
                fields = {"low": low, "high": high[0] if high else 0, "both": bool(high)}
                found.append(pack(fetch_layout(config), fields))
        return found

    def results(self, config: DmaTransposeConfig, memory: bytes) -> list[int]:
        """Golden's transpose of the memory's bytes, cut into results."""
        count = prod(self.shape)
        source = np.frombuffer(memory, DTYPES[self.size], count, self.source).reshape(self.shape)
        return cut(self, config, dma_transpose(source))


def cut(job: Job, config: DmaTransposeConfig, transposed: np.ndarray) -> list[int]:
    """Return the results of a job out of the whole transposed array."""
    rows = transposed.reshape(job.shape[-1], -1)[job.first : job.first + job.columns]
    row_elements = config.row_bytes // job.size
    found = []
    for tile in range(0, rows.shape[1], config.elements):
        for partition, own in enumerate(rows):
            end = min(tile + config.elements, rows.shape[1])
            for start in range(tile, end, row_elements):
                part = own[start : min(start + row_elements, end)].tobytes()
                fields = {
                    "data": int.from_bytes(part, "little"),
                    "mask": (1 << len(part)) - 1,
                    "row": job.row + start // row_elements,
                    "partition": partition,
                    "last": end == rows.shape[1] and partition == job.columns - 1 and start + row_elements >= end,
                }
                found.append(pack(transposed_layout(config), fields))
    return found


def beat(config: DmaTransposeConfig, memory: bytes, request: int) -> int:
    """Return the beat that answers a request; where it asks for no second row, the beat has the bytes behind the first."""
    fetch = unpack(fetch_layout(config), request)
    rows = [(fetch.low, 2), (fetch.high, 2)] if fetch.both else [(fetch.low, 4)]
    around = memory + memory
    return int.from_bytes(b"".join(around[at : at + size * config.columns] for at, size in rows), "little")


def placed(job: Job, config: DmaTransposeConfig, table: np.ndarray) -> np.ndarray:
    """Return the rows of the transpose, [columns, elements], from all results of a job, uint8 [results, bytes]."""
    layout, width = transposed_layout(config), config.row_bytes // job.size
    found = np.zeros((job.columns, -(-prod(job.shape[:-1]) // width), width), DTYPES[job.size])
    for word in table:
        result = unpack(layout, int.from_bytes(word.tobytes(), "little"))
        row = result.data.to_bytes(config.row_bytes, "little")
        found[result.partition, result.row - job.row] = np.frombuffer(row, DTYPES[job.size])
    return found.reshape(job.columns, -1)[:, : prod(job.shape[:-1])]


def random_job(config: DmaTransposeConfig, rng: Random) -> Job:
    """Return a transpose whose source fits the memory, with any axes."""
    while True:
        most = (1 << config.count_bits) - 1
        size = rng.choice((2, 4))
        axes = rng.choice((2, 3, 4))
        last = rng.randint(1, 3 * config.columns)
        middle = [rng.randint(1, 3) for _ in range(axes - 2)]
        first = rng.choice((rng.randint(1, min(most, 3 * config.elements)), 1, 2, 4))
        shape = (first, *middle, last)
        bytes_ = prod(shape) * size
        rows = -(-first * prod(middle) // config.elements) * size // 2
        # Signed steps reach half of the addresses.
        if bytes_ + 4 * config.columns > 1 << config.address_bits - 1 or rows >= 1 << config.row_bits:
            continue
        if prod(middle) > most or first > most:
            continue
        at = rng.randrange(last)
        columns = min(last - at, rng.randint(1, config.columns))
        source = rng.randrange(((1 << config.address_bits) - bytes_ - 4 * config.columns) // size) * size
        row = rng.randint(0, (1 << config.row_bits) - 1 - rows)
        return Job(shape, size, source, at, columns, row, bool(rng.getrandbits(1)))


def random_command(config: DmaTransposeConfig, rng: Random) -> int:
    """Return a legal command, or one without elements."""
    job = random_job(config, rng)
    return job.command(config, **({"columns": 0} if rng.random() < 0.2 else {}))
