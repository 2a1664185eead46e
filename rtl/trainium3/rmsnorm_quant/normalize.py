"""Pass 2 of RMSNorm-Quant in a lane: normalises elements and multiplies them by gamma.

Ref: ``nki.isa.scalar_tensor_tensor``: two multiplications in FP32, then BF16.
"""

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.rtl.common.fp32.fp32_multiply import Fp32Multiply
from bitpath.rtl.common.fp32.fp32_to_bf16 import Fp32ToBf16
from bitpath.rtl.common.pipeline.shared_instances import instantiate


class NormalizePass(wiring.Component):
    """``o = bf16(fp32(fp32(i * inverse) * gamma))``, rounded to nearest even at each step.

    Latency is LATENCY cycles; throughput is one element a cycle. Gamma arrives GAMMA_LATENCY cycles after its element.

    Members
    -------
    i : In(32), FP32
    inverse : In(32), FP32, reciprocal of the root mean square
    gamma : In(32), FP32
    o : Out(16), BF16
    """

    LATENCY = 2
    GAMMA_LATENCY = 1

    i: In(FP32.width)
    inverse: In(FP32.width)
    gamma: In(FP32.width)
    o: Out(BF16.width)

    def elaborate(self, platform):
        m = Module()
        normalize = instantiate(m, platform, "normalize", Fp32Multiply)
        weigh = instantiate(m, platform, "weigh", Fp32Multiply)
        narrow = instantiate(m, platform, "narrow", Fp32ToBf16)
        normalized = Signal(FP32.width, reset_less=True)
        result = Signal(BF16.width, reset_less=True)
        m.d.comb += [
            normalize.a.eq(self.i),
            normalize.b.eq(self.inverse),
            weigh.a.eq(normalized),
            weigh.b.eq(self.gamma),
            narrow.i.eq(weigh.o),
            self.o.eq(result),
        ]
        m.d.sync += [normalized.eq(normalize.o), result.eq(narrow.o[-BF16.width :])]
        return m
