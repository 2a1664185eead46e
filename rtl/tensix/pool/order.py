"""Sign and magnitude to the code that GMPOOL compares."""

from amaranth import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.tensix.pool.layouts import MAGNITUDE_BITS, Datum


class Order(wiring.Component):
    """``o.order`` is the magnitude below a 1, inverted as a whole if the number is negative. Combinational: latency 0.

    Members
    -------
    sign : In(1), magnitude : In(19)
    o : Out(Datum)
    """

    clocked = False
    sign: In(1)
    magnitude: In(MAGNITUDE_BITS)
    o: Out(Datum)

    def elaborate(self, platform):
        m = Module()
        # -0 equals +0.
        negative = self.sign & self.magnitude.any()
        m.d.comb += [
            self.o.order.eq(Cat(self.magnitude ^ negative.replicate(MAGNITUDE_BITS), ~negative)),
            self.o.sign.eq(self.sign),
        ]
        return m
