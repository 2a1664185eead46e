"""Float to a block floating-point datum, under the exponent that its block shares::

      significand    h . f f f f f f f            8 bits; the hidden bit h is 0 if the exponent is 0
      shifted        0 . m m m m m m m | guard | sticky      right by 1 + shared - exponent
      BFP8           s m m m m m m m              magnitude rounded to 7 bits and clamped to 127
      BFP4, BFP2     s m m m,  s m                its upper bits

Ref: tt-isa-documentation 3930471, Packers/FormatConversion; ttsim v1.10.0 for the clamp and the sign.
"""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS
from bitpath.rtl.common.arithmetic.round_increment import increment
from bitpath.rtl.tensix.dot.layouts import FORMAT_BITS
from bitpath.rtl.tensix.unpack.float_word import FloatWord
from bitpath.rtl.tensix.unpack.layouts import EXPONENT_BITS

MAGNITUDE_BITS = max(block.magnitude_bits for block in BLOCK_FLOATS.values())
"""Magnitude bits of BFP8; shorter magnitudes are its upper bits."""
BLOCK_FRACTION_BITS = 7
"""Fraction bits of the float that become a datum."""
SIGNIFICAND_BITS = BLOCK_FRACTION_BITS + 1
MAX_SHIFT = SIGNIFICAND_BITS + 1
"""At this shift a significand is below half a unit and rounds to 0: longer shifts saturate to it."""


class BlockEncode(wiring.Component):
    """A float as sign and magnitude under the shared exponent of its block.

    ``magnitude = min(127, round(significand / 2**(1 + shared - exponent)))``. ``shared`` must not be below the float's own
    exponent. A zero magnitude has sign 0. Combinational: latency 0.

    Parameters
    ----------
    tie : rounding mode; on magnitudes, RNU and RNA are the same.

    Members
    -------
    i : In(FloatWord)
    shared : In(8)
    out_format : In(4)
    o : Out(8), the datum in its low bits
    """

    clocked = False

    def __init__(self, tie: Rounding):
        self.tie = tie
        super().__init__(
            {
                "i": In(FloatWord),
                "shared": In(EXPONENT_BITS),
                "out_format": In(FORMAT_BITS),
                "o": Out(MAGNITUDE_BITS + 1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        distance = Signal(EXPONENT_BITS)
        shift = Signal(range(MAX_SHIFT + 1))
        significand = Cat(self.i.fraction[-BLOCK_FRACTION_BITS:], self.i.exponent.any())
        shifted = Signal(SIGNIFICAND_BITS + MAX_SHIFT)
        m.d.comb += [
            distance.eq(self.shared - self.i.exponent),
            shift.eq(Mux(distance > MAX_SHIFT - 1, MAX_SHIFT, distance + 1)),
            shifted.eq(Cat(Const(0, MAX_SHIFT), significand) >> shift),
        ]
        # The shift is at least 1, so the integer part has 7 bits, and 8 when rounding carries out.
        whole = shifted[MAX_SHIFT:]
        guard = shifted[MAX_SHIFT - 1]
        sticky = shifted[: MAX_SHIFT - 1].any()
        up = increment(self.tie, odd=whole[0], guard=guard, sticky=sticky, negative=Const(0))
        rounded = Signal(SIGNIFICAND_BITS)
        magnitude = Signal(MAGNITUDE_BITS)
        m.d.comb += [
            rounded.eq(whole + up),
            magnitude.eq(Mux(rounded[MAGNITUDE_BITS], (1 << MAGNITUDE_BITS) - 1, rounded)),
        ]
        with m.Switch(self.out_format):
            for bits in sorted({block.magnitude_bits for block in BLOCK_FLOATS.values()}):
                with m.Case(*(fmt for fmt, block in BLOCK_FLOATS.items() if block.magnitude_bits == bits)):
                    upper = magnitude[-bits:]
                    m.d.comb += self.o.eq(Cat(upper, self.i.sign & upper.any()))
        return m
