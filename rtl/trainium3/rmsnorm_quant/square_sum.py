"""Pass 1 of RMSNorm-Quant in a lane: sum of squares.

Ref: ``nki.isa.activation_reduce``: squares and their sum in FP32, element by element.
"""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.fp32.fp32_add import Fp32Add
from bitpath.rtl.common.fp32.fp32_multiply import Fp32Multiply
from bitpath.rtl.common.pipeline.shared_instances import instantiate


class SquareSum(wiring.Component):
    """``o = fp32(o + fp32(i * i))`` in the order of the elements; one element a cycle.

    Members
    -------
    clear : In(1), sets the sum to +0
    i : In(32), FP32; its square is registered
    add : In(1), adds the registered square, one cycle after its element
    o : Out(31), FP32 without its sign, which is always plus
    """

    clear: In(1)
    i: In(FP32.width)
    add: In(1)
    o: Out(FP32.width - 1)

    def elaborate(self, platform):
        m = Module()
        multiply = instantiate(m, platform, "multiply", Fp32Multiply)
        add = instantiate(m, platform, "add", Fp32Add)
        square = Signal(FP32.width - 1, reset_less=True)
        total = Signal(FP32.width - 1, reset_less=True)
        m.d.comb += [
            multiply.a.eq(self.i),
            multiply.b.eq(self.i),
            add.a.eq(total),
            add.b.eq(square),
            self.o.eq(total),
        ]
        m.d.sync += square.eq(multiply.o)
        with m.If(self.clear):
            # Adding the first square to +0 is exact, as squares are never -0.
            m.d.sync += total.eq(0)
        with m.Elif(self.add):
            m.d.sync += total.eq(add.o)
        return m
