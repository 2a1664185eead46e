"""The larger of two data of GMPOOL; of equal ones the later."""

from amaranth import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.tensix.pool.layouts import Datum


class LaterMaximum(wiring.Component):
    """``o = later if later >= earlier else earlier``. Combinational: latency 0.

    Members
    -------
    earlier, later : In(Datum)
    o : Out(Datum)
    wins : Out(1), the later one is taken
    """

    clocked = False
    earlier: In(Datum)
    later: In(Datum)
    o: Out(Datum)
    wins: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.d.comb += [
            self.wins.eq(self.later.order >= self.earlier.order),
            self.o.eq(Mux(self.wins, self.later.as_value(), self.earlier.as_value())),
        ]
        return m
