"""Order of two FP32 numbers, for maximum and minimum."""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32


class Order(data.Struct):
    """Relations of a and b, without meaning if either is NaN."""

    below: 1  # a < b, and -0 below +0
    smaller: 1  # |a| < |b|
    level: 1  # |a| = |b|


class Fp32Order(wiring.Component):
    """Combinational order of two FP32 numbers, by their codes: a negative one's magnitude is inverted.

    Members
    -------
    a, b : In(32), FP32
    o : Out(Order)
    """

    clocked = False
    a: In(FP32.width)
    b: In(FP32.width)
    o: Out(Order)

    def elaborate(self, platform):
        m = Module()
        first, second = self.a[:-1], self.b[:-1]
        ranks = [Signal(FP32.width, name=f"rank_{name}") for name in "ab"]
        for rank, code in zip(ranks, (self.a, self.b), strict=True):
            m.d.comb += rank.eq(Cat(Mux(code[-1], ~code[:-1], code[:-1]), ~code[-1]))
        m.d.comb += [
            self.o.below.eq(ranks[0] < ranks[1]),
            self.o.smaller.eq(first < second),
            self.o.level.eq(first == second),
        ]
        return m
