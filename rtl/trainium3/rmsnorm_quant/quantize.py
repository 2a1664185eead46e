"""Pass 3 of RMSNorm-Quant in a lane: converts elements to FP8.

Ref: RQ of :mod:`bitpath.golden.trainium3.declarations.vector`: tensor_scalar, by the row's scale or a static one.
"""

from fractions import Fraction
from typing import Any

from amaranth import Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.rtl.common.fp32.bf16_clamp import Bf16Clamp
from bitpath.rtl.common.fp32.fp32_add import Fp32Add
from bitpath.rtl.common.fp32.fp32_cast import Fp32Cast
from bitpath.rtl.common.fp32.fp32_constant import fp32_constant
from bitpath.rtl.common.fp32.fp32_multiply import Fp32Multiply
from bitpath.rtl.common.fp32.fp32_to_bf16 import Fp32ToBf16
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.rmsnorm_quant.layouts import LANE_BYTE, NUMERICS, OCP_NUMERICS, OPTIONS, to_fp32

RANGE, OCP_RANGE = (fp32_constant(Fraction(each.output_range)) for each in (NUMERICS, OCP_NUMERICS))


class QuantizePass(wiring.Component):
    """``o = fp8(i * factor)``, with a clamp before or after the product; E4M3 and 240, or with ``ocp`` E4M3FN and 448::

        row's own scale   o = fp8(bf16(clamp(i, lower_bound)) * factor)    clamp only with ``has_lower_bound``
        static scale      o = fp8(clamp(bf16(i * factor + 0), output_range))

    Latency is LATENCY cycles of ``advance``; throughput is one element a cycle.

    Members
    -------
    advance : In(1), clock enable
    options : In(OPTIONS)
    i : In(16), BF16
    factor : In(32), FP32, reciprocal of the scale
    o : Out(8)
    """

    LATENCY = 2

    advance: In(1)
    options: In(OPTIONS)
    i: In(BF16.width)
    factor: In(FP32.width)
    o: Out(LANE_BYTE)

    def elaborate(self, platform):
        m = Module()
        within_bound = self._within(m, platform, "bound", self.i, self.options.lower_bound[:-1])
        bounded = self._to_bf16(m, platform, "bounded", within_bound)
        applies = self.options.has_lower_bound & ~self.options.static
        element = Signal(BF16.width, reset_less=True)

        multiply = instantiate(m, platform, "multiply", Fp32Multiply)
        product = Signal(FP32.width, reset_less=True)
        m.d.comb += [multiply.a.eq(to_fp32(element)), multiply.b.eq(self.factor)]
        with m.If(self.advance):
            m.d.sync += [element.eq(Mux(applies, bounded, self.i)), product.eq(multiply.o)]

        # A static scale adds +0, which turns -0 to +0.
        add = instantiate(m, platform, "add", Fp32Add)
        m.d.comb += [add.a.eq(product), add.b.eq(0)]
        total = self._to_bf16(m, platform, "sum", add.o)
        limit = Mux(self.options.ocp, Const(OCP_RANGE, FP32.width - 1), Const(RANGE, FP32.width - 1))
        within_range = self._within(m, platform, "range", total, limit)
        codes = []
        for name, numerics in (("cast", NUMERICS), ("ocp_cast", OCP_NUMERICS)):
            cast = instantiate(m, platform, name, Fp32Cast, numerics.output)
            m.d.comb += cast.i.eq(Mux(self.options.static, within_range, product))
            codes.append(cast.o)
        m.d.comb += self.o.eq(Mux(self.options.ocp, codes[1], codes[0]))
        return m

    def _within(self, m: Module, platform: Any, name: str, number: Value, limit: Value) -> Value:
        """Clamp a BF16 number: ``max(min(number, limit), -limit)`` in FP32."""
        clamp = instantiate(m, platform, name, Bf16Clamp)
        m.d.comb += [clamp.i.eq(number), clamp.limit.eq(limit)]
        return clamp.o

    def _to_bf16(self, m: Module, platform: Any, name: str, number: Value) -> Value:
        """Round an FP32 number to BF16."""
        narrow = instantiate(m, platform, f"{name}_to_bf16", Fp32ToBf16)
        m.d.comb += narrow.i.eq(number)
        return narrow.o[FP32.width - BF16.width :]
