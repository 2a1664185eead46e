"""UPS lane: ``o = saturate(i * 2**shift)`` for one accumulator lane.

Ref: AM027, "Fixed-Point SRS and UPS Conversions"; UG1639 for shifts of 32 and more; UG1583 for the saturation codes.
"""

from amaranth import Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import UPS_MODES, UPS_SHIFTS, Saturation
from bitpath.rtl.aie_ml_v2.convert.layouts import SATURATION_BITS


class UpsLane(wiring.Component):
    """Left shift with saturation; combinational.

    A product that does not fit saturates to a multiple of ``2**shift``; without saturation it loses its high bits.

    Parameters
    ----------
    width : bits of the accumulator lane, 32 or 64. A lane of 64 bits also serves one of 32 bits in its upper half, with a
        shift larger by 32.

    Members
    -------
    i : In(signed(17)), In(signed(33)) if width is 64; one bit more than the widest element, for unsigned ones
    shift : In(range(64)), In(range(96)) if width is 64
    saturation : In(2), a code of Saturation
    o : Out(width)
    overflow : Out(1), 1 if ``o`` is not the product
    """

    clocked = False
    apart = True

    def __init__(self, width: int):
        self.width = width
        shorter = min(UPS_MODES)
        super().__init__(
            {
                "i": In(signed(max(UPS_MODES[width]) + 1)),
                "shift": In(range(UPS_SHIFTS.stop + width - shorter)),
                "saturation": In(SATURATION_BITS),
                "o": Out(width),
                "overflow": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        width = self.width
        # From a shift of ``width`` on the lane holds 0, so larger shifts saturate there; the product keeps all bits above.
        shift = Signal(range(width + 1))
        product = Signal(signed(len(self.i) + width))
        places = Signal(width)
        m.d.comb += [
            shift.eq(Mux(self.shift > width, width, self.shift)),
            product.eq(self.i << shift),
            places.eq(Const(-1, width) << shift),
        ]
        symmetric = self.saturation == Saturation.SYMMETRIC
        top = Signal(width)
        bottom = Signal(width)
        m.d.comb += [
            top.eq(places & (1 << width - 1) - 1),
            bottom.eq(Mux(symmetric, -top, places & 1 << width - 1)),
        ]
        upper = product[width - 1 :]
        inside = upper.all() | ~upper.any()
        below_symmetric = symmetric & upper.all() & ~product[: width - 1].any()
        m.d.comb += self.overflow.eq(~inside | below_symmetric)
        with m.If(self.overflow & (self.saturation != Saturation.NONE)):
            m.d.comb += self.o.eq(Mux(product[-1], bottom, top))
        with m.Else():
            m.d.comb += self.o.eq(product[:width])
        return m
