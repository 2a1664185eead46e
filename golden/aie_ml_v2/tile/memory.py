"""Data memory: four modules of eight single-port banks, interleaved in pairs at 32 bytes.

::

     17   16 15  14 13                6   5   4        0
    [module][pair ][       word       ][odd][   byte    ]      bank = 8 * module + 2 * pair + odd

Ref: AM027 chapter 2 and appendix A; AM020 for the stalls.
"""

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import SPARSE_ALIGNMENT_BYTES, SPARSE_CHUNK_BYTES
from bitpath.golden.aie_ml_v2.declarations.tile import (
    ACCESS_WIDTHS,
    ADDRESS_BITS,
    BANK_BYTES,
    BANK_WORDS,
    FIFO_BYTES,
    LINE_BYTES,
    MEMORY_BYTES,
    STREAM_IN_LATENCY,
    STREAM_IN_WORDS,
)
from bitpath.golden.arrays.arguments import check_array, check_choice, checked, integer


@checked
def banks(address: int, width: int) -> tuple[int, ...]:
    """Return the banks that an access of `width` bytes needs.

    Raises
    ------
    TypeError, ValueError : another width than 1, 2, 4 to 64; an address that is not aligned to it, or beyond 256 KiB.
    """
    _check_access(address, width, MEMORY_BYTES)
    even = 2 * (address // (LINE_BYTES * BANK_WORDS))
    return (even, even + 1) if width > BANK_BYTES else (even + address // BANK_BYTES % 2,)


@checked
def conflict_cycles(requests: Sequence[tuple[int, int]]) -> int:
    """Return the cycles that the core stalls for (address, width) pairs presented in one cycle.

    A bank serves one request a cycle: the largest number of requests to one bank, less one.

    Raises
    ------
    TypeError, ValueError : as `banks`.
    """
    return max(Counter(bank for request in requests for bank in banks(*request)).values(), default=1) - 1


class DataMemory:
    """Bytes, zero at first. Loads and stores are aligned; a caller performs a cycle's loads before its store.

    Parameters
    ----------
    size : bytes, a multiple of 64 up to 256 KiB.

    Raises
    ------
    TypeError, ValueError : another size.
    """

    @checked
    def __init__(self, size: int = MEMORY_BYTES):
        self._size = integer("size", size, range(LINE_BYTES, MEMORY_BYTES + 1))
        if size % LINE_BYTES:
            raise ValueError(f"size must be a multiple of {LINE_BYTES}, not {size}")
        self._bytes = np.zeros(size, np.uint8)

    def __repr__(self) -> str:
        return f"DataMemory({self._size})"

    @checked
    def load(self, address: int, width: int) -> np.ndarray:
        """Return the bytes at an address, uint8 [width].

        Raises
        ------
        TypeError, ValueError : another width than 1, 2, 4 to 64; an address that is not aligned to it, or beyond the memory.
        """
        _check_access(address, width, self._size)
        return self._bytes[address : address + width].copy()

    @checked
    def store(self, address: int, data: np.ndarray) -> None:
        """Write bytes, uint8 [width], at an address.

        Raises
        ------
        TypeError, ValueError : another dtype; as `load`.
        """
        check_array("data", data, np.uint8)
        if data.ndim != 1 or len(data) not in ACCESS_WIDTHS:
            raise ValueError(f"data must have one axis of 1, 2, 4, 8, 16, 32 or 64, not shape {data.shape}")
        _check_access(address, len(data), self._size)
        self._bytes[address : address + len(data)] = data


def _check_access(address: int, width: int, size: int) -> None:
    check_choice("width", width, ACCESS_WIDTHS)
    integer("address", address, range(size))
    if address % width:
        raise ValueError(f"address must be a multiple of the width {width}, not {address:#x}")


# Load and store FIFOs: elements of any number of bytes, from lines of memory and into them.
#
# ::
#
#     load:   memory  [  line  |  line  |  line  ]      fill, or a pop that finds at most 64 bytes: the line of the pointer,
#                         ^head     ^pointer            from the pointer on; then the pointer is at the next line
#     store:  memory  [  line  |  line  |  line  ]      push: bytes to the end of the pointer's line, if they reach it;
#                         ^pointer                      flush: all bytes up to that end
#
# Ref: LLVM's registers, itineraries and tests (target aie2ps); the rules of the transfers are chosen.


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


# Stream ports: a buffer of 32-bit words between the core and the stream switch.
#
# Ref: AM027 chapter 2; AM029 for the status bits.


_WORD = range(1 << 32)


class StreamWord(NamedTuple):
    """A word of 32 bits, and True for the last one of a packet (tlast)."""

    word: int
    last: bool = False


@checked
def stream_result(found: StreamWord | None) -> tuple[int, int]:
    """Return register and status of a non-blocking read: the word, or 0, and success (bit 1) with tlast (bit 0)."""
    return (found.word, 2 | found.last) if found is not None else (0, 0)


class StreamPort:
    """One direction of a port, cycle by cycle.

    The buffer at the start of a cycle decides: a write needs a free place, a read a word that was written `latency` cycles
    before. A blocking access waits for it, a non-blocking one fails.

    Parameters
    ----------
    depth, latency : 4 words and a cycle from the switch, which is the default; 8 words and two cycles into it.

    Raises
    ------
    TypeError, ValueError : a depth or latency below 1.
    """

    @checked
    def __init__(self, depth: int = STREAM_IN_WORDS, latency: int = STREAM_IN_LATENCY):
        self._depth = integer("depth", depth, range(1, 1 << 16))
        self._latency = integer("latency", latency, range(1, 1 << 16))
        self._words: deque[tuple[int, StreamWord]] = deque()
        self._now = 0

    def __repr__(self) -> str:
        return f"StreamPort(depth={self._depth}, latency={self._latency})"

    @property
    def can_write(self) -> bool:
        """True if a write in this cycle is accepted."""
        return len(self._words) < self._depth

    @property
    def can_read(self) -> bool:
        """True if a read in this cycle finds a word."""
        return bool(self._words) and self._words[0][0] <= self._now

    @property
    def in_flight(self) -> int:
        """Number of words in the buffer."""
        return len(self._words)

    @checked
    def cycle(self, write: StreamWord | None = None, *, read: bool = False) -> tuple[bool, StreamWord | None]:
        """Advance by one clock cycle.

        Parameters
        ----------
        write : a word to write; None writes nothing.
        read : True to take a word.

        Returns
        -------
        True if `write` was taken, and the word read or None.

        Raises
        ------
        TypeError, ValueError : another type; a word beyond 32 bits.
        """
        taken = write is not None and self.can_write
        word = None if write is None else StreamWord(integer("write.word", write.word, _WORD), bool(write.last))
        found = self._words.popleft()[1] if read and self.can_read else None
        if taken and word is not None:
            self._words.append((self._now + self._latency, word))
        self._now += 1
        return taken, found
