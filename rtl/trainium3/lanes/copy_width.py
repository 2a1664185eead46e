"""Elements a cycle of a copy, from the performance modes of VectorE and ScalarE.

    VectorE   4   floats of 16 and 8 bits, both ends in SBUF, elements side by side
              2   others
    ScalarE   2   floats of 16 and 8 bits
              1   others

A stride above 16 bytes halves this, to no less than 1. A gather or scatter takes an element a cycle.

Ref: "Trainium3 Architecture Guide for NKI"; `bitpath.golden.trainium3.declarations.core_rates` has the numbers.
"""

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.golden.trainium3.declarations.core_rates import CORE_RATES
from bitpath.golden.trainium3.declarations.dtypes import FORMATS
from bitpath.rtl.trainium3.dma.dtype import Dtype, dtypes_within
from bitpath.rtl.trainium3.lanes.copy_control import CopyMode, Engine, Stride

RATES = CORE_RATES.numerics
NARROW = tuple(dtype for dtype, name in dtypes_within(16).items() if isinstance(FORMATS[name], FloatFormat))
"""Floats of 16 and 8 bits."""


class CopyWidth(wiring.Component):
    """Combinational elements a cycle: 1, 2 or 4.

    Members
    -------
    mode : In(CopyMode)
    o : Out(3)
    """

    clocked = False
    mode: In(CopyMode)
    o: Out(3)

    def elaborate(self, platform):
        m = Module()
        narrow, contiguous, full = Signal(), Signal(), Signal(3)
        m.d.comb += [
            narrow.eq(_is_narrow(self.mode.pair.source) & _is_narrow(self.mode.pair.destination)),
            contiguous.eq((self.mode.stride == Stride.NONE) & ~self.mode.psum),
        ]
        with m.If(self.mode.engine == Engine.SCALAR):
            m.d.comb += full.eq(Mux(narrow, RATES.scalar_narrow, RATES.scalar_wide))
        with m.Else():
            fast = narrow & contiguous
            m.d.comb += full.eq(Mux(fast, RATES.vector_narrow, RATES.vector_wide))
        with m.If(self.mode.indirect):
            m.d.comb += self.o.eq(1)
        with m.Elif(Value.cast(self.mode.stride)[1] & ~full[0]):
            m.d.comb += self.o.eq(full >> 1)
        with m.Else():
            m.d.comb += self.o.eq(full)
        return m


def _is_narrow(dtype: Dtype) -> Value:
    return Value.cast(dtype).matches(*NARROW)
