"""Common layout of floats of every format, for the steps of the unpacker and the packer."""

from amaranth import Cat, Const, Module, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, E5M2, FP16, FP32, TF32, FloatFormat
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, EXPONENT5_FORMATS, Format

FIELDS = {
    Format.FP32: FP32,
    Format.TF32: TF32,
    Format.BF16: BF16,
    Format.FP16: FP16,
    Format.FP8: E5M2,
}
"""Fields of the formats whose datums have their own exponent."""

DATUM_BITS = {
    Format.FP32: 32,
    Format.TF32: 32,
    Format.INT32: 32,
    Format.FP16: 16,
    Format.BF16: 16,
    Format.INT16: 16,
    Format.FP8: 8,
    Format.INT8: 8,
    **{fmt: block.datum_bits for fmt, block in BLOCK_FLOATS.items()},
}
"""Bits of a datum in L1, by format."""


class FloatWord(data.Struct):
    """A float with the fields of its format, neither decoded nor rounded::

          bit     31    30 ....... 23         22 ............... 0
          FP32    sign  exponent              fraction
          FP16    sign  0 0 0 | 5 bits        10 bits | 13 zeros

    The fraction is left-aligned and the exponent right-aligned, so that codes order as in the format and a carry out of the
    fraction increments the exponent. An integer uses the 31 bits below the sign as its magnitude.
    """

    fraction: FP32.fraction_bits
    exponent: FP32.exponent_bits
    sign: 1


def float_word(code: Value, fmt: FloatFormat) -> Value:
    """Return the bits of the `FloatWord` of a code."""
    return Cat(
        Const(0, FP32.fraction_bits - fmt.fraction_bits),
        code[: fmt.fraction_bits],
        code[fmt.fraction_bits : fmt.fraction_bits + fmt.exponent_bits],
        Const(0, FP32.exponent_bits - fmt.exponent_bits),
        code[fmt.width - 1],
    )


def float_code(word: data.View, fmt: FloatFormat) -> Value:
    """Return the code of a `FloatWord`; fraction bits that the format lacks are truncated."""
    return Cat(word.fraction[-fmt.fraction_bits :], word.exponent[: fmt.exponent_bits], word.sign)


def has_short_exponent(fmt: Value) -> Value:
    """Return 1 if the format with this code has 5 exponent bits."""
    return fmt.matches(*EXPONENT5_FORMATS)


# 8-bit exponent to 5-bit exponent: FP32 to the range of FP16.
#
# ``exponent - 112``, saturated. Ref: ttsim v1.10.0, for FP32ToFP16, which tt-isa-documentation 3930471 leaves undefined.


REBIAS = FP32.bias - FP16.bias
"""Difference of the biases of 8-bit and 5-bit exponents, 112."""


class NarrowExponent(wiring.Component):
    """A float with an 8-bit exponent as one with a 5-bit exponent; the fraction keeps its length.

    Overflow sets all exponent and fraction bits; underflow gives a zero of its sign. A rebiased exponent of exactly 0 keeps its
    fraction. It is combinational, with latency 0.

    Members
    -------
    i : In(FloatWord)
    o : Out(FloatWord)
    """

    clocked = False
    i: In(FloatWord)
    o: Out(FloatWord)

    def elaborate(self, platform):
        m = Module()
        # 9 signed bits hold the difference: REBIAS is below 2**8.
        exponent = Signal(signed(FP32.exponent_bits + 1))
        m.d.comb += [
            exponent.eq(self.i.exponent - REBIAS),
            self.o.sign.eq(self.i.sign),
        ]
        with m.If(exponent > FP16.exponent_mask):
            m.d.comb += [self.o.exponent.eq(FP16.exponent_mask), self.o.fraction.eq(FP32.fraction_mask)]
        with m.Elif(exponent >= 0):
            m.d.comb += [self.o.exponent.eq(exponent), self.o.fraction.eq(self.i.fraction)]
        return m
