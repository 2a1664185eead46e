"""BF16 times a power of two to INT32: rounded down, saturated.

::

     significand at the top of 32 bits      1 fraction: 7 bits | 24 zeros
     shifted right by 158 - exponent field - shift             magnitude: 32 bits | sticky

A negative number is ``-(magnitude + sticky)``. A shift below 0, and a magnitude above the range, saturate by the sign.

Ref: measured on first-generation silicon; AM029 for the flags.
"""

from amaranth import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.status import FLOOR_FLAGS
from bitpath.golden.formats.catalogue import BF16
from bitpath.rtl.aie_ml_v2.floats.layouts import ShiftControl, flags_layout
from bitpath.rtl.common.arithmetic.align import Align, Dropped, shift_of
from bitpath.rtl.common.pipeline.shared_instances import instantiate

INTEGER_BITS = 32
HIGHEST_PLACE = BF16.bias + INTEGER_BITS - 1
"""Exponent field of 2**31, whose leading bit is the highest of the magnitude."""
MAX_SHIFT = 63
"""Shifts saturate here: from INTEGER_BITS on the whole significand is sticky."""


class FloorLane(wiring.Component):
    """INT32 of a BF16 number; NaN gives ``2**31 - 1``; combinational.

    Members
    -------
    i : In(16), BF16
    control : In(ShiftControl)
    o : Out(32), INT32
    flags : Out(flags of FLOOR_FLAGS)
    """

    clocked = False
    apart = True

    i: In(BF16.width)
    control: In(ShiftControl)
    o: Out(INTEGER_BITS)
    flags: Out(flags_layout(FLOOR_FLAGS.bits))

    def elaborate(self, platform):
        m = Module()
        sign, fraction, field = self.i[-1], self.i[: BF16.fraction_bits], self.i[BF16.fraction_bits : -1]
        normal = field.any()
        nan = field.all() & fraction.any()
        distance = Signal(signed(BF16.exponent_bits + 1))
        align = instantiate(m, platform, "align", Align, BF16.precision, INTEGER_BITS, MAX_SHIFT, Dropped.STICKY)
        m.d.comb += [
            distance.eq(HIGHEST_PLACE - Mux(normal, field, 1) - self.control.shift),
            align.i.eq(Cat(fraction, normal)),
            align.shift.eq(shift_of(distance[:-1], MAX_SHIFT.bit_length())),
        ]
        sticky, magnitude = align.o[0], align.o[1:]
        top, rest = magnitude[-1], magnitude[:-1].any() | sticky
        beyond = Signal()
        # Of the magnitudes with a leading bit at the top, only -2**31 is in the range.
        m.d.comb += beyond.eq(~nan & (distance[-1] | (top & (~sign | rest))))
        limit = Cat((~sign).replicate(INTEGER_BITS - 1), sign)
        with m.If(nan):
            m.d.comb += self.o.eq(Cat(Const(-1, INTEGER_BITS - 1), 0))
        with m.Elif(beyond):
            m.d.comb += self.o.eq(limit)
        with m.Else():
            m.d.comb += self.o.eq(Mux(sign, ~magnitude + ~sticky, magnitude))
        zero = ~self.o.any()
        m.d.comb += [
            self.flags.zero.eq(zero),
            self.flags.invalid.eq(nan),
            self.flags.tiny.eq(zero & self.i[:-1].any()),
            self.flags.huge.eq(beyond),
        ]
        return m
