"""Memory whose addresses go round, and operations of FIFOs."""

from random import Random

import numpy as np

from bitpath.golden.aie_ml_v2 import DataMemory, compress
from bitpath.golden.aie_ml_v2.declarations.tile import LINE_BYTES, MEMORY_BYTES

ELEMENTS = (32, 48, 64, 72, 80, 96, 128)
"""Bytes of elements: half blocks and blocks of each format, two sparse chunks, everything."""


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
