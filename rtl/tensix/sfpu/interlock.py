"""Interlock between instructions: which registers a result of two cycles is written to, and which ones the next instruction
reads, as Blackhole's interlock sees it::

      SFPIADD, SFPSHFT              VD is not seen
      SFPAND, SFPOR with VB         VD for VB
      SFPSHFT2 that shifts bits     VD for VB
      SFPSHFT2 between lanes,
      SFPSWAP but for modifier 0,
      SFPCONFIG                     nothing
      indirect VA or VD             every register

Ref: tt-isa-documentation, SFPMAD 241b4ea, SFPLUTFP32 and SFPSHFT2 1354710, SFPSWAP 585749d.
"""

from amaranth import Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.tensix.sfpu.layouts import MULTIPLY_ADDS, REGISTERS, WORD_BITS, destination, modifier, named

NO_OPERANDS = ("SFPLOAD", "SFPCONFIG", "SFPLOADMACRO", "SFPNOP", "SFPENCC", "SFPPUSHC", "SFPPOPC", "SFPCOMPC")
READS_VD = (
    *("SFPADDI", "SFPMULI", "SFPAND", "SFPOR", "SFPXOR", "SFPSETEXP", "SFPSETMAN", "SFPSETSGN", "SFPSTORE", "SFPLOADI"),
    *("SFPLE", "SFPGT"),
)
READS_VC_NOT = (*NO_OPERANDS, "SFPADDI", "SFPMULI", "SFPLUT", "SFPLUTFP32", "SFPLOADI", "SFPSTORE", "SFPTRANSP")
READS_VB = ("SFPMAD", "SFPADD", "SFPMUL", "SFPMUL24", "SFP_STOCH_RND", "SFPARECIP")
READS_VA = ("SFPMAD", "SFPADD", "SFPMUL", "SFPMUL24")
LUT_REGISTERS, LUTFP32_REGISTERS, COPY4_REGISTERS, EVERY = 0x0F, 0x7F, 0x0F, 0xFF
COPIES, LANE_MOVES, BIT_SHIFTS = (0, 1), (2, 3, 4), (5, 6)
"""Modifiers of SFPSHFT2."""


def register_bit(index: Value) -> Value:
    """Return a mask with the bit of a register from 0 to 7."""
    return Mux(index < REGISTERS, Const(1, REGISTERS) << index[:3], 0)[:REGISTERS]


class RegisterMasks(wiring.Component):
    """It is combinational, with latency 0.

    Members
    -------
    word : In(32)
    reads : Out(8), registers that the interlock believes to be read
    writes : Out(8), registers to which the MAD sub-unit's result may go
    """

    clocked = False
    word: In(WORD_BITS)
    reads: Out(REGISTERS)
    writes: Out(REGISTERS)

    def elaborate(self, platform):
        m = Module()
        word = self.word
        vd, mod = Signal(4), Signal(4)
        m.d.comb += [vd.eq(destination(word)), mod.eq(modifier(word))]
        shifts_lanes = named(word, "SFPSHFT2")
        reads_vd = named(word, *READS_VD) | (shifts_lanes & mod.matches(*BIT_SHIFTS))
        reads_vd |= named(word, "SFPSWAP") & (mod == 0)
        reads_vc = ~named(word, *READS_VC_NOT)
        reads_vc &= ~(named(word, "SFPSWAP") & (mod != 0)) & ~(shifts_lanes & ~mod.matches(*BIT_SHIFTS))
        indirect = Mux(named(word, "SFPLUTFP32"), word[19], mod[3]) & named(word, *MULTIPLY_ADDS)
        every = indirect | (named(word, *READS_VA) & mod[2]) | named(word, "SFPTRANSP")
        fixed = Signal(REGISTERS)
        with m.If(every):
            m.d.comb += fixed.eq(EVERY)
        with m.Elif(named(word, "SFPLUT")):
            m.d.comb += fixed.eq(LUT_REGISTERS)
        with m.Elif(named(word, "SFPLUTFP32")):
            m.d.comb += fixed.eq(LUTFP32_REGISTERS)
        with m.Elif(shifts_lanes & mod.matches(*COPIES)):
            m.d.comb += fixed.eq(COPY4_REGISTERS)
        m.d.comb += [
            self.reads.eq(
                fixed
                | Mux(reads_vd, register_bit(vd), 0)
                | Mux(reads_vc, register_bit(word[8:12]), 0)
                | Mux(named(word, *READS_VB), register_bit(word[12:16]), 0)
                | Mux(named(word, *READS_VA), register_bit(word[16:20]), 0)
            ),
            self.writes.eq(Mux(named(word, *MULTIPLY_ADDS), Mux(indirect, EVERY, register_bit(vd)), 0)),
        ]
        return m
