"""Clamp of a BF16 number to symmetric FP32 limits."""

from amaranth import Cat, Const, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP32

BELOW = FP32.width - BF16.width


class Bf16Clamp(wiring.Component):
    """Combinational ``o = max(min(i, limit), -limit)``; a NaN passes unchanged.

    A BF16 number exceeds an FP32 limit if it exceeds the limit's upper half.

    Members
    -------
    i : In(16), BF16
    limit : In(31), an FP32 code without its sign
    o : Out(32), FP32
    """

    clocked = False
    i: In(BF16.width)
    limit: In(FP32.width - 1)
    o: Out(FP32.width)

    def elaborate(self, platform):
        m = Module()
        magnitude, sign = self.i[:-1], self.i[-1]
        beyond = (magnitude > self.limit[BELOW:]) & (magnitude <= BF16.infinity_code)
        m.d.comb += self.o.eq(Cat(Mux(beyond, self.limit, Cat(Const(0, BELOW), magnitude)), sign))
        return m
