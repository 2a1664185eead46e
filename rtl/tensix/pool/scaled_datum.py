"""SrcA word to datum: times the power of two that a SrcB datum's exponent is::

      SrcB exponent  SrcA exponent   sign  exponent         fraction
      0              any             1     511              1023              below every datum
      not 0          0               0     0                0                 denormals are zeros
                     not 0           s     SrcA + SrcB      BF16: 7 bits      float
                                     s     0                magnitude         integer

Ref: tt-isa-documentation 3930471, GMPOOL.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import SRC
from bitpath.rtl.tensix.dot.layouts import StyleCode
from bitpath.rtl.tensix.pool.layouts import EXPONENT_BITS, FRACTION_BITS, MAGNITUDE_BITS, SCALE_BITS, Datum
from bitpath.rtl.tensix.pool.order import Order

FP16_EXPONENT_BITS = 5
BF16_LACKS = 3
"""Fraction bits of a source word that BF16 lacks."""


class ScaledDatum(wiring.Component):
    """A SrcA word scaled by a SrcB exponent. FP16 has 5 bits of either exponent. Combinational: latency 0.

    Members
    -------
    word : In(19), scale : In(8), style : In(StyleCode)
    o : Out(Datum)
    """

    clocked = False
    word: In(SRC.width)
    scale: In(SCALE_BITS)
    style: In(StyleCode)
    o: Out(Datum)

    def elaborate(self, platform):
        m = Module()
        m.submodules.order = order = Order()
        fraction, exponent_byte = self.word[:FRACTION_BITS], self.word[FRACTION_BITS:-1]
        is_fp16, is_integer = self.style == StyleCode.FP16, self.style == StyleCode.INT8
        exponent, scale = Signal(SCALE_BITS), Signal(SCALE_BITS)
        kept, total = Signal(FRACTION_BITS), Signal(EXPONENT_BITS)
        narrow = self.style == StyleCode.BF16
        m.d.comb += [
            exponent.eq(Mux(is_fp16, exponent_byte[:FP16_EXPONENT_BITS], exponent_byte)),
            scale.eq(Mux(is_fp16, self.scale[:FP16_EXPONENT_BITS], self.scale)),
            kept.eq(Cat(Mux(narrow, Const(0, BF16_LACKS), fraction[:BF16_LACKS]), fraction[BF16_LACKS:])),
            total.eq(Mux(is_integer, 0, exponent + scale)),
            self.o.eq(order.o),
        ]
        with m.If(~scale.any()):
            m.d.comb += [order.sign.eq(1), order.magnitude.eq((1 << MAGNITUDE_BITS) - 1)]
        with m.Elif(exponent.any()):
            m.d.comb += [order.sign.eq(self.word[-1]), order.magnitude.eq(Cat(kept, total))]
        return m
