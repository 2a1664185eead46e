"""Source word to operand: mask the fraction, add the hidden bit::

      bit    18    17 ....... 10   9 ........ 3  2 1 0
      word   sign  exponent        fraction      masked if ``narrow``
                   FP16: 14:10     INT8: magnitude, 10 bits

      magnitude = 1.fraction if exponent != 0, or if SrcB keeps it, else 0

Ref: tt-isa-documentation 3930471, FloatBitPatterns and MVMUL.
"""

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.tensix.declarations.formats import EXPONENT5_FORMATS, SRC, Format
from bitpath.golden.tensix.declarations.numerics import Masking, TensixNumerics
from bitpath.rtl.tensix.dot.layouts import Operand, StyleCode

FRACTION_BITS = 10
EXPONENT5_BITS = 5
BF16_LACKS = 3
"""Fraction bits of a source word that BF16 lacks."""


def is_narrow(numerics: TensixNumerics, style: Value, source_format: Value) -> Value:
    """Return 1 if a source's low fraction bits are masked: by its own format, or by the style, as the numerics choose."""
    if numerics.masking is Masking.SRCA_STYLE:
        return style == StyleCode.BF16
    wide = (Format.TF32, *EXPONENT5_FORMATS)
    return ~Cat(source_format == int(fmt) for fmt in wide).any()


class ReadSource(wiring.Component):
    """A logical 19-bit source word as an operand of the multipliers.

    A float of exponent 0 is zero for every fraction; all other exponents are normal numbers. SrcB may keep data of exponent 0
    as normal numbers and integers as their magnitudes. Combinational: latency 0.

    Parameters
    ----------
    numerics : ``int8_zero_exponent_flush`` alone.
    is_src_b : True for SrcB, whose zero flag may be disabled.

    Members
    -------
    word : In(19)
    style : In(StyleCode)
    narrow : In(1), mask the low three fraction bits of a float
    keep_denormals, keep_zeros : In(1), for SrcB alone: keep floats of exponent 0 with a fraction, and all; each keeps integers
    o : Out(Operand)
    """

    clocked = False

    def __init__(self, numerics: TensixNumerics, *, is_src_b: bool = False):
        self.is_src_b = is_src_b
        self.flushes_integers = numerics.int8_zero_exponent_flush
        ports = {"word": In(SRC.width), "style": In(StyleCode), "narrow": In(1), "o": Out(Operand)}
        super().__init__(ports | ({"keep_denormals": In(1), "keep_zeros": In(1)} if is_src_b else {}))

    def elaborate(self, platform):
        m = Module()
        fraction = self.word[:FRACTION_BITS]
        exponent_byte = self.word[FRACTION_BITS:-1]
        exponent = Signal(len(exponent_byte))
        m.d.comb += exponent.eq(Mux(self.style == StyleCode.FP16, exponent_byte[:EXPONENT5_BITS], exponent_byte))
        masked = Cat(Mux(self.narrow, Const(0, BF16_LACKS), fraction[:BF16_LACKS]), fraction[BF16_LACKS:])
        kept, kept_integer = Signal(), Signal()
        if self.is_src_b:
            m.d.comb += [
                kept.eq(self.keep_zeros | self.keep_denormals & masked.any()),
                kept_integer.eq(self.keep_zeros | self.keep_denormals),
            ]
        m.d.comb += self.o.sign.eq(self.word[-1])
        with m.If(self.style == StyleCode.INT8):
            counts = exponent_byte.any() | kept_integer if self.flushes_integers else Const(1)
            m.d.comb += self.o.magnitude.eq(Mux(counts, fraction, 0))
        with m.Elif(exponent.any() | kept):
            m.d.comb += [self.o.magnitude.eq(Cat(masked, Const(1))), self.o.exponent.eq(exponent)]
        return m
