"""FP16 to the FP8 code E4M3::

      exponent of FP16    <= 8      9 to 23                      >= 24
      E4M3                s 0       s, e - 8, upper 3 fraction   s 0x7F

Ref: ttsim v1.10.0, ``Pac_LF8_4b_exp`` of Blackhole.
"""

from amaranth import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import E4M3, FP16
from bitpath.rtl.tensix.unpack.float_word import FloatWord

REBIAS = FP16.bias - E4M3.bias


class E4m3Code(wiring.Component):
    """The code of a float with the fields of FP16; the fraction is truncated. Combinational: latency 0.

    Members
    -------
    i : In(FloatWord)
    o : Out(8)
    """

    clocked = False
    i: In(FloatWord)
    o: Out(E4M3.width)

    def elaborate(self, platform):
        m = Module()
        exponent, sign = self.i.exponent, self.i.sign
        m.d.comb += self.o[-1].eq(sign)
        with m.If(exponent > REBIAS + E4M3.exponent_mask):
            m.d.comb += self.o[:-1].eq((1 << E4M3.width - 1) - 1)
        with m.Elif(exponent > REBIAS):
            kept = self.i.fraction[-E4M3.fraction_bits :]
            m.d.comb += self.o[:-1].eq(Cat(kept, (exponent - REBIAS)[: E4M3.exponent_bits]))
        return m
