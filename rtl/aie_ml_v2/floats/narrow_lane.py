"""FP32 to BF16, FP16 or an 8-bit float: one shifter and one rounding for all formats.

::

     significand   1 fraction: 23 bits |
     shifted right by 11 - precision, and by emin - exponent below the smallest normal number
     window        kept: 11 bits | G | N | sticky        code = (exponent field << fraction bits) + kept + increment

G, N and sticky round the kept bits; a carry out of the fraction increments the exponent field. Below the smallest normal
number the unbounded result has one more bit, G: it reaches that number if all its bits are 1 and N and sticky round it up.

Ref: FP32 to BF16 as measured on first-generation silicon in all ten rounding codes; llvm-aie for the shift operand;
AM029 for the flags and for two saturation bits.
"""

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode
from bitpath.golden.aie_ml_v2.declarations.status import NARROW_FLAGS
from bitpath.golden.formats.catalogue import FP16, FP32, FloatFormat, Specials
from bitpath.rtl.aie_ml_v2.floats.layouts import FloatCode, NarrowControl, flags_layout
from bitpath.rtl.common.arithmetic.align import Align, Dropped, shift_of
from bitpath.rtl.common.arithmetic.round_increment import RoundIncrement
from bitpath.rtl.common.pipeline.shared_instances import instantiate

KEPT_BITS = FP16.precision
"""Kept bits of the most precise format; the others keep the upper ones."""
MAX_SHIFT = 15
"""Shifts saturate here: from KEPT_BITS + 2 on the whole significand is sticky."""
CODE_BITS = FP32.exponent_bits + FP16.fraction_bits + 1
"""Bits of a code whose exponent field has no largest value, with a carry."""


class NarrowLane(wiring.Component):
    """Code of an FP32 number in a format chosen at run time; combinational.

    Members
    -------
    i : In(32), FP32
    control : In(NarrowControl)
    o : Out(16), the code in the low bits, zeros above
    flags : Out(flags of NARROW_FLAGS)
    """

    clocked = False
    apart = True

    i: In(FP32.width)
    control: In(NarrowControl)
    o: Out(FP16.width)
    flags: Out(flags_layout(NARROW_FLAGS.bits))

    def elaborate(self, platform):
        m = Module()
        control, sign = self.control, self.i[-1]
        fraction, field = self.i[: FP32.fraction_bits], self.i[FP32.fraction_bits : -1]
        normal = field.any()
        finite = ~field.all()

        fewer = Signal(range(KEPT_BITS))
        above = Signal(signed(FP32.exponent_bits + 2))  # exponents above the smallest normal number's
        self._formats(m, fewer, above, Mux(normal, field, 1))
        below = above[-1]
        distance = Signal(FP32.exponent_bits + 1)
        align = instantiate(m, platform, "align", Align, FP32.precision, KEPT_BITS + 2, MAX_SHIFT, Dropped.STICKY)
        m.d.comb += [
            distance.eq(fewer + Mux(below, -above, 0)),
            align.i.eq(Cat(fraction, normal)),
            align.shift.eq(shift_of(distance, MAX_SHIFT.bit_length())),
        ]
        sticky, following, guard, kept = align.o[0], align.o[1], align.o[2], align.o[3:]
        # The decision for the result, and that for a number with one more bit, which is 1.
        decisions = [instantiate(m, platform, name, RoundIncrement, RoundingCode, False) for name in ("round", "finer")]
        for decision in decisions:
            m.d.comb += [decision.mode.eq(control.rounding), decision.negative.eq(sign)]
        rounding, finer = decisions
        m.d.comb += [
            rounding.odd.eq(kept[0]),
            rounding.guard.eq(guard),
            rounding.sticky.eq(following | sticky),
            finer.odd.eq(1),
            finer.guard.eq(following),
            finer.sticky.eq(sticky),
        ]

        code = Signal(FP16.width)
        leading = Mux(below, 0, above[: FP32.exponent_bits])
        with m.Switch(control.target):
            for each in FloatCode:
                with m.Case(each) if each is not FloatCode.E5M2FNUZ else m.Default():
                    bits = each.fmt.fraction_bits
                    rounded = Signal(CODE_BITS, name=f"rounded_{each.fmt.name.lower()}")
                    m.d.comb += rounded.eq((leading << bits) + kept + rounding.up)
                    self._result(m, each.fmt, code, rounded, fraction, finite)
                    reaches = kept[bits] | (kept[:bits].all() & guard & finer.up)
                    m.d.comb += self.flags.tiny.eq(finite & self.i[:-1].any() & ~reaches)
        m.d.comb += [
            self.flags.zero.eq(~code.any()),
            self.flags.invalid.eq(~finite & fraction.any()),
        ]
        return m

    def _formats(self, m: Module, fewer: Signal, above: Signal, biased: Value) -> None:
        """Drive the places by which a format is shorter, and the exponent above that of its smallest normal number."""
        with m.Switch(self.control.target):
            for each in FloatCode:
                fmt = each.fmt
                shift = self.control.shift if fmt.width == FP16.width // 2 else 0
                with m.Case(each) if each is not FloatCode.E5M2FNUZ else m.Default():
                    m.d.comb += [
                        fewer.eq(KEPT_BITS - fmt.precision),
                        above.eq(biased + shift - (fmt.emin + FP32.bias)),
                    ]

    def _result(
        self, m: Module, fmt: FloatFormat, code: Signal, rounded: Signal, fraction: Value, finite: Value
    ) -> None:
        """Drive the code without sign, the output, and the flags of the upper end of a format."""
        largest, beyond = fmt.max_code, fmt.max_code + 1  # infinity, or NaN where there is none
        saturates_finite, saturates_infinite = self.control.saturation
        ieee = fmt.specials is Specials.IEEE
        payload = fraction[-fmt.fraction_bits :]
        nan = beyond | Mux(payload.any(), payload, 1) if ieee else beyond
        with m.If(~finite & fraction.any()):
            m.d.comb += code.eq(nan)
        with m.Elif(~finite):
            m.d.comb += code.eq(Mux(saturates_infinite, largest, beyond))
        with m.Elif(rounded > largest):
            m.d.comb += [code.eq(Mux(saturates_finite, largest, beyond)), self.flags.huge.eq(1)]
        with m.Else():
            m.d.comb += code.eq(rounded)
        sign = self.i[-1]
        if fmt.specials is Specials.UNSIGNED_ZERO:
            # Neither zero nor NaN has a sign.
            sign = sign & code[: fmt.width - 1].any()
        m.d.comb += [
            self.flags.infinity.eq(code == beyond if ieee else Const(0)),
            self.o.eq(code | (sign << fmt.width - 1)),
        ]
