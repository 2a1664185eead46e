"""Element brought into half its width.

Ref: llvm-aie: PACK reads crSat and a sign, and does not round.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import Saturation
from bitpath.rtl.aie_ml_v2.convert.layouts import SATURATION_BITS


class PackElement(wiring.Component):
    """``o = saturate(i)``; combinational.

    Without saturation the low bits are kept. Signed numbers end at ``-2**(bits - 1)``, in symmetric saturation one above it;
    unsigned ones have one limit.

    Parameters
    ----------
    bits : bits of the result.

    Members
    -------
    i : In(2 * bits)
    is_signed : In(1)
    saturation : In(2), a code of Saturation
    o : Out(bits)
    """

    clocked = False

    def __init__(self, bits: int):
        self.bits = bits
        super().__init__({"i": In(2 * bits), "is_signed": In(1), "saturation": In(SATURATION_BITS), "o": Out(bits)})

    def elaborate(self, platform):
        m = Module()
        bits = self.bits
        top = (1 << bits - 1) - 1
        kept, upper, negative = self.i[:bits], self.i[bits - 1 :], self.i[-1]
        symmetric = self.saturation == Saturation.SYMMETRIC
        outside = Signal()
        limit = Signal(bits)
        with m.If(self.is_signed):
            # All upper bits are the sign; of the negative numbers that fit the lowest is the one without lower bits.
            lowest = symmetric & negative & ~self.i[: bits - 1].any()
            m.d.comb += [
                outside.eq(~(upper.all() | ~upper.any()) | lowest),
                limit.eq(Mux(negative, ~top + symmetric, top)),
            ]
        with m.Else():
            m.d.comb += [outside.eq(self.i[bits:].any()), limit.eq(-1)]
        m.d.comb += self.o.eq(Mux(outside & (self.saturation != Saturation.NONE), limit, kept))
        return m
