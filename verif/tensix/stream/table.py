"""Both ends of an expander, or of two in a row, with golden in lockstep: every handshake, word and idle cycle is equal."""

from collections import deque

from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.tensix.declarations.encodings import BY_NAME, MOP_WORDS, OPCODE_LOW, WORD_BITS, Encoding
from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.isa.expanders import MopExpander, ReplayExpander
from bitpath.rtl.tensix.stream.expanders import MOP_WRITE
from bitpath.verif.kit.unit_bench import pack, pauses, resolved, width

# Expanders cycle by cycle: golden's words, and the cycles in which none leaves.


ENCODINGS = BY_NAME[Chip.WORMHOLE]


def has(word: int, encoding: Encoding) -> bool:
    """Return whether a word has an instruction's opcode."""
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
        """Return whether the present word has an instruction's opcode."""
        return self._word is not None and has(self._word, ENCODINGS[name])

    @property
    def has_mop(self) -> bool:
        """Return whether a MOP of this expander is present."""
        return isinstance(self.golden, MopExpander) and self.has("MOP")

    @property
    def follows_mop(self) -> bool:
        """Return whether a MOP left in the cycle before."""
        return self._after_mop

    @property
    def waits(self) -> bool:
        """Return whether the present word waits because a MOP left in the cycle before."""
        return self._word is not None and self._after_mop and not self.has_mop

    @property
    def words(self) -> deque[int]:
        """Number of words that still leave for the present word."""
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
        """Return whether the expander takes a word in this cycle."""
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


STUCK = 300
"""Cycles without a word at the output after which a test fails."""


class Table:
    """Words and writes wait in queues. An offered word stays until it is taken; other payloads are random.

    Parameters
    ----------
    frame : of the test.
    kinds : the expanders in the order of the stream.

    Attributes
    ----------
    words, writes : queues of words, and of numbers and words of the configuration.
    config : configuration words as they are now.
    idle : cycles in which nothing was at the output, by the last expander's reason.
    given : words that left.
    """

    def __init__(self, frame, *kinds: type[MopExpander] | type[ReplayExpander]):
        self.dut, self._kinds, self._rng = frame.dut, kinds, pauses.rng("junk")
        self._board = frame.scoreboard("o", WORD_BITS)
        self.restart()

    def restart(self) -> None:
        """Begin with empty expanders, as after a reset."""
        self.stages = [Stage(kind()) for kind in self._kinds]
        self.words: deque[int] = deque()
        self.writes: deque[tuple[int, int]] = deque()
        self.config = [0] * MOP_WORDS
        self.idle: dict[str, int] = {}
        self.given: list[int] = []
        self._offers = self._writes = False

    @property
    def empty(self) -> bool:
        """Return whether nothing is in flight."""
        return not self.words and not self.writes and all(stage.idle == "nothing came" for stage in self.stages)

    async def cycle(self, *, offers: bool = True, takes: bool = True, writes: bool = True) -> None:
        """Play a cycle; flags say whether a word and a write are offered, if one waits, and whether the output is taken."""
        dut = self.dut
        self._offers = bool(self.words) and (self._offers or offers)
        self._writes = bool(self.writes) and (self._writes or writes)
        word = self.words[0] if self._offers else None
        dut.i__valid.value, dut.o__ready.value = self._offers, takes
        dut.i__payload.value = self._rng.getrandbits(WORD_BITS) if word is None else word
        if self._has_config:
            place, value = self.writes[0] if self._writes else (self._rng.randrange(MOP_WORDS), 0)
            dut.write__valid.value = self._writes
            dut.write__payload.value = (
                pack(MOP_WRITE, {"place": place, "word": value})
                if self._writes
                else self._rng.getrandbits(width(MOP_WRITE))
            )
        await FallingEdge(dut.clk)
        self._see(word, takes)
        await RisingEdge(dut.clk)

    async def finish(self, **flags: bool) -> None:
        """Play cycles until nothing is on its way."""
        waited = 0
        while not self.empty:
            before = len(self.given)
            await self.cycle(**flags)
            waited = 0 if len(self.given) > before else waited + 1
            assert waited < STUCK

    @property
    def _has_config(self) -> bool:
        return MopExpander in self._kinds

    def _see(self, word: int | None, takes: bool) -> None:
        """Compare the outputs with golden's, and go on."""
        dut, stages = self.dut, self.stages
        offered = [stage.offered for stage in stages]
        taken = [takes] * len(stages)
        for number in reversed(range(len(stages) - 1)):
            taken[number] = stages[number + 1].ready(taken[number + 1])
        assert resolved(dut.o__valid) == (offered[-1] is not None), stages[-1].idle
        ready = stages[0].ready(taken[0])
        assert resolved(dut.i__ready) == ready
        assert resolved(dut.illegal) == any(stage.illegal for stage in stages)
        if offered[-1] is None:
            self.idle[stages[-1].idle] = self.idle.get(stages[-1].idle, 0) + 1
        elif takes:
            self._board.compare(resolved(dut.o__payload), offered[-1])
            self.given.append(offered[-1])
        else:
            assert resolved(dut.o__payload) == offered[-1]
        written = self._write()
        for stage, offer, takes_it in zip(stages, [word, *offered], taken, strict=False):
            stage.cycle(offer, takes_it)
        if written is not None:
            place, value = written
            if place < MOP_WORDS:
                self.config[place] = value
            stages[0].golden.configure(self.config)
        if word is not None and ready:
            self.words.popleft()
            self._offers = False

    def _write(self) -> tuple[int, int] | None:
        """Return the write of this cycle, which follows the word that is there."""
        if not self._has_config:
            return None
        ready = not self.stages[0].has_mop
        assert resolved(self.dut.write__ready) == ready
        if not self._writes or not ready:
            return None
        self._writes = False
        return self.writes.popleft()
