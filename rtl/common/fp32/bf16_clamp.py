"""A BF16 number within limits."""

from amaranth import Cat, Const, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP32

BELOW = FP32.width - BF16.width


class Bf16Clamp(wiring.Component):
    """``o = max(min(i, limit), -limit)``; NaN stays as it is. Combinational.

    A BF16 number is above a limit of FP32 where it is above the limit's upper half.

    Members
    -------
    i : In(16), BF16
    limit : In(31), the magnitude of an FP32 number
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
