"""Predication of a lane: its flag, whether the flag counts, and a stack of both.

Ref: tt-isa-documentation, VectorUnit, SFPENCC 1354710, SFPPUSHC and SFPPOPC f7fda21, SFPCOMPC, SFPLE and SFPGT 585749d.
"""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import Chip
from bitpath.golden.tensix.declarations.sfpu import STACK_DEPTH
from bitpath.rtl.tensix.sfpu.layouts import WORD_BITS, Entry, Predication, modifier, named

TRUTH_TABLES = (0b1100, 0b0011, 0b1000, 0b1110, 0b0010, 0b1011, 0b0100, 0b1101, 0b0001, 0b0111, 0b0110, 0b1001)
"""Functions of modifiers 1 to 12: bit 2 * b + a is the value for a and b: b, not b, a and b, a or b, a and not b, a or not b,
not a and b, not a or b, neither, not both, either but not both, equal."""
INVERTS, ALL_TRUE = 13, 14
"""Modifiers that invert the flag and set it; 15 clears it."""


class FlagInstructions(wiring.Component):
    """Predication behind SFPENCC, SFPPUSHC, SFPPOPC and SFPCOMPC, and the stack behind SFPLE and SFPGT. It is combinational, with
    latency 0. A push on a full stack loses the bottom entry, a pop of an empty one gives false; both are undefined by the pages.

    Parameters
    ----------
    chip : Blackhole's SFPPUSHC has modifiers; Wormhole's SFPPOPC with a modifier overwrites the bottom of a full stack.

    Members
    -------
    word : In(32); other instructions change nothing
    relation : In(1), of SFPLE and SFPGT
    i : In(Predication)
    o : Out(Predication)
    """

    clocked = False

    def __init__(self, chip: Chip):
        self.chip = chip
        super().__init__({"word": In(WORD_BITS), "relation": In(1), "i": In(Predication), "o": Out(Predication)})

    def elaborate(self, platform):
        m = Module()
        blackhole = self.chip is Chip.BLACKHOLE
        word, before, after = self.word, self.i, self.o
        current, entries = before.current, before.stack
        mod = Signal(4)
        m.d.comb += [mod.eq(modifier(word)), after.eq(before)]
        empty, full = before.depth == 0, before.depth == STACK_DEPTH
        top = Signal(Entry)
        m.d.comb += top.eq(Mux(empty, 0, entries[0]))

        with m.If(named(word, "SFPENCC")):
            with m.If(mod[1]):
                m.d.comb += after.current.use.eq(word[12])
            with m.Elif(mod[0]):
                m.d.comb += after.current.use.eq(~current.use)
            m.d.comb += after.current.flag.eq(~mod[3] | word[13])
        with m.If(named(word, "SFPCOMPC")):
            flag = Mux(empty, ~current.flag, top.flag & ~current.flag)
            m.d.comb += after.current.flag.eq(current.use & (empty | top.use) & flag)

        with m.If(named(word, "SFPPUSHC")):
            with m.If(mod == 0 if blackhole else Const(1)):
                m.d.comb += [
                    after.stack.eq(Cat(current, entries.as_value())),
                    after.depth.eq(Mux(full, STACK_DEPTH, before.depth + 1)),
                ]
            if blackhole:
                with m.Elif(mod == INVERTS):
                    m.d.comb += [
                        after.current.flag.eq(~current.flag),
                        after.stack[0].flag.eq(~current.flag),
                        after.stack[0].use.eq(current.use),
                    ]
                with m.Elif(mod >= ALL_TRUE):
                    m.d.comb += [after.stack[0].flag.eq(mod == ALL_TRUE), after.stack[0].use.eq(1)]
                with m.Else():
                    m.d.comb += [
                        after.stack[0].flag.eq(_function(mod, top.flag, current.flag)),
                        after.stack[0].use.eq(current.use),
                    ]
        with m.If(named(word, "SFPPOPC")):
            with m.If(mod == 0):
                m.d.comb += [
                    after.current.eq(top),
                    after.stack.eq(entries.as_value()[len(top.as_value()) :]),
                    after.depth.eq(Mux(empty, 0, before.depth - 1)),
                ]
            with m.Elif(mod == INVERTS):
                m.d.comb += after.current.flag.eq(~current.flag)
            with m.Elif(mod >= ALL_TRUE):
                m.d.comb += [after.current.flag.eq(mod == ALL_TRUE), after.current.use.eq(1)]
            with m.Else():
                m.d.comb += [
                    after.current.flag.eq(_function(mod, current.flag, top.flag)),
                    after.current.use.eq(top.use),
                ]
            if not blackhole:
                with m.If(full & mod.any()):
                    m.d.comb += after.stack[STACK_DEPTH - 1].eq(top)
        if blackhole:
            with m.If(named(word, "SFPLE", "SFPGT") & mod[1] & ~empty):
                flag = Mux(mod[2], top.flag | self.relation, top.flag & self.relation)
                m.d.comb += after.stack[0].flag.eq(flag)
        return m


def _function(mod: Value, a: Value, b: Value) -> Value:
    """Return the function of modifiers 1 to 12."""
    tables = Cat(Const(0, 4), *(Const(table, 4) for table in TRUTH_TABLES))
    return tables.word_select(mod, 4).bit_select(Cat(a, b), 1)
