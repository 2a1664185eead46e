"""Edge mask of the packer, between early conversion and ReLU.

Ref: tt-isa-documentation 3930471, Packers/EdgeMasking, which calls the replacement infinity and gives no bits; ttsim
v1.10.0 for FP16, whose largest number replaces infinity.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP16, FP32
from bitpath.golden.tensix.declarations.formats import COLUMNS
from bitpath.rtl.tensix.dot.layouts import FORMAT_BITS
from bitpath.rtl.tensix.pack.early_conversion import RAW_FRACTION_BITS, ROUNDED_FRACTION_BITS, SHORT_FORMATS
from bitpath.rtl.tensix.pack.layouts import PackControl
from bitpath.rtl.tensix.unpack.float_word import FloatWord


class EdgeMask(wiring.Component):
    """A row of intermediate values with the masked ones replaced.

    The replacement is +0, or minus infinity for floats: -infinity for 8-bit exponents, all ones in every bit of the
    intermediate format for 5-bit exponents. Combinational: latency 0.

    Members
    -------
    i : In(16 FloatWords)
    masked : In(16), a bit for each value
    control : In(PackControl)
    o : Out(16 FloatWords)
    """

    clocked = False
    i: In(data.ArrayLayout(FloatWord, COLUMNS))
    masked: In(COLUMNS)
    control: In(PackControl)
    o: Out(data.ArrayLayout(FloatWord, COLUMNS))

    def elaborate(self, platform):
        m = Module()
        control = self.control
        short = control.mid_format.matches(*SHORT_FORMATS)
        replacement = Signal(FloatWord)
        with m.If(control.edge_minus_infinity):
            m.d.comb += [
                replacement.sign.eq(1),
                replacement.exponent.eq(Mux(short, FP16.exponent_mask, FP32.exponent_mask)),
            ]
            with m.Switch(Cat(control.mid_format, control.raw)):
                for raw, kept in enumerate((ROUNDED_FRACTION_BITS, RAW_FRACTION_BITS)):
                    for fmt in filter(kept.__contains__, SHORT_FORMATS):
                        with m.Case(raw << FORMAT_BITS | fmt):
                            absent = (1 << FP32.fraction_bits - kept[fmt]) - 1
                            m.d.comb += replacement.fraction.eq(FP32.fraction_mask ^ absent)
        for k in range(COLUMNS):
            m.d.comb += self.o[k].eq(Mux(self.masked[k], replacement, self.i[k]))
        return m
