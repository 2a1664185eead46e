"""The end of the quad-MX dot product's sum: two rows of digits to one."""

from amaranth import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.rtl.common.arithmetic.raw import moving_sum


class DotTotal(wiring.Component):
    """The two rows added. Combinational.

    Parameters
    ----------
    rows : layout of the rows, as made by ``dot_rows``.
    padding : places above the rows that only repeat the sign; the exponent counts them.

    Members
    -------
    i : In(dot_rows)
    o : Out(moving_sum)
    alone : Out(1), whether the partial sum, some of it sticky, is the whole sum: the products' is 0
    """

    clocked = False

    def __init__(self, rows: data.StructLayout, padding: int):
        # All but the sign.
        self.low = "low" in rows.members
        width = padding + rows["sums"].shape.width - 1 + (rows["low"].shape.width if self.low else 0)
        self.levels = ceil_log2(width)
        total = moving_sum(width, rows["exponent"].shape.width, self.levels)
        super().__init__({"i": In(rows), "o": Out(total), "alone": Out(1)})

    def elaborate(self, platform):
        m = Module()
        i = self.i
        # One adder: the place below the lowest carries ``one`` in.
        high = (Cat(i.one, i.sums) + Cat(i.one, i.carries))[1 : len(i.sums) + 1]
        allowed = Signal.like(i.exponent)
        m.d.comb += [
            allowed.eq(i.exponent - 1),
            self.o.digits.eq((Cat(i.low, high) if self.low else high).as_signed()),
            self.o.sign.eq(high[-1]),
            self.o.exponent.eq(i.exponent),
            self.o.free.eq(allowed[self.levels :].any()),
            self.o.allowed.eq(allowed),
            # Far below, the partial sum does not reach the products' places.
            self.alone.eq(i.far & ~high.any() if self.low else 0),
        ]
        return m
