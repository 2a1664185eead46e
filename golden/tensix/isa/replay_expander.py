"""Replay expander: a buffer of 32 words that REPLAY loads from the stream and plays.

::

    REPLAY load=1            the next count words go to places start, start + 1, .. modulo 32
           load=1 execute=1  and leave the expander too
           load=0            the words of these places leave the expander

Count 0 means 32, and more than 32 is not supported. Words that are loaded are not looked at, a REPLAY among them included.

Ref: tt-isa-documentation, REPLAY, 3930471 and, for the count, 065d59f.
"""

from bitpath.golden.arrays.arguments import checked, integer
from bitpath.golden.tensix.declarations.encodings import OPCODE_LOW, WORD_BITS
from bitpath.golden.tensix.declarations.streams import REPLAY_WORDS
from bitpath.golden.tensix.isa.mop_expander import OPCODES
from bitpath.golden.tensix.isa.words import decode


class ReplayExpander:
    """A thread's replay expander; both chips have the same. The buffer holds zeros at first."""

    def __init__(self) -> None:
        self._buffer = [0] * REPLAY_WORDS
        self._place = self._left = 0
        self._executes = False

    @property
    def loading(self) -> int:
        """Words that a REPLAY still waits for."""
        return self._left

    @checked
    def feed(self, word: int) -> list[int]:
        """Return the words that leave the expander for one that enters.

        Raises
        ------
        TypeError, ValueError : no integer of 32 bits; a REPLAY with bits outside its fields or of more than 32 words.
        """
        word = integer("word", word, range(1 << WORD_BITS))
        if self._left:
            self._buffer[self._place] = word
            self._place = (self._place + 1) % REPLAY_WORDS
            self._left -= 1
            return [word] if self._executes else []
        if word >> OPCODE_LOW != OPCODES["REPLAY"]:
            return [word]
        replay = decode(word)
        count = integer("count", replay["count"], range(REPLAY_WORDS + 1), " in REPLAY") or REPLAY_WORDS
        if replay["load"]:
            self._place, self._left, self._executes = replay["start"], count, bool(replay["execute"])
            return []
        return [self._buffer[(replay["start"] + i) % REPLAY_WORDS] for i in range(count)]
