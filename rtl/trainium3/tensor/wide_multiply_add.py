"""Multiply-add of a PE outside the MX modes: a 12 x 12 bit multiplier, whose products of four passes add up to FP32's.

    product = half of stationary * half of moving << shift      shift: 0, 12, 12, 24 for lo*lo, lo*hi, hi*lo, hi*hi
    fused:   total = the products of the passes since the first, exact; the last pass rounds total + partial once
    else:    o = round(product + partial)

BF16, FP16, FP8 and TF32 are high halves alone. Steps: Multiply, ExactAdd (exact for rounding), Normalize, Round.

Ref: ``nki.isa.nc_matmul`` reference page, NKI 0.6. What a pass computes is chosen, see the declarations.
"""

from amaranth import Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.tensor import LOW_BITS
from bitpath.rtl.common.arithmetic.decode import Decode, raw_float
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.dot.multiply_add import PARTIAL_OFFSET, STEPS, rounded_sum
from bitpath.rtl.trainium3.tensor.config import NARROW, WIDE, CorePeConfig

PRODUCT = 2 * FP32.precision
"""Bits of the sum of four partial products."""


class WideMultiplyAdd(wiring.Component):
    """Latency is ``stages`` cycles, 0 to 4; it takes a pass a cycle, without back-pressure.

    Infinity and NaN count in the pass of both high halves, and as +0 in the others. In the passes before the last one of a
    fused step ``o`` has no meaning.

    Parameters
    ----------
    config : numerics and pipeline.

    Members
    -------
    stationary : In(WIDE), moving : In(NARROW), a half of an FP32 number or a whole narrow one
    number : In(2), pass; 3 for numbers without low halves
    fused : In(1), whether the pass belongs to a fused step; first : In(1), whether it is its first pass
    partial : In(32), an FP32 code
    o : Out(32), an FP32 code
    """

    def __init__(self, config: CorePeConfig):
        self.config = config
        super().__init__(
            {
                "stationary": In(WIDE),
                "moving": In(NARROW),
                "number": In(2),
                "fused": In(1),
                "first": In(1),
                "partial": In(FP32.width),
                "o": Out(FP32.width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        numerics = self.config.numerics
        registers = PipelineRegisters(m, STEPS[self.config.pipeline.stages], valid=Const(1), ready=Const(1))
        decode = instantiate(m, platform, "decode_partial", Decode, (FP32,))
        m.d.comb += decode.code.eq(self.partial)
        stationary, moving, partial, number, fused, first = registers.hold(
            "decode",
            stationary=self.stationary,
            moving=self.moving,
            partial=decode.o,
            number=self.number,
            fused=self.fused,
            first=self.first,
        )

        last = number.all()
        half = Signal(len(moving.significand))
        part = Signal(2 * len(half))
        shifted, total = Signal(PRODUCT), Signal(PRODUCT)
        before = Signal(PRODUCT, reset_less=True)
        m.d.comb += [
            half.eq(Mux(number[1], stationary.significand[LOW_BITS:], stationary.significand[:LOW_BITS])),
            part.eq(half * moving.significand),
            shifted.eq(Mux(last, part << 2 * LOW_BITS, Mux(number.any(), part << LOW_BITS, part))),
            total.eq(Mux(fused & ~first, before + shifted, shifted)),
        ]
        with m.If(fused):
            m.d.sync += before.eq(total)
        # A low half of zero is +0.
        sign = stationary.sign & (number[1] | half.any())
        inf, nan = stationary.inf | moving.inf, stationary.nan | moving.nan
        left_out = ~last & (inf | nan)
        product = Signal(raw_float(len(stationary.exponent) + 1, PRODUCT))
        m.d.comb += [
            product.sign.eq((sign ^ moving.sign) & ~left_out),
            product.exponent.eq(stationary.exponent + moving.exponent),
            product.significand.eq(Mux(left_out, 0, total)),
            product.inf.eq(inf & last),
            # Infinity's significand is not 0, so that the product is 0 only if the other operand is.
            product.nan.eq((nan | (inf & ~total.any())) & last),
        ]
        # The product's exponent lies between -2 * PARTIAL_OFFSET and 2 * 255 - 2 * PARTIAL_OFFSET.
        width = len(product.exponent) + 1
        offset = 2 * PARTIAL_OFFSET
        m.d.comb += self.o.eq(rounded_sum(m, platform, registers, numerics, product, partial, offset, width))
        registers.finish()
        return m
