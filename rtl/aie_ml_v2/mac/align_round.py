"""A magnitude onto the common grid, and whether it is rounded up there."""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode
from bitpath.rtl.aie_ml_v2.convert.round_decision import RoundDecision
from bitpath.rtl.common.arithmetic.align import Align, Dropped
from bitpath.rtl.common.pipeline.shared_instances import instantiate


class AlignRound(wiring.Component):
    """``o + up`` is ``i`` shifted right from the top and rounded; the adder that follows adds ``up``. Combinational.

    Parameters
    ----------
    in_width, out_width : bits of the magnitude and of the grid under its highest place.
    shift_bits : of the shift.
    rounding : code of the rounding.

    Members
    -------
    i : In(in_width), negative : In(1), its sign
    shift : In(shift_bits)
    o : Out(out_width), up : Out(1)
    """

    clocked = False

    def __init__(self, in_width: int, out_width: int, shift_bits: int, rounding: RoundingCode):
        self.in_width, self.out_width, self.shift_bits, self.rounding = in_width, out_width, shift_bits, rounding
        super().__init__(
            {"i": In(in_width), "negative": In(1), "shift": In(shift_bits), "o": Out(out_width), "up": Out(1)}
        )

    def elaborate(self, platform):
        m = Module()
        # One bit more than the grid, the guard bit, and the sticky bit below it.
        m.submodules.align = align = Align(
            self.in_width, self.out_width + 1, (1 << self.shift_bits) - 1, Dropped.STICKY
        )
        decide = instantiate(m, platform, "decide", RoundDecision, twos_complement=False)
        m.d.comb += [
            align.i.eq(self.i),
            align.shift.eq(self.shift),
            self.o.eq(align.o[2:]),
            decide.rounding.eq(self.rounding),
            decide.negative.eq(self.negative),
            decide.odd.eq(align.o[2]),
            decide.guard.eq(align.o[1]),
            decide.sticky.eq(align.o[0]),
            self.up.eq(decide.up),
        ]
        return m
