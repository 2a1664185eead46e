"""The MOP expander and the replay expander: one instruction word becomes a stream of words."""

from collections.abc import Iterator, Sequence

from bitpath.golden.arrays.arguments import check_length, checked, integer
from bitpath.golden.tensix.declarations.encodings import (
    BY_NAME,
    COUNT_MASK,
    EXTRA_ROUNDS,
    MASK_HIGH_SHIFT,
    MOP_WORDS,
    OPCODE_LOW,
    REPLAY_WORDS,
    WORD_BITS,
)
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.isa.words import decoded

# MOP expander: a MOP becomes a sequence of its thread's nine configuration words.
#
# ::
#
#     template 0, for i = 0 .. count_minus_1       word   template 0     template 1
#       mask bit i = 0: A0 (A1 A2 A3) (B)          0                     outer count, bits 6:0
#       mask bit i = 1: skip A0 (skip B)           1      flags          inner count, bits 6:0
#                                                  2      B              start
#     template 1, for j = 0 .. outer - 1           3      A0             end 0
#       (start)                                    4      A1             end 1
#       inner times loop, the last one replaced    5      A2             loop
#         by last of all or last of inner          6      A3             alternative loop
#       (end 0 (end 1))                            7      skip A0        last of all
#                                                  8      skip B         last of an inner loop
#
# Flag bit 0 asks for B and skip B, bit 1 for A1 to A3. A NOP in template 1's start or end gives no word. An alternative
# that is no NOP takes turns with the loop word, over all outer rounds, and doubles the inner count.
#
# Ref: tt-isa-documentation 3930471, MOPExpander, MOP, MOP_CFG.


OPCODES = {each.name: each.opcode for each in BY_NAME[Chip.WORMHOLE].values()}
"""Opcodes, which both chips share."""


class MopExpander:
    """A thread's MOP expander; both chips have the same.

    Parameters
    ----------
    config : the nine configuration words, 32 bits each.

    Raises
    ------
    TypeError, ValueError : another number of words, or no integers of 32 bits.
    """

    def __init__(self, config: Sequence[int] = (0,) * MOP_WORDS):
        self.configure(config)
        self._mask_high = 0

    @checked
    def configure(self, config: Sequence[int]) -> None:
        """Replace the configuration words; the mask's upper half stays.

        Raises
        ------
        TypeError, ValueError : as the class.
        """
        check_length("config", config, MOP_WORDS)
        self._config = [integer(f"config[{i}]", each, range(1 << WORD_BITS)) for i, each in enumerate(config)]

    @checked
    def feed(self, word: int) -> list[int]:
        """Return the words that leave the expander for one that enters: none for MOP_CFG, the expansion for MOP, else the word.

        Raises
        ------
        TypeError, ValueError : no integer of 32 bits; a MOP or MOP_CFG with bits outside its fields.
        """
        return self.expand(integer("word", word, range(1 << WORD_BITS)))

    def expand(self, word: int) -> list[int]:
        """Return what `feed` returns for a Python int of 32 bits, which is not checked."""
        opcode = word >> OPCODE_LOW
        if opcode == OPCODES["MOP_CFG"]:
            self._mask_high = decoded(word, Chip.WORMHOLE)["mask_high"]
            return []
        if opcode != OPCODES["MOP"]:
            return [word]
        mop = decoded(word, Chip.WORMHOLE)
        if mop["template"]:
            return [*_template_1(self._config)]
        mask = self._mask_high << MASK_HIGH_SHIFT | mop["mask_low"]
        return [*_template_0(self._config, mask, mop["count_minus_1"] + 1)]


def _template_0(config: Sequence[int], mask: int, count: int) -> Iterator[int]:
    """Yield A words where the mask has a 0 and skip words where it has a 1; rounds beyond the mask's bits find 0."""
    _, flags, b, a0, a1, a2, a3, skip_a0, skip_b = config
    has_b, has_a123 = flags & 1, flags & 2
    for i in range(count):
        if mask >> i & 1:
            yield skip_a0
            if has_b:
                yield skip_b
            continue
        yield a0
        if has_a123:
            yield from (a1, a2, a3)
        if has_b:
            yield b


def _template_1(config: Sequence[int]) -> Iterator[int]:
    outer, inner, start, end_0, end_1, loop, alternative, last_of_all, last_of_inner = config
    outer, inner = outer & COUNT_MASK, inner & COUNT_MASK
    turns = [loop] if _is_nop(alternative) else [loop, alternative]
    if outer == 1 and inner == 0 and _is_nop(start) and not _is_nop(end_0):
        outer += EXTRA_ROUNDS
    for j in range(outer):
        if not _is_nop(start):
            yield start
        if inner:
            # An even number of rounds leaves the loop word first again.
            words = turns * inner
            yield from words[:-1]
            yield last_of_all if j == outer - 1 else last_of_inner
        if not _is_nop(end_0):
            yield end_0
            if not _is_nop(end_1):
                yield end_1


def _is_nop(word: int) -> bool:
    """Return True if a word is a NOP, whatever its other bits; DMANOP and SFPNOP are other instructions."""
    return word >> OPCODE_LOW == OPCODES["NOP"]


# Replay expander: a buffer of 32 words that REPLAY loads from the stream and plays.
#
# ::
#
#     REPLAY load=1            the next count words go to places start, start + 1, .. modulo 32
#            load=1 execute=1  and leave the expander too
#            load=0            the words of these places leave the expander
#
# Count 0 means 32, and more than 32 is not supported. Words that are loaded are not looked at, a REPLAY among them included.
#
# Ref: tt-isa-documentation, REPLAY, 3930471 and, for the count, 065d59f.


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
        return self.expand(integer("word", word, range(1 << WORD_BITS)))

    def expand(self, word: int) -> list[int]:
        """Return what `feed` returns for a Python int of 32 bits, which is not checked."""
        if self._left:
            self._buffer[self._place] = word
            self._place = (self._place + 1) % REPLAY_WORDS
            self._left -= 1
            return [word] if self._executes else []
        if word >> OPCODE_LOW != OPCODES["REPLAY"]:
            return [word]
        replay = decoded(word, Chip.WORMHOLE)
        count = integer("count", replay["count"], range(REPLAY_WORDS + 1), " in REPLAY") or REPLAY_WORDS
        if replay["load"]:
            self._place, self._left, self._executes = replay["start"], count, bool(replay["execute"])
            return []
        return [self._buffer[(replay["start"] + i) % REPLAY_WORDS] for i in range(count)]
