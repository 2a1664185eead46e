"""Normalisation of a sum: leading-zero count and shift in one."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.rtl.common.arithmetic.raw import normal_sum


class Normalize(wiring.Component):
    """Combinational shift of a sum to its leading bit, split into significand, guard and sticky::

        magnitude   0001xxxxxxxxxxxxxxxx      exponent: weight of the lowest bit
        shifted     1xxxxxxxxxxxxxxxx000
                    |precision|g| OR -> sticky

    One level for each bit of the shift, from the largest down: if the upper part is zero, the lower part moves up.

    Parameters
    ----------
    i : layout of the sum, as made by ``raw_sum``.
    precision : bits of the significand.

    Members
    -------
    i : In(raw_sum)
    o : Out(normal_sum); ``sign`` is the sum's
    """

    clocked = False

    def __init__(self, i: data.StructLayout, precision: int):
        self.precision = precision
        self.in_width = i["magnitude"].shape.width
        # At least significand, guard and sticky.
        self.width = max(self.in_width, precision + 2)
        exponent_width = i["exponent"].shape.width + 1  # the leading bit's weight is above the lowest bit's
        super().__init__({"i": In(i), "o": Out(normal_sum(precision, exponent_width))})

    def elaborate(self, platform):
        m = Module()
        value = Cat(Const(0, self.width - self.in_width), self.i.magnitude)
        zeros = []
        for level in reversed(range(ceil_log2(self.width))):
            amount = 1 << level
            empty = Signal(name=f"empty_{level}")
            shifted = Signal(self.width, name=f"shifted_{level}")
            m.d.comb += [
                empty.eq(~value[-amount:].any()),
                shifted.eq(Mux(empty, value << amount, value)),
            ]
            value = shifted
            zeros.insert(0, empty)
        discarded = self.width - self.precision - 1
        m.d.comb += [
            self.o.significand.eq(value[-self.precision :]),
            self.o.guard.eq(value[discarded]),
            self.o.sticky.eq(value[:discarded].any()),
            self.o.zero.eq(~value[-1]),
            self.o.sign.eq(self.i.sign),
            self.o.exponent.eq(self.i.exponent + (self.in_width - 1) - Cat(zeros)),
        ]
        return m
