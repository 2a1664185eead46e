"""Expanders cycle by cycle: golden's words, and the cycles in which none leaves."""

from collections import deque

from bitpath.golden.tensix.declarations.encodings import BY_NAME, OPCODE_LOW, Encoding
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.isa.expanders import MopExpander, ReplayExpander

ENCODINGS = BY_NAME[Chip.WORMHOLE]


def has(word: int, encoding: Encoding) -> bool:
    """Whether a word has an instruction's opcode."""
    return word >> OPCODE_LOW == encoding.opcode


class Stage:
    """One expander with the word that is there, in lockstep with its RTL.

    Parameters
    ----------
    golden : MOP or replay expander; the word goes to it in the cycle after it came.
    """

    def __init__(self, golden: MopExpander | ReplayExpander):
        self.golden = golden
        self._word: int | None = None
        self._words: deque[int] | None = None
        self._illegal = self._after_mop = False

    def has(self, name: str) -> bool:
        """Whether the word that is there has an instruction's opcode."""
        return self._word is not None and has(self._word, ENCODINGS[name])

    @property
    def has_mop(self) -> bool:
        """Whether a MOP is there that this expander expands."""
        return isinstance(self.golden, MopExpander) and self.has("MOP")

    @property
    def follows_mop(self) -> bool:
        """Whether a MOP left in the cycle before."""
        return self._after_mop

    @property
    def waits(self) -> bool:
        """Whether the word that is there waits because a MOP left in the cycle before."""
        return self._word is not None and self._after_mop and not self.has_mop

    @property
    def words(self) -> deque[int]:
        """Words that still leave for the one that is there."""
        if self._words is None:
            self._illegal = False
            words = []
            if self._word is not None:
                try:
                    words = self.golden.feed(self._word)
                except ValueError:
                    self._illegal = True
            self._words = deque(words)
        return self._words

    @property
    def illegal(self) -> bool:
        return self.words is not None and self._illegal

    @property
    def offered(self) -> int | None:
        """The word at the output, or None."""
        return self.words[0] if self.words and not self.waits else None

    @property
    def idle(self) -> str:
        """Why nothing is at the output: "" where something is."""
        if self.offered is not None:
            return ""
        if self._word is None:
            return "nothing came"
        if self.waits:
            return "after a MOP"
        return "empty MOP" if self.has_mop else "nothing to send"

    def ready(self, takes: bool) -> bool:
        """Whether the expander takes a word in this cycle."""
        left = len(self.words) - (self.offered is not None and takes)
        return self._word is None or (not self.waits and not left)

    def cycle(self, offer: int | None, takes: bool) -> None:
        """Go on by a cycle, in which a word or none is at the input, and the output is taken or not."""
        ready, was_mop = self.ready(takes), self.has_mop
        if self.offered is not None and takes:
            self.words.popleft()
        self._after_mop = ready and was_mop
        if ready:
            self._word, self._words = offer, None
