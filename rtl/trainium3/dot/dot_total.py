"""Carry-propagate adder of the quad-MX dot product."""

from amaranth import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.rtl.common.arithmetic.raw import moving_sum


class DotTotal(wiring.Component):
    """Combinational adder of two carry-save rows: ``o = (sums + carries + one) * 2**low_width + low``.

    Parameters
    ----------
    rows : layout of the rows, as made by ``dot_rows``.
    padding : copies of the sign above the rows, which ``exponent`` counts.

    Members
    -------
    i : In(dot_rows)
    o : Out(moving_sum)
    alone : Out(1), 1 if the products sum to zero and the partial sum has lost bits: it passes through unrounded
    """

    clocked = False

    def __init__(self, rows: data.StructLayout, padding: int):
        # Digits of the sum: padding, the rows without their sign, and the bits below them.
        self.low = "low" in rows.members
        width = padding + rows["sums"].shape.width - 1 + (rows["low"].shape.width if self.low else 0)
        self.levels = ceil_log2(width)  # of a normalisation shift by up to width - 1
        total = moving_sum(width, rows["exponent"].shape.width, self.levels)
        super().__init__({"i": In(rows), "o": Out(total), "alone": Out(1)})

    def elaborate(self, platform):
        m = Module()
        i = self.i
        # One adder: ``one`` is its carry in, made by a place below the lowest.
        high = (Cat(i.one, i.sums) + Cat(i.one, i.carries))[1 : len(i.sums) + 1]
        allowed = Signal.like(i.exponent)
        m.d.comb += [
            allowed.eq(i.exponent - 1),
            self.o.digits.eq((Cat(i.low, high) if self.low else high).as_signed()),
            self.o.sign.eq(high[-1]),
            self.o.exponent.eq(i.exponent),
            self.o.free.eq(allowed[self.levels :].any()),
            self.o.allowed.eq(allowed),
            # A far partial sum has no bit in the products' places.
            self.alone.eq(i.far & ~high.any() if self.low else 0),
        ]
        return m
