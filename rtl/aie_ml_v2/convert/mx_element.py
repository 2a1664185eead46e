"""Element of a block: an FP32 number as a signed code for a given block exponent.

::

     significand      1 fraction: 23 bits |
     shifted right by (shared - exponent - shift bit), plus the bits that the format is shorter than MX9
     window           kept: 7 bits | G | sticky          rounded; above the largest code: saturated

Ref: amd-quark 0.13, both implementations; llvm-aie for the rounding code.
"""

from amaranth import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import MX9, RoundingCode
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.convert.layouts import CODE_BITS, MX_EXPONENT_BITS, Blocks, MxCode
from bitpath.rtl.common.arithmetic.align import Align, Dropped, shift_of
from bitpath.rtl.common.arithmetic.round_increment import RoundIncrement
from bitpath.rtl.common.pipeline.shared_instances import instantiate

MAGNITUDE_BITS = MX9.magnitude_bits
"""Kept bits at the shared exponent in the widest format; the other formats keep the upper ones."""
MAX_SHIFT = 15
"""Shifts saturate here: from MAGNITUDE_BITS + 1 on the whole significand is below the guard bit."""
SHIFT_BITS = MAX_SHIFT.bit_length()
"""Bits of the saturated shift."""


class MxElement(wiring.Component):
    """Signed code of a float whose exponent is not above the block's; combinational.

    A set shift bit halves the unit of the code. A rounded number out of range saturates to the largest magnitude.

    Parameters
    ----------
    flush : True to read subnormals as zeros.
    min_code : True if ``-2**m`` is a valid code.
    blocks : the blocks whose elements it makes.

    Members
    -------
    i : In(32), FP32; exponent 255 is read like any other
    shared : In(8), the block's biased exponent
    shifted : In(1), the pair's shift bit; if set, the float's exponent must be below ``shared``; 0 without shifts
    control : In(BlockLayouts.control)
    o : Out(signed(8))
    leaves : Out(1), 1 if the rounded number is out of range
    """

    clocked = False
    apart = True

    def __init__(self, flush: bool, min_code: bool, blocks: Blocks = Blocks.MX):
        self.flush, self.min_code, self.blocks = flush, min_code, blocks
        super().__init__(
            {
                "i": In(FP32.width),
                "shared": In(MX_EXPONENT_BITS),
                "shifted": In(1),
                "control": In(blocks.layouts.control),
                "o": Out(signed(CODE_BITS)),
                "leaves": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        fraction = self.i[: FP32.fraction_bits]
        exponent = self.i[FP32.fraction_bits : FP32.width - 1]
        negative = self.i[-1]

        # A subnormal has exponent 1 and no hidden bit: under exponent 0 it is one place higher.
        normal = Cat(fraction, 1)
        subnormal = Const(0, FP32.precision) if self.flush else Cat(0, fraction)
        significand = Mux(exponent.any(), normal, subnormal)

        fewer = Signal(range(MAGNITUDE_BITS))
        top = Signal(CODE_BITS)
        formats = self.blocks.layouts.formats
        if len(formats) == 1:
            m.d.comb += [fewer.eq(MAGNITUDE_BITS - formats[0].magnitude_bits), top.eq(formats[0].max_code)]
        else:
            with m.Switch(self.control.block_format):
                for fmt in formats:
                    with m.Case(MxCode.of(fmt)) if fmt is not formats[-1] else m.Default():
                        m.d.comb += [fewer.eq(MAGNITUDE_BITS - fmt.magnitude_bits), top.eq(fmt.max_code)]
        distance = Signal(MX_EXPONENT_BITS + 1)
        # A set shift bit implies an exponent below the shared one, so the distance is not negative.
        m.d.comb += distance.eq(self.shared - exponent - self.shifted + fewer)
        align = instantiate(m, platform, "align", Align, FP32.precision, MAGNITUDE_BITS + 1, MAX_SHIFT, Dropped.STICKY)
        m.d.comb += [align.i.eq(significand), align.shift.eq(shift_of(distance, SHIFT_BITS))]
        sticky, guard, kept = align.o[0], align.o[1], align.o[2:]

        decision = instantiate(m, platform, "decision", RoundIncrement, RoundingCode, False)
        m.d.comb += [
            decision.mode.eq(self.control.rounding),
            decision.negative.eq(negative),
            decision.odd.eq(kept[0]),
            decision.guard.eq(guard),
            decision.sticky.eq(sticky),
        ]
        # A rounding carry gives at most 2**m, the magnitude of the most negative code.
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
