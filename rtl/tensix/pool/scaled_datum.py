"""SrcA word to datum: times the power of two that a SrcB datum's exponent is::

      SrcB exponent  SrcA exponent   sign  exponent         fraction
      0              any             1     511              1023              below every datum
      not 0          0               0     0                0                 denormals are zeros
                     not 0           s     SrcA + SrcB      BF16: 7 bits      float
                                     s     SrcA + SrcB + 224                  FP16 for a 32-bit Dst, if rebiased
                                     s     0                magnitude         integer

224 = 127 - 2 * 15 + 127 makes FP32's bias of FP16's two, with the second bias that Dst's data have.

Ref: tt-isa-documentation 3930471, GMPOOL.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import SRC
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.dot.layouts import StyleCode
from bitpath.rtl.tensix.pool.layouts import (
    EXPONENT_BITS,
    FRACTION_BITS,
    MAGNITUDE_BITS,
    SCALE_BITS,
    Datum,
    PoolControl,
    reads_halves,
)
from bitpath.rtl.tensix.pool.order import Order

FP16_EXPONENT_BITS = 5
BF16_LACKS = 3
"""Fraction bits of a source word that BF16 lacks."""


class ScaledDatum(wiring.Component):
    """A SrcA word scaled by a SrcB exponent. FP16 has 5 bits of either exponent. Combinational: latency 0.

    Parameters
    ----------
    rebias : True gives FP16 the exponents of FP32 in a 32-bit Dst.

    Members
    -------
    word : In(19), scale : In(8), control : In(PoolControl)
    o : Out(Datum)
    """

    clocked = False

    def __init__(self, *, rebias: bool):
        self.rebias = rebias
        super().__init__({"word": In(SRC.width), "scale": In(SCALE_BITS), "control": In(PoolControl), "o": Out(Datum)})

    def elaborate(self, platform):
        m = Module()
        order = instantiate(m, platform, "order", Order)
        fraction, exponent_byte = self.word[:FRACTION_BITS], self.word[FRACTION_BITS:-1]
        style = self.control.style
        is_fp16, is_integer = style == StyleCode.FP16, style == StyleCode.INT8
        # The three exponent bits that FP16 lacks are 224.
        bias = (self.rebias & ~reads_halves(self.control)).replicate(SCALE_BITS - FP16_EXPONENT_BITS)
        fp16_scale = self.scale[:FP16_EXPONENT_BITS]
        exponent, scale = Signal(SCALE_BITS), Signal(SCALE_BITS)
        kept, total = Signal(FRACTION_BITS), Signal(EXPONENT_BITS)
        narrow = style == StyleCode.BF16
        m.d.comb += [
            exponent.eq(Mux(is_fp16, exponent_byte[:FP16_EXPONENT_BITS], exponent_byte)),
            scale.eq(Mux(is_fp16, Cat(fp16_scale, bias), self.scale)),
            kept.eq(Cat(Mux(narrow, Const(0, BF16_LACKS), fraction[:BF16_LACKS]), fraction[BF16_LACKS:])),
            total.eq(Mux(is_integer, 0, exponent + scale)),
            self.o.eq(order.o),
        ]
        with m.If(~Mux(is_fp16, fp16_scale, self.scale).any()):
            m.d.comb += [order.sign.eq(1), order.magnitude.eq((1 << MAGNITUDE_BITS) - 1)]
        with m.Elif(exponent.any()):
            m.d.comb += [order.sign.eq(self.word[-1]), order.magnitude.eq(Cat(kept, total))]
        return m
