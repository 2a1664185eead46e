"""MOP expander of a thread: MOP becomes a sequence of nine configuration words, MOP_CFG the upper half of its mask.

::

    i --> [ word ] --> o      a word leaves in the cycle after it came; a MOP stays until the last word of its expansion left
             |
       words 0 .. 8           written by the thread's core while no MOP is there

Ref: tt-isa-documentation 3930471, MOPExpander.
"""

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.encodings import WORD_BITS
from bitpath.golden.tensix.declarations.streams import (
    COUNT_MASK,
    MASK_BITS,
    MASK_HIGH_SHIFT,
    MOP_WORDS,
)
from bitpath.rtl.tensix.stream.config import MopExpanderConfig
from bitpath.rtl.tensix.stream.masked_rounds import MaskedRounds
from bitpath.rtl.tensix.stream.mop_state import MOP_STATE, PLACE_BITS
from bitpath.rtl.tensix.stream.nested_rounds import NestedRounds
from bitpath.rtl.tensix.stream.words import field, is_instruction, stray

MOP_WRITE = data.StructLayout({"place": PLACE_BITS, "word": WORD_BITS})
"""Layout of a write to a configuration word; places of 9 and more hold none."""
COUNT_BITS = COUNT_MASK.bit_length()


class MopExpander(wiring.Component):
    """A word a cycle in and out, in order; latency 1.

    MOP_CFG, and a MOP whose expansion is empty, take a cycle in which nothing leaves. In the cycle after a MOP nothing but
    another MOP leaves: a word that came with the MOP's last one waits for a cycle.

    Parameters
    ----------
    config : MopExpanderConfig, which has no fields.

    Members
    -------
    write : In(stream of MOP_WRITE), which waits while a MOP is there
    i, o : In, Out(stream of 32-bit words)
    illegal : Out(1), the MOP_CFG that is there has ones in bits of no field, and does nothing
    """

    def __init__(self, config: MopExpanderConfig):
        words = stream.Signature(WORD_BITS)
        super().__init__({"write": In(stream.Signature(MOP_WRITE)), "i": In(words), "o": Out(words), "illegal": Out(1)})

    def elaborate(self, platform):
        m = Module()
        word = Signal(WORD_BITS)
        full = Signal()
        mask_high = Signal(MASK_BITS - MASK_HIGH_SHIFT)
        is_mop = Signal()
        sets_mask = Signal()
        waits = Signal()
        after_mop = Signal()
        leaves = Signal()
        config = [Signal(WORD_BITS, name=f"config_{place}") for place in range(MOP_WORDS)]
        mask = Cat(field(word, "mask_low", "MOP"), mask_high)
        place, last, empty = self._expand(m, word, config, mask, is_mop & self.o.valid & self.o.ready)
        m.d.comb += [
            is_mop.eq(full & is_instruction(word, "MOP")),
            sets_mask.eq(full & is_instruction(word, "MOP_CFG")),
            self.illegal.eq(sets_mask & stray(word, "MOP_CFG")),
            waits.eq(after_mop & ~is_mop),
            self.o.valid.eq(full & ~sets_mask & ~waits & ~(is_mop & empty)),
            self.o.p.eq(Mux(is_mop, Array(config)[place], word)),
            leaves.eq(full & ~waits & (~self.o.valid | (self.o.ready & (~is_mop | last)))),
            self.i.ready.eq(~full | leaves),
            self.write.ready.eq(~is_mop),
        ]
        m.d.sync += after_mop.eq(is_mop & leaves)
        with m.If(self.i.ready):
            m.d.sync += [full.eq(self.i.valid), word.eq(self.i.p)]
        with m.If(sets_mask & ~self.illegal):
            m.d.sync += mask_high.eq(field(word, "mask_high", "MOP_CFG"))
        with m.If(self.write.valid & self.write.ready):
            for number, each in enumerate(config):
                with m.If(self.write.p.place == number):
                    m.d.sync += each.eq(self.write.p.word)
        return m

    def _expand(self, m, word, config, mask, moves):
        """Return number of the configuration word at the state, whether it is the last one, and whether there is none.

        The state moves on with each word of a MOP that leaves.
        """
        state = Signal(MOP_STATE)
        following = Signal(MOP_STATE)
        place = Signal(PLACE_BITS)
        last = Signal()
        m.submodules.masked = masked = MaskedRounds()
        m.submodules.nested = nested = NestedRounds()
        outer, inner, start, end_0, end_1, _, alternative, *_ = config
        loops = field(word, "template", "MOP")
        m.d.comb += [
            masked.state.eq(state),
            masked.has_b.eq(inner[0]),
            masked.has_a123.eq(inner[1]),
            masked.mask.eq(mask),
            masked.count_minus_1.eq(field(word, "count_minus_1", "MOP")),
            nested.state.eq(state),
            nested.outer_count.eq(outer[:COUNT_BITS]),
            nested.inner_count.eq(inner[:COUNT_BITS]),
            nested.has_start.eq(~is_instruction(start, "NOP")),
            nested.has_end_0.eq(~is_instruction(end_0, "NOP")),
            nested.has_end_1.eq(~is_instruction(end_1, "NOP")),
            nested.has_alternative.eq(~is_instruction(alternative, "NOP")),
            place.eq(Mux(loops, nested.place, masked.place)),
            last.eq(Mux(loops, nested.last, masked.last)),
            following.eq(Mux(loops, nested.following, masked.following)),
        ]
        with m.If(moves):
            m.d.sync += state.eq(Mux(last, 0, following))
        return place, last, loops & nested.empty
