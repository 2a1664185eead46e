"""Sum of two FP32 numbers."""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.arithmetic.decode import Decode
from bitpath.rtl.common.fp32.fp32_sum import Fp32Sum
from bitpath.rtl.common.pipeline.shared_instances import instantiate


class Fp32Add(wiring.Component):
    """Combinational FP32 sum ``o = a + b``, rounded once to nearest even.

    Members
    -------
    a, b : In(32), FP32
    o : Out(32), FP32
    """

    clocked = False
    a: In(FP32.width)
    b: In(FP32.width)
    o: Out(FP32.width)

    def elaborate(self, platform):
        m = Module()
        left = instantiate(m, platform, "decode_a", Decode, (FP32,))
        right = instantiate(m, platform, "decode_b", Decode, (FP32,))
        total = instantiate(m, platform, "sum", Fp32Sum)
        m.d.comb += [
            left.code.eq(self.a),
            right.code.eq(self.b),
            total.a.eq(left.o),
            total.b.eq(right.o),
            self.o.eq(total.o),
        ]
        return m
