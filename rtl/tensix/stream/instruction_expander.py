"""Both expanders of a thread: the words of MOP's expansions go through the replay expander, too.

Ref: tt-isa-documentation 3930471, MOPExpander, REPLAY.
"""

from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from bitpath.golden.tensix.declarations.encodings import WORD_BITS
from bitpath.rtl.tensix.stream.config import InstructionExpanderConfig, MopExpanderConfig, ReplayExpanderConfig
from bitpath.rtl.tensix.stream.mop_expander import MOP_WRITE, MopExpander
from bitpath.rtl.tensix.stream.replay_expander import ReplayExpander


class InstructionExpander(wiring.Component):
    """A word a cycle in and out, in order; latency 2. A REPLAY of two words or more at a MOP's end hides the cycle after it.

    Parameters
    ----------
    config : InstructionExpanderConfig, which has no fields.

    Members
    -------
    write : In(stream of MOP_WRITE), as of MopExpander
    i, o : In, Out(stream of 32-bit words)
    illegal : Out(1), an expander has a word with ones in bits of no field, or a REPLAY of more than 32 words, which does nothing
    """

    def __init__(self, config: InstructionExpanderConfig):
        words = stream.Signature(WORD_BITS)
        super().__init__({"write": In(stream.Signature(MOP_WRITE)), "i": In(words), "o": Out(words), "illegal": Out(1)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.mop = mop = MopExpander(MopExpanderConfig())
        m.submodules.replay = replay = ReplayExpander(ReplayExpanderConfig())
        connect(m, flipped(self.write), mop.write)
        connect(m, flipped(self.i), mop.i)
        connect(m, mop.o, replay.i)
        connect(m, replay.o, flipped(self.o))
        m.d.comb += self.illegal.eq(mop.illegal | replay.illegal)
        return m
