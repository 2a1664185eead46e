"""FP8 in L1 to the fields of FP16: E5M2, or E4M3 with the mode bit of Blackhole::

      E5M2   s eeeee ff       ->  s eeeee     ff 00000000        0x7F: fraction of ones, where ``all_ones``
      E4M3   s eeee fff       ->  s e + 8     fff 0000000        0x7F: fraction of ones; exponent 0 stays 0

Ref: tt-isa-documentation 3930471, UNPACR_Regular; ttsim v1.10.0 for Blackhole's all-ones codes and E4M3.
"""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import E4M3, E5M2, FP16
from bitpath.rtl.tensix.unpack.float_word import FloatWord, float_word

E4M3_REBIAS = FP16.bias - E4M3.bias


class Fp8Word(wiring.Component):
    """An FP8 code as a `FloatWord` of FP16. Combinational: latency 0.

    Parameters
    ----------
    all_ones : True if an E5M2 magnitude of ones becomes one of FP16.
    has_e4m3 : True if ``e4m3`` selects E4M3, else it is not read.

    Members
    -------
    code : In(8)
    e4m3 : In(1)
    o : Out(FloatWord)
    """

    clocked = False

    def __init__(self, *, all_ones: bool, has_e4m3: bool):
        self.all_ones, self.has_e4m3 = all_ones, has_e4m3
        super().__init__({"code": In(E5M2.width), "e4m3": In(1), "o": Out(FloatWord)})

    def elaborate(self, platform):
        m = Module()
        e4m3 = self.e4m3 if self.has_e4m3 else 0
        ones = self.code[:-1].all()
        m.d.comb += self.o.eq(float_word(self.code, E5M2))
        filled = Signal()
        with m.If(e4m3):
            narrow = Signal(FloatWord)
            m.d.comb += [
                narrow.eq(float_word(self.code, E4M3)),
                self.o.fraction.eq(narrow.fraction),
                self.o.exponent.eq(Mux(narrow.exponent.any(), narrow.exponent + E4M3_REBIAS, 0)),
                filled.eq(ones),
            ]
        with m.Else():
            m.d.comb += filled.eq(ones & self.all_ones)
        with m.If(filled):
            m.d.comb += self.o.fraction[-FP16.fraction_bits :].eq(FP16.fraction_mask)
        return m
