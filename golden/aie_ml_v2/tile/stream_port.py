"""Stream ports: a buffer of 32-bit words between the core and the stream switch.

Ref: AM027 chapter 2; AM029 for the status bits.
"""

from collections import deque
from typing import NamedTuple

from bitpath.golden.aie_ml_v2.declarations.tile import STREAM_IN_LATENCY, STREAM_IN_WORDS
from bitpath.golden.arrays.arguments import checked, integer

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
