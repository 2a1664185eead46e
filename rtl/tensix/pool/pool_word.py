"""Datum to Dst word, for GMPOOL: takes the second bias off. Bits are dropped, none is rounded.

Ref: tt-isa-documentation 3930471, GMPOOL.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.tensix.declarations.formats import DST32
from bitpath.rtl.tensix.dot.layouts import StyleCode
from bitpath.rtl.tensix.pool.layouts import (
    FRACTION_BITS,
    MAGNITUDE_BITS,
    Datum,
    PoolControl,
    reads_halves,
    reads_integers,
)

INTEGER_BITS = 13
"""Bits of a magnitude that GMPOOL writes."""


class PoolWord(wiring.Component):
    """A datum as a Dst word; a 16-bit word is in the low half. Combinational: latency 0.

    An exponent of 0 is +0: SrcA's zeros and denormals have no bias. Any other exponent may wrap if the scale is not 1.0.

    Members
    -------
    i : In(Datum), control : In(PoolControl)
    o : Out(32)
    """

    clocked = False
    i: In(Datum)
    control: In(PoolControl)
    o: Out(DST32.width)

    def elaborate(self, platform):
        m = Module()
        magnitude = Signal(MAGNITUDE_BITS)
        fraction, total = magnitude[:FRACTION_BITS], magnitude[FRACTION_BITS:]
        exponent = Signal(FP32.exponent_bits)
        is_half = reads_halves(self.control)
        is_fp16 = is_half & (self.control.style == StyleCode.FP16)
        m.d.comb += [
            magnitude.eq(self.i.order[:-1] ^ (~self.i.order[-1]).replicate(MAGNITUDE_BITS)),
            exponent.eq(total - Mux(is_fp16, FP16.bias, FP32.bias)),
        ]
        with m.If(reads_integers(self.control)):
            m.d.comb += [self.o[:INTEGER_BITS].eq(magnitude), self.o[-1].eq(self.i.sign)]
        with m.Elif(total.any()):
            fp16 = Cat(fraction, exponent[: FP16.exponent_bits], self.i.sign)
            bf16 = Cat(fraction[FRACTION_BITS - BF16.fraction_bits :], exponent, self.i.sign)
            fp32 = Cat(Const(0, FP32.fraction_bits - FRACTION_BITS), fraction, exponent, self.i.sign)
            m.d.comb += self.o.eq(Mux(is_half, Mux(is_fp16, fp16, bf16), fp32))
        return m
