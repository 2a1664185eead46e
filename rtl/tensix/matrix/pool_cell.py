"""One column of GMPOOL in the Matrix unit: an operand register and a pipelined maximum, as slow as a dot product."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.tensix.matrix.dot_cell import LATENCY
from bitpath.rtl.tensix.pool.config import GmpoolColumnConfig
from bitpath.rtl.tensix.pool.gmpool_column import GmpoolColumn
from bitpath.rtl.tensix.pool.layouts import PoolWords, pool_request


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
