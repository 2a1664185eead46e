"""Skew and deskew of one column's partial sums at the edges of a row group."""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.pipeline.ring import Ring
from bitpath.rtl.common.pipeline.shared_instances import instantiate


class EdgeColumn(wiring.Component):
    """Two ring buffers of one column: skew of incoming, deskew of outgoing partial sums.

    Parameters
    ----------
    cols : columns of the array, and words of a ring.

    Members
    -------
    advance : In(1), without it ``count`` must hold, and the words hold
    count : In(ceil_log2(cols)), cycle count of column 0
    count_west : In, cycle count of this column; count_east : Out, one cycle later
    partial : In(32), top : Out(32)
    bottom : In(32), result : Out(32)
    """

    def __init__(self, cols: int):
        self.cols = cols
        super().__init__(self.ports(cols))

    @staticmethod
    def ports(cols: int) -> dict[str, wiring.Member]:
        """Return the members of one column."""
        count = ceil_log2(cols)
        return {
            "advance": In(1),
            "count": In(count),
            "count_west": In(count),
            "count_east": Out(count),
            "partial": In(FP32.width),
            "top": Out(FP32.width),
            "bottom": In(FP32.width),
            "result": Out(FP32.width),
        }

    def elaborate(self, platform):
        m = Module()
        skew = instantiate(m, platform, "skew", Ring, FP32.width, self.cols)
        deskew = instantiate(m, platform, "deskew", Ring, FP32.width, self.cols)
        m.d.comb += [
            skew.advance.eq(self.advance),
            skew.i.eq(self.partial),
            skew.write.eq(self.count),
            skew.read.eq(self.count_west),
            self.top.eq(skew.o),
            deskew.advance.eq(self.advance),
            deskew.i.eq(self.bottom),
            deskew.write.eq(self.count_west),
            # The word of the vector that column 0 wrote cols - 1 cycles ago and the last column writes now.
            deskew.read.eq(self.count + 1),
            self.result.eq(deskew.o),
        ]
        with m.If(self.advance):
            m.d.sync += self.count_east.eq(self.count_west)
        return m
