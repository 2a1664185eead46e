"""Decoder of 16-bit and 8-bit floats to sign, 8-bit exponent and 11-bit significand."""

from amaranth import Cat, Const, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8_FORMATS, FLOAT16_FORMATS
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.mac.layouts import FORMAT_BITS, WORD_BITS
from bitpath.rtl.aie_ml_v2.mac.term_plan import SIGNIFICAND_BITS
from bitpath.rtl.common.arithmetic.decode import Decode
from bitpath.rtl.common.arithmetic.raw import raw_float

FLOAT = raw_float(FP32.exponent_bits, SIGNIFICAND_BITS)
"""A float with bias 127 and 10 fraction bits; subnormals have the exponent of the smallest normal number."""


class FloatDecode(wiring.Component):
    """Decode one code of a FLOAT16 or FLOAT8 format; fractions are padded with zeros at the bottom; combinational.

    Members
    -------
    code : In(16); an 8-bit code is in the low half
    is_fp8 : In(1)
    format : In(3), index into the mode's formats
    o : Out(FLOAT)
    """

    clocked = False
    apart = True  # a lane has 16 instances, which share one Verilog module

    code: In(WORD_BITS)
    is_fp8: In(1)
    format: In(FORMAT_BITS)
    o: Out(FLOAT)

    def elaborate(self, platform):
        m = Module()
        m.submodules.decode16 = decode16 = Decode(FLOAT16_FORMATS)
        m.submodules.decode8 = decode8 = Decode(FLOAT8_FORMATS)
        m.d.comb += [
            decode16.code.eq(self.code),
            decode16.format.eq(self.format),
            decode8.code.eq(self.code),
            decode8.format.eq(self.format),
        ]
        for decode, selected in ((decode16, ~self.is_fp8), (decode8, self.is_fp8)):
            padding = Const(0, SIGNIFICAND_BITS - 1 - decode.fraction_bits)
            with m.If(selected):
                m.d.comb += [
                    self.o.significand.eq(Cat(padding, decode.o.significand)),
                    self.o.exponent.eq(decode.o.exponent + (FP32.bias - decode.bias)),
                    self.o.sign.eq(decode.o.sign),
                    self.o.inf.eq(decode.o.inf),
                    self.o.nan.eq(decode.o.nan),
                ]
        return m
