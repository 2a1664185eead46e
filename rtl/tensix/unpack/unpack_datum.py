"""One datum of L1 to a register word of Src or Dst.

Ref: tt-isa-documentation 3930471, UNPACR_Regular and Unpackers/FormatConversion.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, DST32, Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.unpack.block_decode import BlockDecode
from bitpath.rtl.tensix.unpack.float_word import (
    DATUM_BITS,
    FIELDS,
    FloatWord,
    float_code,
    float_word,
    has_short_exponent,
)
from bitpath.rtl.tensix.unpack.fp8_word import Fp8Word
from bitpath.rtl.tensix.unpack.layouts import EXPONENT_BITS, UnpackControl
from bitpath.rtl.tensix.unpack.narrow_exponent import NarrowExponent

SRC_FRACTION_BITS = 10
"""Fraction bits of a Src word, the upper ones of a FloatWord's."""
DST_FORMATS = (Format.FP32, Format.INT32)
"""Register formats of 32-bit Dst words; all others are formats of Src words."""
INTEGER_EXPONENT = 16
"""Exponent field of a nonzero INT8 datum in Src."""


class UnpackDatum(wiring.Component):
    """A datum as a 19-bit Src word, or as a Dst word: of 32 bits for the register formats FP32 and INT32, and, with
    ``control.to_dst``, for TF32; of 16 bits for all others with ``control.to_dst``, FP16's for 5-bit exponents and INT8.

    Pairs of formats that the hardware does not convert give an undefined result. Combinational: latency 0.

    Parameters
    ----------
    numerics : ``bfp_range``, ``bfp_a_range``, ``fp8_all_ones`` and ``fp8_e4m3`` are read.

    Members
    -------
    code : In(32), the datum in its low bits, zeros above
    shared : In(8), the exponent of the datum's block; read for block formats only
    control : In(UnpackControl)
    o : Out(32)
    """

    clocked = False

    def __init__(self, numerics: TensixNumerics):
        self.numerics = numerics
        super().__init__(
            {
                "code": In(max(DATUM_BITS.values())),
                "shared": In(EXPONENT_BITS),
                "control": In(UnpackControl),
                "o": Out(DST32.width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        code, control, numerics = self.code, self.control, self.numerics
        block = instantiate(m, platform, "block", BlockDecode, numerics.bfp_range, numerics.bfp_a_range)
        fp8 = instantiate(m, platform, "fp8", Fp8Word, all_ones=numerics.fp8_all_ones, has_e4m3=numerics.fp8_e4m3)
        narrow = instantiate(m, platform, "narrow", NarrowExponent)
        m.d.comb += [
            block.code.eq(code),
            block.shared.eq(self.shared),
            block.l1_format.eq(control.l1_format),
            fp8.code.eq(code),
            fp8.e4m3.eq(control.e4m3),
            narrow.i.eq(float_word(code, FP32)),
        ]

        word = Signal(FloatWord)
        with m.Switch(control.l1_format):
            with m.Case(Format.FP32):
                self._fp32(m, narrow.o, word)
            for fmt in (Format.BF16, Format.FP16):
                with m.Case(fmt):
                    m.d.comb += word.eq(float_word(code, FIELDS[fmt]))
            with m.Case(Format.FP8):
                m.d.comb += word.eq(fp8.o)
            with m.Case(Format.TF32):
                # TF32 has 32 bits in L1, with the fields of FP32.
                m.d.comb += word.eq(float_word(code, FP32))
            with m.Case(Format.INT8):
                self._int8(m, word)
            with m.Case(Format.INT16):
                # Opaque: the low magnitude bits go to the exponent field, the upper ones to BF16's fraction.
                low, high = code[:8], code[8:15]
                m.d.comb += [
                    word.exponent.eq(low),
                    word.fraction.eq(Cat(Const(0, FP32.fraction_bits - len(high)), high)),
                    word.sign.eq(code[15]),
                ]
            with m.Case(*BLOCK_FLOATS):
                m.d.comb += word.eq(block.o)

        register = control.register_format
        with m.If(register.matches(*DST_FORMATS) | control.to_dst & (register == Format.TF32)):
            m.d.comb += self.o.eq(code)
        with m.Elif(control.to_dst):
            short = has_short_exponent(register) | (register == Format.INT8)
            m.d.comb += self.o.eq(Mux(short, float_code(word, FP16), float_code(word, BF16)))
        with m.Else():
            source = Cat(word.fraction[-SRC_FRACTION_BITS:], word.exponent, word.sign)
            m.d.comb += self.o.eq(source)
        return m

    def _fp32(self, m: Module, narrowed: FloatWord, word: FloatWord) -> None:
        """Convert FP32 to a Src format: BF16 loses its denormals, the other formats keep their bits."""
        with m.Switch(self.control.register_format):
            with m.Case(Format.FP16):
                m.d.comb += word.eq(narrowed)
            with m.Case(Format.BF16):
                wide = Signal(FloatWord)
                m.d.comb += [
                    wide.eq(float_word(self.code, FP32)),
                    word.exponent.eq(wide.exponent),
                    word.fraction[-BF16.fraction_bits :].eq(
                        Mux(wide.exponent.any(), wide.fraction[-BF16.fraction_bits :], 0)
                    ),
                    word.sign.eq(wide.sign),
                ]
            with m.Default():
                m.d.comb += word.eq(float_word(self.code, FP32))

    def _int8(self, m: Module, word: FloatWord) -> None:
        """Convert INT8: the magnitude goes to the low bits of Src's fraction."""
        magnitude = Signal(8)
        m.d.comb += [
            magnitude.eq(Mux(self.control.unsigned, self.code[:8], self.code[:7])),
            word.fraction.eq(magnitude << FP32.fraction_bits - SRC_FRACTION_BITS),
            word.exponent.eq(Mux(magnitude.any(), INTEGER_EXPONENT, 0)),
            word.sign.eq(self.code[7] & ~self.control.unsigned),
        ]
