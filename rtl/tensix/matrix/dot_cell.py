"""One dot product of the Matrix unit's grid."""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import DST32
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.tensix.dot.config import Dot16Config
from bitpath.rtl.tensix.dot.dot16 import Dot16, dot16_layout

LATENCY = 4
"""Cycles from operands to result: the operands' register, and three ranks in the dot product."""


class DotCell(wiring.Component):
    """A dot product behind a register of its operands; it takes operands every cycle.

    The operands are registered here and not once for all cells: SrcA fans out to 8 cells and SrcB to 16, and a simulator
    then finds the same logic, over registers of its own, in every cell.

    Parameters
    ----------
    numerics : what is computed.

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
        # Operands need no reset: whether a result is written is known outside.
        operands = Signal.like(self.i, reset_less=True)
        m.d.sync += operands.eq(self.i)
        m.d.comb += [
            dot.i.p.eq(operands),
            dot.i.valid.eq(1),
            dot.o.ready.eq(1),
            self.o.eq(dot.o.p),
        ]
        return m
