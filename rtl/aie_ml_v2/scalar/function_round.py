"""Rounding of the digits of a scalar function to FP32.

::

     digits       1.xxxx  or  0.1xxx      26 bits, moved up by one place in the second case
     significand  24 bits | G | sticky    moved down by one or two places where the reciprocal is subnormal

Results are at least 2**-128, so that two places suffice.
"""

from amaranth import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.formats.rounding import Rounding
from bitpath.rtl.aie_ml_v2.scalar.digit import DIGITS
from bitpath.rtl.aie_ml_v2.scalar.layouts import FunctionFlags
from bitpath.rtl.common.arithmetic.raw import SPECIAL
from bitpath.rtl.common.arithmetic.round_increment import increment

EXPONENT_BITS = 9
"""Bits of a signed exponent: from -149, of the smallest subnormal, to 149, of its reciprocal."""


class FunctionRound(wiring.Component):
    """``o = digits * 2**exponent``, rounded once to nearest even, or the special value; combinational.

    Members
    -------
    digits : In(26), the digit of weight 1 is the highest; it or the next one is 1
    sticky : In(1), 1 if the digits are not the exact result
    exponent : In(signed(9))
    special : In(SPECIAL); the sign is that of every result
    zero : In(1), 1 if the result is an exact zero
    o : Out(32), FP32
    flags : Out(FunctionFlags)
    """

    clocked = False
    digits: In(DIGITS + 1)
    sticky: In(1)
    exponent: In(signed(EXPONENT_BITS))
    special: In(SPECIAL)
    zero: In(1)
    o: Out(FP32.width)
    flags: Out(FunctionFlags)

    def elaborate(self, platform):
        m = Module()
        leading = self.digits[-1]
        normal = Cat(self.sticky, Mux(leading, self.digits, self.digits << 1)[: len(self.digits)])
        biased = Signal(signed(EXPONENT_BITS + 1))
        moved = Signal(len(normal))
        tiny, huge = biased <= 0, biased >= FP32.exponent_mask
        m.d.comb += [biased.eq(self.exponent + (FP32.bias - 1) + leading), moved.eq(normal)]
        with m.If(biased == 0):
            m.d.comb += moved.eq(Cat(normal[:2].any(), normal[2:]))
        with m.Elif(tiny):
            m.d.comb += moved.eq(Cat(normal[:3].any(), normal[3:]))
        sticky, guard, kept = moved[:2].any(), moved[2], moved[3:]
        up = increment(Rounding.RNE, odd=kept[0], guard=guard, sticky=sticky, negative=self.special.sign)
        # The hidden bit of a subnormal is 0. A carry out of the fraction adds one to the exponent.
        field = Mux(tiny, 0, biased[: FP32.exponent_bits])
        rounded = Signal(FP32.width - 1)
        m.d.comb += rounded.eq(Cat(kept[:-1], field) + up)

        flags, special = self.flags, self.special
        with m.If(special.nan):
            m.d.comb += [self.o.eq(FP32.nan_code), flags.invalid.eq(1)]
        with m.Elif(special.inf):
            m.d.comb += [self.o.eq(Cat(Const(FP32.infinity_code, FP32.width - 1), special.sign)), flags.infinity.eq(1)]
        with m.Elif(self.zero):
            m.d.comb += [self.o.eq(special.sign << FP32.width - 1), flags.zero.eq(1)]
        with m.Else():
            m.d.comb += [
                self.o.eq(Cat(Mux(huge, FP32.infinity_code, rounded), special.sign)),
                flags.infinity.eq(huge),
                flags.tiny.eq(tiny),
                flags.huge.eq(huge),
                flags.inexact.eq(huge | guard | sticky),
            ]
        return m
