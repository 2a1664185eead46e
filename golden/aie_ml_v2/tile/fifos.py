"""Load and store FIFOs: elements of any number of bytes, from lines of memory and into them.

::

    load:   memory  [  line  |  line  |  line  ]      fill, or a pop that finds at most 64 bytes: the line of the pointer,
                        ^head     ^pointer            from the pointer on; then the pointer is at the next line
    store:  memory  [  line  |  line  |  line  ]      push: bytes to the end of the pointer's line, if they reach it;
                        ^pointer                      flush: all bytes up to that end

Ref: LLVM's registers, itineraries and tests (target aie2ps); the rules of the transfers are chosen.
"""

from dataclasses import dataclass, field

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import SPARSE_ALIGNMENT_BYTES, SPARSE_CHUNK_BYTES
from bitpath.golden.aie_ml_v2.declarations.tile import ADDRESS_BITS, FIFO_BYTES, LINE_BYTES
from bitpath.golden.aie_ml_v2.tile.memory import DataMemory
from bitpath.golden.arrays.arguments import check_array, checked, integer

_SPACE = 1 << ADDRESS_BITS


def _nothing() -> np.ndarray:
    return np.zeros(FIFO_BYTES, np.uint8)


def _padded(held: np.ndarray) -> np.ndarray:
    return np.pad(held, (0, FIFO_BYTES - len(held)))


def _next_line(pointer: int) -> int:
    return (pointer - pointer % LINE_BYTES + LINE_BYTES) % _SPACE


@checked
@dataclass(frozen=True, eq=False)
class _Fifo:
    """Bytes, their number and a pointer.

    Attributes
    ----------
    pointer : 20 bits; in a load FIFO of the byte behind those held, in a store FIFO of the first of them.
    count : bytes held, 0 to 128.
    data : uint8 [128], the oldest byte lowest; those above `count` are 0.

    Raises
    ------
    TypeError, ValueError : another dtype or shape; a count or pointer out of range.
    """

    pointer: int = 0
    count: int = 0
    data: np.ndarray = field(default_factory=_nothing)

    def __post_init__(self) -> None:
        integer("pointer", self.pointer, range(_SPACE))
        integer("count", self.count, range(FIFO_BYTES + 1))
        check_array("data", self.data, np.uint8)
        if self.data.shape != (FIFO_BYTES,):
            raise ValueError(f"data must have shape ({FIFO_BYTES},), not {self.data.shape}")
        if self.data[self.count :].any():
            raise ValueError(f"data must be 0 above its {self.count} bytes")

    @property
    def held(self) -> np.ndarray:
        """The bytes held, the oldest first."""
        return self.data[: self.count]


class LoadFifo(_Fifo):
    """Bytes that a program takes from consecutive lines of memory; every operation returns the FIFO after it."""

    @property
    def head(self) -> int:
        """Address of the next byte. A pop with a modifier goes on, with an empty FIFO, where `agu_step` leads from here."""
        return (self.pointer - self.count) % _SPACE

    @checked
    def fill(self, memory: DataMemory) -> "LoadFifo":
        """Append the pointer's line from the pointer on, if there is room for a line.

        Raises
        ------
        TypeError, ValueError : no DataMemory; a pointer beyond it.
        """
        if self.count > FIFO_BYTES - LINE_BYTES:
            return self
        place = self.pointer % LINE_BYTES
        line = memory.load(self.pointer - place, LINE_BYTES)
        held = np.concatenate([self.held, line[place:]])
        return LoadFifo(_next_line(self.pointer), len(held), _padded(held))

    @checked
    def pop(self, memory: DataMemory, size: int) -> tuple[np.ndarray, bool, "LoadFifo"]:
        """Fill, if there is room for a line, and take the lowest bytes.

        Parameters
        ----------
        size : 0 to 128.

        Returns
        -------
        uint8 [size], 0 for missing bytes; True if some were missing; the FIFO after.

        Raises
        ------
        TypeError, ValueError : another size; as `fill`.
        """
        return self.fill(memory)._take(integer("size", size, range(FIFO_BYTES + 1)))

    @checked
    def pop_sparse(self, memory: DataMemory) -> tuple[np.ndarray, bool, "LoadFifo"]:
        """Pop two compressed chunks, as `compress` makes them; their masks decide how many bytes.

        Returns
        -------
        uint8 [16 to 144]; the other results are those of `pop`.

        Raises
        ------
        TypeError, ValueError : as `fill`.
        """
        full = self.fill(memory)
        size = 0
        for _ in range(2):
            size += _chunk_bytes(full.data[size:])
        return full._take(size)

    def _take(self, size: int) -> tuple[np.ndarray, bool, "LoadFifo"]:
        taken, held = self.held[:size], self.held[size:]
        rest = LoadFifo(self.pointer, len(held), _padded(held))
        return np.pad(taken, (0, size - len(taken))), len(taken) < size, rest


class StoreFifo(_Fifo):
    """Bytes that a program adds and that go to consecutive lines of memory; every operation returns the FIFO after it."""

    @checked
    def push(self, memory: DataMemory, data: np.ndarray) -> tuple[bool, "StoreFifo"]:
        """Append bytes, then write those up to the end of the pointer's line, if they reach it.

        Parameters
        ----------
        data : uint8 [0 to 128].

        Returns
        -------
        True if more than 128 bytes came together; the last of them are lost. The FIFO after.

        Raises
        ------
        TypeError, ValueError : another dtype or shape; no DataMemory; a pointer beyond it.
        """
        check_array("data", data, np.uint8)
        if data.ndim != 1 or len(data) > FIFO_BYTES:
            raise ValueError(f"data must have one axis of 0 to {FIFO_BYTES}, not shape {data.shape}")
        held = np.concatenate([self.held, data])
        full = StoreFifo(self.pointer, min(len(held), FIFO_BYTES), _padded(held[:FIFO_BYTES]))
        reaches = full.pointer % LINE_BYTES + full.count >= LINE_BYTES
        return len(held) > FIFO_BYTES, full.flush(memory) if reaches else full

    @checked
    def flush(self, memory: DataMemory) -> "StoreFifo":
        """Write the bytes up to the end of the pointer's line; other bytes of the line stay.

        Raises
        ------
        TypeError, ValueError : no DataMemory; a pointer beyond it.
        """
        if not self.count:
            return self
        place = self.pointer % LINE_BYTES
        written = self.held[: LINE_BYTES - place]
        line = memory.load(self.pointer - place, LINE_BYTES)
        line[place : place + len(written)] = written
        memory.store(self.pointer - place, line)
        held = self.held[len(written) :]
        return StoreFifo((self.pointer + len(written)) % _SPACE, len(held), _padded(held))


def _chunk_bytes(data: np.ndarray) -> int:
    """Return the bytes of a compressed chunk that begins here: a mask, a byte for each bit, zeros to a multiple of four."""
    mask = data[: SPARSE_CHUNK_BYTES // 8]
    size = SPARSE_CHUNK_BYTES // 8 + int(np.unpackbits(mask).sum())
    return size + -size % SPARSE_ALIGNMENT_BYTES
