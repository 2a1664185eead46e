"""Both ends of an expander, or of two in a row, with golden in lockstep: every handshake, word and idle cycle is equal."""

from collections import deque

from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.tensix.declarations.encodings import MOP_WORDS, WORD_BITS
from bitpath.golden.tensix.isa.expanders import MopExpander, ReplayExpander
from bitpath.rtl.tensix.stream.expanders import MOP_WRITE
from bitpath.verif.kit import pauses
from bitpath.verif.kit.packing import pack, width
from bitpath.verif.kit.streams import resolved
from bitpath.verif.tensix.stream.expanders import Stage

STUCK = 300
"""Cycles without a word at the output after which a test fails."""


class Table:
    """Words and writes wait in queues. What is offered stays until it is taken; other payloads are random.

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
        """Whether nothing is on its way."""
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
            self._board.expect(offered[-1])
            self._board.got(resolved(dut.o__payload))
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
