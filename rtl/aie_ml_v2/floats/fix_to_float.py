"""32-bit integer times a power of two to FP32.

::

     magnitude     0001xxxx...  32 bits, shifted to its leading bit
     rounded       1 fraction: 23 bits | G | sticky          to nearest even

Ref: llvm-aie for the shift, the flags and their register.
"""

from amaranth import Cat, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.scalar import WORD_BITS
from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.formats.rounding import Rounding
from bitpath.rtl.aie_ml_v2.floats.layouts import SHIFT, TO_FLOAT_FLAGS, ShiftControl
from bitpath.rtl.common.arithmetic.normalize import Normalize
from bitpath.rtl.common.arithmetic.raw import raw_sum
from bitpath.rtl.common.arithmetic.round_increment import increment
from bitpath.rtl.common.pipeline.shared_instances import instantiate


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
