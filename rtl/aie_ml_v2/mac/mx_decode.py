"""MX9 and MX6 codes of one operand as signed factors; MX6's first 8 codes are shifted left by 3 to MX9's unit of 2**-6."""

from amaranth import Module, Mux, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import MX6, MX9, MX_BLOCK
from bitpath.rtl.aie_ml_v2.mac.layouts import DEPTH, LANE_OPERAND_BITS

MX6_IN_MX9 = MX9.magnitude_bits - MX6.magnitude_bits
"""Left shift that brings an MX6 code to MX9's unit in the last place."""


class MxDecode(wiring.Component):
    """Select the codes of one operand's beat: 8 of MX9 or 16 of MX6; combinational.

    Members
    -------
    i : In(128), codes from bit 0 up
    is_mx6 : In(1), 1 for MX6, 0 for MX9
    wide : Out(ArrayLayout(signed(8), 8)), elements 0 to 7 for the shared multipliers
    narrow : Out(ArrayLayout(signed(5), 8)), elements 8 to 15 of MX6; 0 for MX9
    """

    clocked = False

    i: In(LANE_OPERAND_BITS)
    is_mx6: In(1)
    wide: Out(data.ArrayLayout(signed(MX9.width), DEPTH))
    narrow: Out(data.ArrayLayout(signed(MX6.width), MX_BLOCK - DEPTH))

    def elaborate(self, platform):
        m = Module()
        short = [self.i.word_select(k, MX6.width) for k in range(MX_BLOCK)]
        for k in range(DEPTH):
            m.d.comb += [
                self.wide[k].eq(Mux(self.is_mx6, short[k] << MX6_IN_MX9, self.i.word_select(k, MX9.width))),
                self.narrow[k].eq(Mux(self.is_mx6, short[DEPTH + k], 0)),
            ]
        return m
