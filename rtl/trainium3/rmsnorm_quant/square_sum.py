"""Pass 1 of RMSNorm-Quant in a lane: the sum of the squares.

Ref: ``nki.isa.activation_reduce``: squares and their sum in FP32, element after element.
"""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.fp32.fp32_add import Fp32Add
from bitpath.rtl.common.fp32.fp32_multiply import Fp32Multiply
from bitpath.rtl.common.pipeline.shared_instances import instantiate


class SquareSum(wiring.Component):
    """``o`` is the sum, each square and each sum rounded to FP32, in the order in which the elements come.

    Members
    -------
    clear : In(1), the sum becomes +0
    i : In(32), FP32; its square is held in the next cycle
    add : In(1), what is held is added
    o : Out(31), FP32 without its sign: squares have none
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
            # Squares have no -0: +0 and the first is the first.
            m.d.sync += total.eq(0)
        with m.Elif(self.add):
            m.d.sync += total.eq(add.o)
        return m
