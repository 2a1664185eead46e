"""A counter and its carry after an instruction, the step that RWCs and ADCs share.

::

    enable   clear              value = carry = 0
             load               value = carry = increment
             copy               value = carry = value + increment
             carry              value = carry = carry + increment
             none of these      value = value + increment

Earlier rows go first; all is modulo the counter's width.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out


def counter_layout(bits: int) -> data.StructLayout:
    """Layout of a counter: its value, and its Cr as ``carry``."""
    return data.StructLayout({"value": bits, "carry": bits})


FLAGS = ("enable", "clear", "load", "copy", "carry")


class CounterStep(wiring.Component):
    """Combinational, one adder.

    Parameters
    ----------
    bits : width of the counter.

    Members
    -------
    counter : In(counter_layout)
    enable, clear, load, copy, carry : In(1)
    increment : In(bits)
    after : Out(counter_layout)
    """

    clocked = False

    def __init__(self, bits: int):
        self.bits = bits
        counter = counter_layout(bits)
        flags = {name: In(1) for name in FLAGS}
        super().__init__({"counter": In(counter), **flags, "increment": In(bits), "after": Out(counter)})

    def elaborate(self, platform):
        m = Module()
        counter = self.counter
        base = Signal(self.bits)
        total = Signal(self.bits)
        m.d.comb += [
            base.eq(Mux(self.load, 0, Mux(self.carry & ~self.copy, counter.carry, counter.value))),
            total.eq(Mux(self.clear, 0, base + self.increment)),
            self.after.eq(counter),
        ]
        with m.If(self.enable):
            m.d.comb += self.after.value.eq(total)
            with m.If(self.clear | self.load | self.copy | self.carry):
                m.d.comb += self.after.carry.eq(total)
        return m
