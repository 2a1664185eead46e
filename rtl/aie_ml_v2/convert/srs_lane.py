"""SRS lane: ``o = saturate(round(i / 2**shift))`` of one accumulator lane.

::

     i shifted left by LEFT (4):   sign-extended lane | 0 0 0 0
     shifted right by shift + 4:           kept bits  | G | sticky          kept: width + 4 bits

Ref: AM027, "Fixed-Point SRS and UPS Conversions"; UG1583 for rounding and saturation codes and for negative shifts.
"""

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import SRS_MODES, SRS_SHIFTS, RoundingCode, Saturation
from bitpath.rtl.aie_ml_v2.convert.layouts import SrsControl
from bitpath.rtl.common.arithmetic.align import Align, Dropped
from bitpath.rtl.common.arithmetic.round_increment import RoundIncrement
from bitpath.rtl.common.pipeline.shared_instances import instantiate

LEFT = -SRS_SHIFTS.start
"""The largest left shift, in bits."""
MAX_SHIFT = SRS_SHIFTS.stop - 1 + LEFT
"""The largest right shift after the fixed left shift by LEFT."""


class SrsLane(wiring.Component):
    """``i / 2**shift`` rounded to an integer of 8, 16 or 32 bits; combinational.

    Left shifts (negative ``shift``) are exact. Without saturation the high bits are discarded.

    Parameters
    ----------
    width : bits of the accumulator lane, 32 or 64. A lane of 64 bits also converts sign-extended 32-bit accumulators.

    Members
    -------
    i : In(signed(width))
    control : In(SrsControl)
    o : Out(16), Out(32) if width is 64; the element is in the low bits, zeros above
    overflow : Out(1), 1 if ``o`` is not the rounded number
    """

    clocked = False
    apart = True

    def __init__(self, width: int):
        self.width = width
        super().__init__(
            {
                "i": In(signed(width)),
                "control": In(SrsControl),
                "o": Out(max(SRS_MODES[width])),
                "overflow": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        control = self.control
        kept_width = self.width + LEFT
        # Align keeps kept_width bits and the guard bit, and appends the sticky bit.
        align = instantiate(
            m, platform, "align", Align, kept_width, kept_width + 1, MAX_SHIFT, Dropped.STICKY, twos_complement=True
        )
        m.d.comb += [
            align.i.eq(Cat(Const(0, LEFT), self.i).as_signed()),
            align.shift.eq(control.shift + LEFT),
        ]
        sticky, guard, kept = align.o[0], align.o[1], align.o[2:]
        decision = instantiate(m, platform, "decision", RoundIncrement, RoundingCode, True)
        m.d.comb += [
            decision.mode.eq(control.rounding),
            decision.negative.eq(kept[-1]),
            decision.odd.eq(kept[0]),
            decision.guard.eq(guard),
            decision.sticky.eq(sticky),
        ]
        # A rounded number was shifted right by at least 1 bit, which leaves room for the carry.
        rounded = Signal(signed(kept_width))
        m.d.comb += rounded.eq(kept.as_signed() + decision.up)

        saturates = control.saturation != Saturation.NONE
        symmetric = control.saturation == Saturation.SYMMETRIC
        sizes = {(acc64, wide): bits for acc64, acc in enumerate((32, 64)) for wide, bits in enumerate(SRS_MODES[acc])}
        with m.Switch(Cat(control.wide, control.acc64)):
            for bits in sorted(set(sizes.values())):
                if bits > len(self.o):
                    continue
                codes = [acc64 << 1 | wide for (acc64, wide), size in sizes.items() if size == bits]
                with m.Case(*codes):
                    self._fit(m, rounded, bits, saturates, symmetric)
        return m

    def _fit(self, m: Module, rounded: Value, bits: int, saturates: Value, symmetric: Value) -> None:
        """Drive the outputs for a result of ``bits`` bits."""
        highest, lowest = (1 << bits - 1) - 1, -(1 << bits - 1)
        limit = Signal(bits, name=f"limit_{bits}")
        outside = Signal(name=f"outside_{bits}")
        negative = rounded[-1]
        with m.If(self.control.is_signed):
            m.d.comb += [
                outside.eq((rounded < Mux(symmetric, -highest, lowest)) | (rounded > highest)),
                limit.eq(Mux(negative, Mux(symmetric, -highest, lowest), highest)),
            ]
        with m.Else():
            m.d.comb += [outside.eq(rounded[bits:].any()), limit.eq(Mux(negative, 0, (1 << bits) - 1))]
        m.d.comb += [
            self.o.eq(Mux(saturates & outside, limit, rounded[:bits])),
            self.overflow.eq(outside),
        ]
