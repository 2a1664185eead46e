"""Memory whose addresses go round, and operations of FIFOs that both benches share."""

from random import Random
from typing import Any

import numpy as np

from bitpath.golden.aie_ml_v2 import DataMemory, compress
from bitpath.golden.aie_ml_v2.declarations.tile import ADDRESS_BITS, FIFO_BYTES, LINE_BYTES, MEMORY_BYTES
from bitpath.rtl.aie_ml_v2.tile.fifos import FIFO_BITS, LINE_BITS

ELEMENTS = (32, 48, 64, 72, 80, 96, 128)
"""Bytes of elements: half blocks and blocks of each format, two sparse chunks, everything."""
SPACE = 1 << ADDRESS_BITS


class RoundMemory(DataMemory):
    """Data memory at each of four places of the address space, so that pointers of 20 bits need no check."""

    def load(self, address: int, width: int) -> np.ndarray:
        return super().load(address % MEMORY_BYTES, width)

    def store(self, address: int, data: np.ndarray) -> None:
        super().store(address % MEMORY_BYTES, data)

    def fill(self, rng: Random, sparse: bool = False) -> "RoundMemory":
        """Write random bytes everywhere, or compressed chunks one after the other."""
        image = rng.randbytes(MEMORY_BYTES)
        if sparse:
            zeros, chunks = np.random.default_rng(rng.getrandbits(32)), b""
            while len(chunks) < 1 << 14:
                chunk = np.where(zeros.random(64) < zeros.random(), zeros.integers(0, 256, 64), 0)
                chunks += compress(chunk.astype(np.uint8)).tobytes()
            image = (chunks * (MEMORY_BYTES // len(chunks) + 1))[:MEMORY_BYTES]
        for line in range(0, MEMORY_BYTES, LINE_BYTES):
            super().store(line, np.frombuffer(image[line : line + LINE_BYTES], np.uint8))
        return self


def number(data: np.ndarray) -> int:
    """Return bytes as an integer, the first lowest."""
    return int.from_bytes(data.tobytes(), "little")


async def write_held(table: Any, rng: Random, halves: int, count: int | None = None) -> None:
    """Write halves of a FIFO's register as a program does, then set its count and pointer.

    By default all are random. With a count, ones are written, and the pointer is a line's last byte: a load then adds one byte,
    and each of the ones that stays above the count shows. ``table`` is the bench's player; golden's FIFO keeps the bytes below
    the count.
    """
    data, pointer, held = rng.getrandbits(FIFO_BITS), rng.randrange(SPACE), table.held
    if count is None:
        count = rng.randrange(FIFO_BYTES + 1)
    else:
        data, pointer = (1 << FIFO_BITS) - 1, pointer | LINE_BYTES - 1
    for half in range(2):
        mask = (1 << LINE_BITS) - 1 << half * LINE_BITS
        held = held & ~mask | data & mask if halves >> half & 1 else held
    while not await table.step(write=(halves, data)):
        pass
    table.held = held
    kept = np.frombuffer((held & (1 << 8 * count) - 1).to_bytes(FIFO_BYTES, "little"), np.uint8)
    table.fifo = type(table.fifo)(pointer, count, kept)
