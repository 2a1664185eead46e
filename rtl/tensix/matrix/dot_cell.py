"""One cell of the Matrix unit's grid: an operand register and a pipelined dot product::

i ---[operands]--- multiply ---[1]--- group sums ---[2]--- add Dst ---[3]--- normalise, round --- o
"""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import DST32
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.tensix.dot.config import Dot16Config
from bitpath.rtl.tensix.dot.dot16 import Dot16, dot16_layout

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
