"""An FP32 number as an element of a block.

Ref: amd-quark 0.13, both implementations; llvm-aie for the rounding code.
"""

from amaranth import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import MX9
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.convert.layouts import CODE_BITS, MX_EXPONENT_BITS, MxCode, MxControl
from bitpath.rtl.aie_ml_v2.convert.round_decision import RoundDecision
from bitpath.rtl.common.arithmetic.align import Align, Dropped, shift_of
from bitpath.rtl.common.pipeline.shared_instances import instantiate

MAGNITUDE_BITS = MX9.magnitude_bits
"""Kept of a significand at the shared exponent by the widest format; the others keep its upper bits."""
MAX_SHIFT = 15
"""From MAGNITUDE_BITS + 1 on a number is less than half a unit, so that the largest shift of as many bits stands for all."""
SHIFT_BITS = MAX_SHIFT.bit_length()


class MxElement(wiring.Component):
    """A float as a signed code under a block's exponent, which is no smaller than its own. Combinational.

    The significand, with its hidden bit unless it is subnormal, keeps the format's magnitude bits at the shared exponent,
    and one more below where its pair has the shift bit; what falls below is rounded, and what rounds out of the range
    becomes the largest magnitude.

    Parameters
    ----------
    flush : whether subnormals are zeros first.
    min_code : whether ``-2**m`` is in the range.

    Members
    -------
    i : In(32), FP32; exponent 255 is read as any other
    shared : In(8), the block's biased exponent
    shifted : In(1), the pair's shift bit; the float's exponent is below the shared one then
    control : In(MxControl)
    o : Out(signed(8))
    leaves : Out(1), whether the rounded number is out of the range
    """

    clocked = False
    apart = True

    def __init__(self, flush: bool, min_code: bool):
        self.flush, self.min_code = flush, min_code
        super().__init__(
            {
                "i": In(FP32.width),
                "shared": In(MX_EXPONENT_BITS),
                "shifted": In(1),
                "control": In(MxControl),
                "o": Out(signed(CODE_BITS)),
                "leaves": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        fraction = self.i[: FP32.fraction_bits]
        exponent = self.i[FP32.fraction_bits : FP32.width - 1]
        negative = self.i[-1]

        # A subnormal, which counts from exponent 1, is a place higher under exponent 0, and has no hidden bit.
        normal = Cat(fraction, 1)
        subnormal = Const(0, FP32.precision) if self.flush else Cat(0, fraction)
        significand = Mux(exponent.any(), normal, subnormal)

        fewer = Signal(range(MAGNITUDE_BITS))
        top = Signal(CODE_BITS)
        with m.Switch(self.control.block_format):
            for code in MxCode:
                with m.Case(code) if code is not MxCode.MX4 else m.Default():
                    m.d.comb += [fewer.eq(MAGNITUDE_BITS - code.fmt.magnitude_bits), top.eq(code.fmt.max_code)]
        distance = Signal(MX_EXPONENT_BITS + 1)
        # With the shift bit the exponent is below the shared one, so that the distance is not negative.
        m.d.comb += distance.eq(self.shared - exponent - self.shifted + fewer)
        align = instantiate(m, platform, "align", Align, FP32.precision, MAGNITUDE_BITS + 1, MAX_SHIFT, Dropped.STICKY)
        m.d.comb += [align.i.eq(significand), align.shift.eq(shift_of(distance, SHIFT_BITS))]
        sticky, guard, kept = align.o[0], align.o[1], align.o[2:]

        decision = instantiate(m, platform, "decision", RoundDecision, False)
        m.d.comb += [
            decision.rounding.eq(self.control.rounding),
            decision.negative.eq(negative),
            decision.odd.eq(kept[0]),
            decision.guard.eq(guard),
            decision.sticky.eq(sticky),
        ]
        # The carry makes 2**m at most, which the most negative code is.
        rounded = Signal(CODE_BITS)
        magnitude = Signal(CODE_BITS)
        above = rounded > top
        m.d.comb += [
            rounded.eq(kept + decision.up),
            self.leaves.eq(above & ~negative if self.min_code else above),
            magnitude.eq(Mux(self.leaves, top, rounded)),
            self.o.eq(Mux(negative, -magnitude, magnitude)),
        ]
        return m
