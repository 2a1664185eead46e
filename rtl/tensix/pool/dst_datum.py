"""Dst word to datum, for GMPOOL::

      Dst word                     sign   exponent              fraction
      FP32                         31     30:23 + 127           22:13
      BF16, BF16 of argmax         15     14:7 + 127            6:0, three zeros     of the low or of the upper half
      FP16, FP16 of argmax         15     14:10 + 15            9:0                  likewise
      INT32, TF32 with argmax      31     magnitude 18:0

A float has the second bias that a datum of SrcA has, whose scale 1.0 is a biased exponent.

Ref: tt-isa-documentation 3930471, GMPOOL.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.tensix.declarations.formats import DST32
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.dot.layouts import StyleCode
from bitpath.rtl.tensix.pool.layouts import (
    EXPONENT_BITS,
    FRACTION_BITS,
    MAGNITUDE_BITS,
    Datum,
    PoolControl,
    reads_halves,
    reads_integers,
)
from bitpath.rtl.tensix.pool.order import Order

HALF = 16


class DstDatum(wiring.Component):
    """A Dst word as a datum; a 16-bit word is in the low half. Combinational: latency 0.

    Members
    -------
    word : In(32), control : In(PoolControl)
    o : Out(Datum)
    """

    clocked = False
    word: In(DST32.width)
    control: In(PoolControl)
    o: Out(Datum)

    def elaborate(self, platform):
        m = Module()
        order = instantiate(m, platform, "order", Order)
        word = self.word
        half = Signal(HALF)
        exponent, fraction, bias = Signal(FP32.exponent_bits), Signal(FRACTION_BITS), Signal(FP32.exponent_bits)
        m.d.comb += [half.eq(Mux(self.control.dst32, word[HALF:], word[:HALF])), bias.eq(FP32.bias)]
        with m.If(~reads_halves(self.control)):
            m.d.comb += [
                exponent.eq(word[FP32.fraction_bits : -1]),
                fraction.eq(word[FP32.fraction_bits - FRACTION_BITS : FP32.fraction_bits]),
            ]
        with m.Elif(self.control.style == StyleCode.FP16):
            m.d.comb += [
                exponent.eq(half[FP16.fraction_bits : -1]),
                fraction.eq(half[: FP16.fraction_bits]),
                bias.eq(FP16.bias),
            ]
        with m.Else():
            m.d.comb += [
                exponent.eq(half[BF16.fraction_bits : -1]),
                fraction.eq(Cat(Const(0, FRACTION_BITS - BF16.fraction_bits), half[: BF16.fraction_bits])),
            ]
        total = Signal(EXPONENT_BITS)
        m.d.comb += [
            total.eq(exponent + bias),
            order.sign.eq(Mux(reads_halves(self.control), half[-1], word[-1])),
            order.magnitude.eq(Mux(reads_integers(self.control), word[:MAGNITUDE_BITS], Cat(fraction, total))),
            self.o.eq(order.o),
        ]
        return m
