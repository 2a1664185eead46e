"""FP32 times a power of two to a 32-bit integer.

::

     significand     1 fraction: 23 bits
     shifted right by 158 - exponent - shift, from the top of the window
     window          kept: 32 bits | G | sticky          rounded to nearest even; beyond 32 signed bits: saturated

158 is the exponent of a number whose leading bit has weight 2**31; a larger one is beyond the window.

Ref: llvm-aie for the shift, the flags and their register.
"""

from amaranth import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.mover import WORD_BITS
from bitpath.golden.formats.catalogue import FP32, Rounding
from bitpath.rtl.aie_ml_v2.floats.layouts import SHIFT, TO_FIX_FLAGS, TO_FLOAT_FLAGS, ShiftControl
from bitpath.rtl.common.arithmetic.align import Align, Dropped, shift_of
from bitpath.rtl.common.arithmetic.decode import Decode, raw_sum
from bitpath.rtl.common.arithmetic.normalize import Normalize
from bitpath.rtl.common.arithmetic.round import increment
from bitpath.rtl.common.pipeline.shared_instances import instantiate

# 32-bit integer times a power of two to FP32.
#
# ::
#
#      magnitude     0001xxxx...  32 bits, shifted to its leading bit
#      rounded       1 fraction: 23 bits | G | sticky          to nearest even
#
# Ref: llvm-aie for the shift, the flags and their register.


class FixToFloat(wiring.Component):
    """``o = i * 2**-shift``, rounded once to nearest even; combinational. Every result is 0 or a normal number.

    Members
    -------
    i : In(signed(32))
    control : In(ShiftControl)
    o : Out(32), FP32
    flags : Out(TO_FLOAT_FLAGS)
    """

    clocked = False
    apart = True
    i: In(signed(WORD_BITS))
    control: In(ShiftControl)
    o: Out(FP32.width)
    flags: Out(TO_FLOAT_FLAGS)

    def elaborate(self, platform):
        m = Module()
        # The negated shift needs one bit more.
        number = Signal(raw_sum(WORD_BITS, SHIFT.width + 1))
        normalize = instantiate(m, platform, "normalize", Normalize, number.shape(), FP32.precision)
        normal = normalize.o
        up = increment(
            Rounding.RNE, odd=normal.significand[0], guard=normal.guard, sticky=normal.sticky, negative=normal.sign
        )
        biased = Signal(FP32.exponent_bits)
        rounded = Signal(FP32.width - 1)
        m.d.comb += [
            number.magnitude.eq(Mux(self.i < 0, -self.i, self.i)),
            number.exponent.eq(-self.control.shift),
            number.sign.eq(self.i < 0),
            normalize.i.eq(number),
            # The exponents lie from -31 to 63; a carry out of the fraction adds one.
            biased.eq(normal.exponent + FP32.bias),
            rounded.eq(Cat(normal.significand[:-1], biased) + up),
            self.o.eq(Mux(normal.zero, 0, Cat(rounded, normal.sign))),
            self.flags.zero.eq(normal.zero),
            self.flags.inexact.eq(normal.guard | normal.sticky),
        ]
        return m


TOP_EXPONENT = FP32.bias + WORD_BITS - 1
"""Exponent of a number whose leading bit is at the top of the window."""
MAX_SHIFT = 63
"""Shifts saturate here: from 34 on the whole significand is below the guard bit."""
SHIFT_BITS = MAX_SHIFT.bit_length()
LIMIT = (1 << WORD_BITS - 1) - 1
"""The largest integer."""


class FloatToFix(wiring.Component):
    """``o = i * 2**shift``, rounded once to nearest even and saturated; combinational. NaN gives the largest integer.

    Members
    -------
    i : In(32), FP32; subnormals count
    control : In(ShiftControl)
    o : Out(signed(32))
    flags : Out(TO_FIX_FLAGS)
    """

    clocked = False
    apart = True
    i: In(FP32.width)
    control: In(ShiftControl)
    o: Out(signed(WORD_BITS))
    flags: Out(TO_FIX_FLAGS)

    def elaborate(self, platform):
        m = Module()
        decode = instantiate(m, platform, "decode", Decode, (FP32,))
        number = decode.o
        # The places are -127 to 189. Exponent 255 is beyond the window with every shift, so that infinity needs no
        # case.
        places = Signal(signed(FP32.exponent_bits + 1))
        align = instantiate(m, platform, "align", Align, FP32.precision, WORD_BITS + 1, MAX_SHIFT, Dropped.STICKY)
        sticky, guard, kept = align.o[0], align.o[1], align.o[2:]
        up = increment(Rounding.RNE, odd=kept[0], guard=guard, sticky=sticky, negative=Const(0))
        # A number that is rounded was shifted right, which leaves room for the carry.
        rounded = Signal(WORD_BITS)
        beyond = Signal()
        m.d.comb += [
            decode.code.eq(self.i),
            places.eq(TOP_EXPONENT - number.exponent - self.control.shift),
            align.i.eq(number.significand),
            align.shift.eq(shift_of(places[: FP32.exponent_bits], SHIFT_BITS)),
            rounded.eq(kept + up),
            # Only the negative integer fits at magnitude 2**31.
            beyond.eq((places < 0) | (rounded[-1] & (~number.sign | rounded[:-1].any()))),
        ]
        with m.If(number.nan):
            m.d.comb += self.o.eq(LIMIT)
        with m.Elif(beyond):
            m.d.comb += self.o.eq(Mux(number.sign, ~LIMIT, LIMIT))
        with m.Else():
            m.d.comb += self.o.eq(Mux(number.sign, -rounded, rounded))
        m.d.comb += [
            self.flags.zero.eq(~self.o.any()),
            self.flags.invalid.eq(number.nan),
            self.flags.inexact.eq(number.nan | beyond | guard | sticky),
            self.flags.huge.eq(beyond & ~number.nan),
        ]
        return m
