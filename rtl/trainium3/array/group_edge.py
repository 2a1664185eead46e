"""Skew and deskew of a row group's partial sums: skewed on the way in, deskewed on the way out."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.pipeline.repeat import repeat
from bitpath.rtl.trainium3.array.config import ArrayConfig
from bitpath.rtl.trainium3.array.edge_column import EdgeColumn


class GroupEdge(wiring.Component):
    """Column c delays its word by ``c + 1`` cycles to ``top``, and by ``cols - c`` cycles to ``result``.

    Each column keeps its words in a ring buffer. The address of the skewed side is a count that travels east with the
    operands, one column a cycle.

    Parameters
    ----------
    config : configuration of the array.

    Members
    -------
    advance : In(1), clock enable of the counts and thus of the words
    partial : In(cols * 32), top : Out(cols * 32)
    bottom : In(cols * 32), result : Out(cols * 32)
    """

    def __init__(self, config: ArrayConfig):
        self.config = config
        columns = FP32.width * config.cols
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
        values = {
            "advance": self.advance,
            "count": count,
            "count_west": count,
            # Open output of the last column.
            "count_east": Signal.like(count, name="count_east"),
            "partial": self.partial,
            "top": self.top,
            "bottom": self.bottom,
            "result": self.result,
        }
        repeat(
            m,
            platform,
            "columns",
            values,
            EdgeColumn,
            (cols,),
            cols,
            spread=("partial", "top", "bottom", "result"),
            chained=(("count_west", "count_east"),),
        )
        return m
