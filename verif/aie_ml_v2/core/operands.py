"""Random operands in memory and registers that golden's operations accept, and which registers share bits."""

from collections.abc import Iterator

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import SPARSE_CHUNK_BYTES, SPARSE_GROUP, SPARSE_KEPT
from bitpath.golden.aie_ml_v2.declarations.tile import ADDRESS_BITS, FIFO_BYTES, REGISTERS
from bitpath.golden.aie_ml_v2.mac.sparsity import compress
from bitpath.golden.aie_ml_v2.tile.operation import Registers
from bitpath.golden.aie_ml_v2.tile.transfers import LOAD_FIFOS, STORE_FIFO
from bitpath.rtl.aie_ml_v2.core.config import AieTileConfig


def chunks(source: np.random.Generator, size: int, entity_bytes: int) -> np.ndarray:
    """Return pairs of compressed chunks one after the other, 64 bytes each, with at most two entities of four."""
    parts: list[np.ndarray] = []
    while 32 * len(parts) < size:
        first = int(source.integers(4, 9))
        for words in (first, 12 - first):
            kept = int(source.integers(4 * words - 3, 4 * words + 1))
            groups = SPARSE_CHUNK_BYTES // (SPARSE_GROUP * entity_bytes)
            chosen = source.random((groups, SPARSE_GROUP)).argsort(axis=1) < SPARSE_KEPT
            places = np.flatnonzero(chosen.ravel().repeat(entity_bytes))
            chunk = np.zeros(SPARSE_CHUNK_BYTES, np.uint8)
            chunk[source.permutation(places)[:kept]] = source.integers(1, 256, kept)
            parts.append(compress(chunk))
    return np.concatenate(parts)[:size]


def block_operands(source: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield EX of half blocks, which may be any half of A or of B: both halves of a block have its exponent."""
    exponents = source.integers(0, 256, 4, np.uint8)
    if source.random() < 0.8:
        exponents = exponents // 16 + 119  # of products near each other
    while True:
        codes, shifts = source.integers(0, 256, 64, np.uint8), source.integers(0, 16, 8, np.uint8)
        yield np.concatenate([codes, shifts, np.tile(exponents, 2).astype(np.uint8)])


def sparse_operands(source: np.random.Generator, entity_bytes: int) -> Iterator[np.ndarray]:
    """Yield EX registers whose masks have two entities of four at most, with any bytes in the slots."""
    while True:
        chosen = source.random((2 * SPARSE_CHUNK_BYTES // (SPARSE_GROUP * entity_bytes), SPARSE_GROUP))
        held = (chosen.argsort(axis=1) < SPARSE_KEPT).ravel().repeat(entity_bytes)
        mask = np.packbits(held & (source.random(held.shape) < 0.8), bitorder="little")
        yield np.concatenate([source.integers(0, 256, 64, np.uint8), mask])


def any_registers(source: np.random.Generator, config: AieTileConfig) -> Registers:
    """Return registers of any bits, and FIFOs of any counts."""
    registers = Registers()
    bytes_of = {f"fex{n}": 96 for n in range(2 * config.pairs)} | {f"dm{n}": 256 for n in range(config.accumulators)}
    bytes_of |= {data: FIFO_BYTES for data, _, _ in (*LOAD_FIFOS, STORE_FIFO)}
    ends = {f"{kind}{n}": 1 << ADDRESS_BITS for kind in ("p", "m", "dn", "dj", "dc") for n in range(8)}
    ends |= {f"s{n}": 64 for n in range(4)} | {count: FIFO_BYTES + 1 for _, count, _ in (*LOAD_FIFOS, STORE_FIFO)}
    for name, size in bytes_of.items():
        registers.write(name, source.integers(0, 256, size, np.uint8))
    for name, end in ends.items():
        registers.write(name, int(source.integers(0, end)))
    return registers


def overlap(first: str, second: str) -> bool:
    """Return whether two registers share bits."""
    return any(
        a == b and low < other_end and other_low < end
        for a, low, end in _spans(first)
        for b, other_low, other_end in _spans(second)
    )


def _spans(name: str) -> Iterator[tuple[str, int, int]]:
    kind, number = REGISTERS[name]
    for span in kind.spans:
        low = span.first + number * span.step
        yield span.storage, low, low + span.width
