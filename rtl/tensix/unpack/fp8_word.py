"""FP8 in L1 to the fields of FP16: E5M2, or E4M3 with the mode bit of Blackhole::

      E5M2   s eeeee ff       ->  s eeeee     ff 00000000        0x7F: fraction of ones, where ``all_ones``
      E4M3   s eeee fff       ->  s e + 8     fff 0000000        0x7F: fraction of ones; exponent 0 stays 0

Ref: tt-isa-documentation 3930471, UNPACR_Regular; ttsim v1.10.0 for Blackhole's all-ones codes and E4M3.
"""

from amaranth import Cat, Const, Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import E4M3, E5M2, FP16, FP32
from bitpath.rtl.tensix.unpack.float_word import FloatWord

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
        ones, code = self.code[:-1].all(), self.code
        below = FP16.fraction_bits - E5M2.fraction_bits
        filled = ones.replicate(below) if self.all_ones else Const(0, below)
        fraction, exponent = Cat(filled, code[: E5M2.fraction_bits]), code[E5M2.fraction_bits : -1]
        if self.has_e4m3:
            narrow = code[E4M3.fraction_bits : -1]
            below = FP16.fraction_bits - E4M3.fraction_bits
            e4m3_fraction = Cat(ones.replicate(below), code[: E4M3.fraction_bits])
            fraction = Mux(self.e4m3, e4m3_fraction, fraction)
            exponent = Mux(self.e4m3, Mux(narrow.any(), narrow + E4M3_REBIAS, 0), exponent)
        padding = Const(0, FP32.fraction_bits - FP16.fraction_bits)
        m.d.comb += [
            self.o.fraction.eq(Cat(padding, fraction)),
            self.o.exponent.eq(exponent),
            self.o.sign.eq(code[-1]),
        ]
        return m
