"""Partial sums at the top and the bottom of a row group: skewed on the way in, de-skewed on the way out."""

from amaranth import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.spec.formats import FP32
from bitpath.rtl.common.bodies import place
from bitpath.rtl.common.ring import Ring
from bitpath.rtl.trainium3.config import ArrayConfig


class GroupEdge(wiring.Component):
    """Column c's word leaves ``top`` c + 1 cycles after it came, and ``result`` ``cols - c`` cycles after it came.

    Each column's words wait in a ring. What the skewed side writes or reads at is a count that travels east with the
    operands, a column a cycle.

    Parameters
    ----------
    config : of the array.

    Members
    -------
    advance : In(1), without it the counts stand still, and with them the words
    partial : In(ArrayLayout(32, cols)), top : Out(ArrayLayout(32, cols))
    bottom : In(ArrayLayout(32, cols)), result : Out(ArrayLayout(32, cols))
    """

    def __init__(self, config: ArrayConfig):
        self.config = config
        columns = data.ArrayLayout(FP32.width, config.cols)
        super().__init__(
            {
                "advance": In(1),
                "partial": In(columns),
                "top": Out(columns),
                "bottom": In(columns),
                "result": Out(columns),
            }
        )

    def elaborate(self, platform):
        m = Module()
        cols = self.config.cols
        count = Signal(ceil_log2(cols))
        with m.If(self.advance):
            m.d.sync += count.eq(count + 1)

        travelling = count
        for col in range(cols):
            skew = place(m, platform, f"skew_{col}", Ring, FP32.width, cols)
            deskew = place(m, platform, f"deskew_{col}", Ring, FP32.width, cols)
            m.d.comb += [
                skew.advance.eq(self.advance),
                skew.i.eq(self.partial[col]),
                skew.write.eq(count),
                skew.read.eq(travelling),
                self.top[col].eq(skew.o),
                deskew.advance.eq(self.advance),
                deskew.i.eq(self.bottom[col]),
                deskew.write.eq(travelling),
                # The word that column 0 wrote cols - 1 cycles ago, and the last column writes now.
                deskew.read.eq(count + 1),
                self.result[col].eq(deskew.o),
            ]
            if col < cols - 1:
                west, travelling = travelling, Signal.like(count, name=f"count_{col + 1}")
                with m.If(self.advance):
                    m.d.sync += travelling.eq(west)
        return m
