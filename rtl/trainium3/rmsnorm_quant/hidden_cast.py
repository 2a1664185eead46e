"""Input of the RMSNorm-Quant row unit: elements of BF16, FP16 or FP32 to BF16, as the DMA casts them on their way in.

Ref: RQ of :mod:`bitpath.golden.trainium3.declarations.vector`: step 1, through FP32.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.rtl.common.arithmetic.decode import Decode
from bitpath.rtl.common.arithmetic.raw import SPECIAL, raw_sum
from bitpath.rtl.common.fp32.fp32_result import Fp32Result
from bitpath.rtl.common.fp32.fp32_to_bf16 import Fp32ToBf16
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.vector.exponential_difference import Source

EXPONENT_WIDTH = FP32.exponent_bits + 1
"""Bits of a signed exponent; the rounder takes its difference to the smallest of FP32."""
OFFSET = FP16.bias + FP16.fraction_bits
"""A decoded FP16 number is ``significand * 2**(exponent - OFFSET)``."""


class HiddenCast(wiring.Component):
    """Combinational BF16 code of an element, rounded once to nearest even; NaN becomes the canonical one.

    FP16 becomes FP32 exactly; a BF16 code above 16 zeros is one of FP32 and passes unrounded.

    Members
    -------
    i : In(32), a code of ``source``; 16-bit codes in the upper half, above 16 zeros
    source : In(Source)
    o : Out(16), BF16
    """

    clocked = False
    i: In(FP32.width)
    source: In(Source)
    o: Out(BF16.width)

    def elaborate(self, platform):
        m = Module()
        decode = instantiate(m, platform, "decode", Decode, (FP16,))
        exact = Signal(raw_sum(FP16.precision, EXPONENT_WIDTH))
        special = Signal(SPECIAL)
        wide = instantiate(m, platform, "wide", Fp32Result, exact.shape())
        narrow = instantiate(m, platform, "narrow", Fp32ToBf16)
        number = decode.o
        m.d.comb += [
            decode.code.eq(self.i[-FP16.width :]),
            exact.magnitude.eq(number.significand),
            exact.exponent.eq(number.exponent - OFFSET),
            exact.sign.eq(number.sign),
            special.sign.eq(number.sign),
            special.inf.eq(number.inf),
            special.nan.eq(number.nan),
            wide.i.eq(exact),
            wide.special.eq(special),
            narrow.i.eq(Mux(self.source == Source.FP16, wide.o, self.i)),
            self.o.eq(narrow.o[-BF16.width :]),
        ]
        return m
