"""One row of the Matrix unit's grid of dot products."""

from amaranth import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import COLUMNS, DST32
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.dot.layouts import DotControl, Operand
from bitpath.rtl.tensix.matrix.dot_cell import DotCell

OPERAND_BITS = Operand.as_shape().size
LANES_BITS = COLUMNS * OPERAND_BITS
"""Width of the 16 operands that a dot product takes from one source."""


class CellRow(wiring.Component):
    """``cols`` dot products of one SrcB row with ``cols`` SrcA columns, or ``cols`` element-wise operations.

    An element-wise operation is a dot product whose operands are zero in lanes 1 to 15. Operands are concatenated into plain
    words, the first in the lowest bits, because 2,048 named fields would be most of the unit's Verilog.

    Latency is ``dot_cell.LATENCY`` cycles, throughput one row a cycle.

    Parameters
    ----------
    cols : number of dot products.
    numerics : arithmetic of the dot products.

    Members
    -------
    a : In(cols * 16 operands), SrcA column by column; b : In(16 operands), the SrcB row
    element_a, element_b : In(cols operands), of an element-wise operation
    element_wise : In(1)
    control : In(DotControl)
    dst : In(cols * 32), o : Out(cols * 32), ``dot_cell.LATENCY`` cycles later
    """

    def __init__(self, cols: int, numerics: TensixNumerics):
        self.cols, self.numerics = cols, numerics
        super().__init__(
            {
                "a": In(cols * LANES_BITS),
                "b": In(LANES_BITS),
                "element_a": In(cols * OPERAND_BITS),
                "element_b": In(cols * OPERAND_BITS),
                "element_wise": In(1),
                "control": In(DotControl),
                "dst": In(cols * DST32.width),
                "o": Out(cols * DST32.width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        for col in range(self.cols):
            cell = instantiate(m, platform, f"cell_{col}", DotCell, self.numerics)
            element_a, element_b = (each.word_select(col, OPERAND_BITS) for each in (self.element_a, self.element_b))
            m.d.comb += [
                # Zero extension clears lanes 1 to 15.
                cell.i.src_a.eq(Mux(self.element_wise, element_a, self.a.word_select(col, LANES_BITS))),
                cell.i.src_b.eq(Mux(self.element_wise, element_b, self.b)),
                cell.i.control.eq(self.control),
                cell.i.dst.eq(self.dst.word_select(col, DST32.width)),
                self.o.word_select(col, DST32.width).eq(cell.o),
            ]
        return m
