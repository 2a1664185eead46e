"""One row of the Matrix unit's grid of dot products."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import COLUMNS, DST32
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.dot.dot16 import Dot16, dot16_layout
from bitpath.rtl.tensix.dot.layouts import Dot16Config, DotControl, Operand
from bitpath.rtl.tensix.pool.gmpool_column import GmpoolColumn
from bitpath.rtl.tensix.pool.layouts import GmpoolColumnConfig, PoolWords, pool_request

# One cell of the Matrix unit's grid: an operand register and a pipelined dot product::
#
# i ---[operands]--- multiply ---[1]--- group sums ---[2]--- add Dst ---[3]--- normalise, round --- o


LATENCY = 4
"""Cycles from operands to result: the operand register and three pipeline stages."""


class DotCell(wiring.Component):
    """A dot product behind a register of its operands.

    Latency is ``LATENCY`` cycles, throughput one result a cycle, without handshake: the Matrix unit tracks what is in flight.
    Each cell registers its operands itself. SrcA fans out to 8 cells and SrcB to 16, and a simulator then evaluates the same
    logic in every cell.

    Parameters
    ----------
    numerics : arithmetic of the dot product.

    Members
    -------
    i : In(dot16_layout)
    o : Out(32), the Dst word, ``LATENCY`` cycles later
    """

    def __init__(self, numerics: TensixNumerics):
        self.numerics = numerics
        super().__init__({"i": In(dot16_layout()), "o": Out(DST32.width)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.dot = dot = Dot16(Dot16Config(numerics=self.numerics, pipeline=PipelineConfig(stages=LATENCY - 1)))
        # Operands need no reset: the Matrix unit knows which results are valid.
        operands = Signal.like(self.i, reset_less=True)
        m.d.sync += operands.eq(self.i)
        m.d.comb += [
            dot.i.p.eq(operands),
            dot.i.valid.eq(1),
            dot.o.ready.eq(1),
            self.o.eq(dot.o.p),
        ]
        return m


# One column of GMPOOL in the Matrix unit: an operand register and a pipelined maximum, as slow as a dot product.


class PoolCell(wiring.Component):
    """The maximum of one column. Operands are registered with ``load`` alone, so that other instructions toggle nothing.

    Latency is ``dot_cell.LATENCY`` cycles, throughput one column a cycle.

    Parameters
    ----------
    numerics : ``gmpool_fp16`` alone.

    Members
    -------
    load : In(1)
    i : In(pool_request)
    o : Out(PoolWords), the new Dst words, ``dot_cell.LATENCY`` cycles later
    """

    def __init__(self, numerics: TensixNumerics):
        self.numerics = numerics
        super().__init__({"load": In(1), "i": In(pool_request()), "o": Out(PoolWords)})

    def elaborate(self, platform):
        m = Module()
        config = GmpoolColumnConfig(numerics=self.numerics, pipeline=PipelineConfig(stages=LATENCY - 1))
        m.submodules.column = column = GmpoolColumn(config)
        # Operands need no reset: the Matrix unit knows which results are valid.
        operands = Signal.like(self.i, reset_less=True)
        with m.If(self.load):
            m.d.sync += operands.eq(self.i)
        m.d.comb += [
            column.i.p.eq(operands),
            column.i.valid.eq(1),
            column.o.ready.eq(1),
            self.o.eq(column.o.p),
        ]
        return m


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
