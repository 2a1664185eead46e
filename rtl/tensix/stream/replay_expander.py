"""Replay expander of a thread: a buffer of 32 words that REPLAY loads from the stream and plays.

::

    i --> [ word ] --+------------> o     a word leaves in the cycle after it came, a REPLAY that plays with its last one
             |       |
             +--> [ buffer ] --> o

Ref: tt-isa-documentation, REPLAY, 3930471 and 065d59f.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.encodings import WORD_BITS
from bitpath.golden.tensix.declarations.streams import REPLAY_WORDS
from bitpath.rtl.tensix.stream.config import ReplayExpanderConfig
from bitpath.rtl.tensix.stream.words import field, is_instruction, stray


class ReplayExpander(wiring.Component):
    """A word a cycle in and out, in order; latency 1. The buffer keeps its words over a reset.

    A REPLAY that loads, and words that are loaded and not executed, take a cycle in which nothing leaves.

    Parameters
    ----------
    config : ReplayExpanderConfig, which has no fields.

    Members
    -------
    i, o : In, Out(stream of 32-bit words)
    illegal : Out(1), the REPLAY that is there has ones in bits of no field, or a count above 32, and does nothing
    """

    def __init__(self, config: ReplayExpanderConfig):
        words = stream.Signature(WORD_BITS)
        super().__init__({"i": In(words), "o": Out(words), "illegal": Out(1)})

    def elaborate(self, platform):
        m = Module()
        word = Signal(WORD_BITS)
        full = Signal()
        executes = Signal()
        start, count = field(word, "start", "REPLAY"), field(word, "count", "REPLAY")
        length = Signal(range(REPLAY_WORDS + 1))
        left = Signal(range(REPLAY_WORDS + 1))
        place = Signal(range(REPLAY_WORDS))
        played = Signal(range(REPLAY_WORDS))
        loads = Signal()
        replays = Signal()
        plays = Signal()
        leaves = Signal()
        m.submodules.buffer = buffer = memory.Memory(shape=WORD_BITS, depth=REPLAY_WORDS, init=[])
        write, read = buffer.write_port(), buffer.read_port(domain="comb")
        m.d.comb += [
            # The words that are loaded are not looked at.
            loads.eq(left != 0),
            replays.eq(full & ~loads & is_instruction(word, "REPLAY")),
            plays.eq(replays & ~self.illegal & ~field(word, "load", "REPLAY")),
            # 32 and 0 are the same.
            length.eq(Mux(count[: len(place)] == 0, REPLAY_WORDS, count[: len(place)])),
            self.illegal.eq(replays & (stray(word, "REPLAY") | (count > REPLAY_WORDS))),
            read.addr.eq(start + played),
            self.o.valid.eq(full & Mux(loads, executes, plays | ~replays)),
            self.o.p.eq(Mux(plays, read.data, word)),
            leaves.eq(full & (~self.o.valid | (self.o.ready & (~plays | (played + 1 == length))))),
            self.i.ready.eq(~full | leaves),
            write.addr.eq(place),
            write.data.eq(word),
            write.en.eq(loads & leaves),
        ]
        with m.If(self.i.ready):
            m.d.sync += [full.eq(self.i.valid), word.eq(self.i.p)]
        with m.If(loads & leaves):
            m.d.sync += [left.eq(left - 1), place.eq(place + 1)]
        with m.Elif(plays & self.o.ready):
            m.d.sync += played.eq(Mux(leaves, 0, played + 1))
        with m.Elif(replays & ~plays & ~self.illegal):
            m.d.sync += [left.eq(length), place.eq(start), executes.eq(field(word, "execute", "REPLAY"))]
        return m
