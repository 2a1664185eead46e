"""Dst word to source word, as MOVD2A and MOVD2B convert it; nothing is flushed::

      TF32             the upper 19 bits of a 32-bit word
      5 exponent bits  s | 3 zeros | e5 | m10           from 16 bits
      others           s | e8 | m7 | 3 zeros            from 16 bits

The 16 bits are a 16-bit word, or the upper or lower half of a 32-bit word, in the register's order of 16-bit words.

Ref: tt-isa-documentation 3930471, MOVD2A and MOVD2B.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import DST16_BF16, DST16_FP16, DST32, SRC, Format
from bitpath.rtl.tensix.dot.layouts import FORMAT_BITS
from bitpath.rtl.tensix.matrix.source_to_dst import EXPONENT5_BITS, FRACTION_BITS, HALF, LACKING_BITS, SHORT_FORMATS
from bitpath.rtl.tensix.matrix.words import from_physical, to_physical


class DstToSource(wiring.Component):
    """One datum. Combinational: latency 0.

    Members
    -------
    word : In(32), logical, of 32 bits with ``dst32``, else of 16 bits in the low half; TF32 needs 32 bits
    dst32 : In(1); low_half : In(1), take the lower half of a 32-bit word
    format : In(4), SrcA's
    o : Out(19)
    """

    clocked = False
    apart = True  # 128 of them
    word: In(DST32.width)
    dst32: In(1)
    low_half: In(1)
    format: In(FORMAT_BITS)
    o: Out(SRC.width)

    def elaborate(self, platform):
        m = Module()
        wide = to_physical(DST32, self.word)
        half, fp16, bf16 = (Signal(HALF, name=name) for name in ("half", "fp16", "bf16"))
        m.d.comb += [
            half.eq(Mux(self.low_half, wide[:HALF], wide[HALF:])),
            fp16.eq(Mux(self.dst32, from_physical(DST16_FP16, half), self.word[:HALF])),
            bf16.eq(Mux(self.dst32, from_physical(DST16_BF16, half), self.word[:HALF])),
        ]
        with m.If(self.format == Format.TF32):
            m.d.comb += self.o.eq(self.word[-SRC.width :])
        with m.Elif(self.format.matches(*SHORT_FORMATS)):
            gap = Const(0, SRC.width - 1 - FRACTION_BITS - EXPONENT5_BITS)
            m.d.comb += self.o.eq(Cat(fp16[:-1], gap, fp16[-1]))
        with m.Else():
            m.d.comb += self.o.eq(Cat(Const(0, LACKING_BITS), bf16))
        return m
