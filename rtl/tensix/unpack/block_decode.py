"""Block floating-point datum to float: normalisation shift of the magnitude::

      datum        s | 0 0 1 m m m m          shared exponent E, no hidden bit
      float        s | E - 2 | m m m m 0 0    exponent = E - leading-zero count; the leading one becomes hidden

Ref: tt-isa-documentation 3930471, FloatBitPatterns and UNPACR_Regular; ttsim v1.10.0 for the wrapping exponent.
"""

from amaranth import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS
from bitpath.golden.tensix.declarations.numerics import BfpRange
from bitpath.rtl.tensix.dot.layouts import FORMAT_BITS
from bitpath.rtl.tensix.unpack.float_word import FloatWord, has_short_exponent
from bitpath.rtl.tensix.unpack.layouts import EXPONENT_BITS

MAGNITUDE_BITS = max(block.magnitude_bits for block in BLOCK_FLOATS.values())
"""Magnitude bits of BFP8; shorter magnitudes are its upper bits."""
SHIFTS = (4, 2, 1)
"""Levels of the normalisation shift, of 0 to 6 bits for a nonzero magnitude."""


class BlockDecode(wiring.Component):
    """A datum of sign and magnitude under its block's exponent, as BF16, or as FP16 for the 'a' variants.

    Magnitude 0 with sign 1 becomes the code of -infinity. An 'a' variant requires an exponent of at most 5 bits; others give
    an undefined result. Combinational: latency 0.

    Parameters
    ----------
    wide_range : WRAP or FLUSH, for 8-bit exponents below 0.
    short_range : WRAP or FLUSH, for 5-bit exponents below 0.

    Members
    -------
    code : In(8), the datum in its low bits
    shared : In(8), the block's exponent
    l1_format : In(4), a block floating-point format
    o : Out(FloatWord)
    """

    clocked = False

    def __init__(self, wide_range: BfpRange, short_range: BfpRange):
        self.wide_range, self.short_range = wide_range, short_range
        super().__init__(
            {
                "code": In(MAGNITUDE_BITS + 1),
                "shared": In(EXPONENT_BITS),
                "l1_format": In(FORMAT_BITS),
                "o": Out(FloatWord),
            }
        )

    def elaborate(self, platform):
        m = Module()
        sign = Signal()
        magnitude = Signal(MAGNITUDE_BITS)
        with m.Switch(self.l1_format):
            for bits in sorted({block.magnitude_bits for block in BLOCK_FLOATS.values()}):
                with m.Case(*(fmt for fmt, block in BLOCK_FLOATS.items() if block.magnitude_bits == bits)):
                    m.d.comb += [
                        sign.eq(self.code[bits]),
                        magnitude.eq(Cat(Const(0, MAGNITUDE_BITS - bits), self.code[:bits])),
                    ]

        value, zeros = magnitude, []
        for amount in SHIFTS:
            empty = Signal(name=f"empty_{amount}")
            shifted = Signal(MAGNITUDE_BITS, name=f"shifted_{amount}")
            m.d.comb += [empty.eq(~value[-amount:].any()), shifted.eq(Mux(empty, value << amount, value))]
            value = shifted
            zeros.insert(0, empty)

        short = Signal()
        flushes = Signal()
        exponent = Signal(signed(EXPONENT_BITS + 1))  # signed: at least 0 - 7
        field = Signal(FP32.exponent_bits)
        all_ones = Signal(FP32.exponent_bits)
        m.d.comb += [
            short.eq(has_short_exponent(self.l1_format)),
            flushes.eq(Mux(short, self.short_range is BfpRange.FLUSH, self.wide_range is BfpRange.FLUSH)),
            exponent.eq(self.shared - Cat(zeros)),
            all_ones.eq(Mux(short, FP16.exponent_mask, BF16.exponent_mask)),
            field.eq(exponent & all_ones),
            self.o.sign.eq(sign),
        ]
        with m.If(~magnitude.any()):
            m.d.comb += self.o.exponent.eq(Mux(sign, all_ones, 0))
        with m.Elif(~(flushes & (exponent < 0))):
            m.d.comb += [
                self.o.exponent.eq(field),
                # The leading one is the hidden bit.
                self.o.fraction.eq(Cat(Const(0, FP32.fraction_bits - (MAGNITUDE_BITS - 1)), value[:-1])),
            ]
        return m
