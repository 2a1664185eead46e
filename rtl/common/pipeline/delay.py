"""Delay line of a word."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class Delay(wiring.Component):
    """``o`` is ``i`` delayed by ``cycles`` cycles of ``advance``; reset clears it.

    One wide shift register, so its Verilog does not grow with its depth.

    Parameters
    ----------
    width : bits of the word.
    cycles : latency; 0 is a wire.

    Members
    -------
    advance : In(1), clock enable
    i : In(width)
    o : Out(width)
    """

    def __init__(self, width: int, cycles: int):
        self.width, self.cycles = width, cycles
        super().__init__({"advance": In(1), "i": In(width), "o": Out(width)})

    def elaborate(self, platform):
        m = Module()
        if self.cycles == 0:
            m.d.comb += self.o.eq(self.i)
        else:
            history = Signal(self.width * self.cycles)
            with m.If(self.advance):
                m.d.sync += history.eq((history << self.width) | self.i)
            m.d.comb += self.o.eq(history[-self.width :])
        return m
