"""Alignment shifter of one summand with its rounding decision.

``o + up = round(i * 2**(out_width - in_width - shift))``::

     i      |in_width bits|
     o           |  kept bits: out_width  | G | S      G guard bit, S OR of all bits below it
            shift^
"""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode
from bitpath.rtl.common.arithmetic.align import Align, Dropped
from bitpath.rtl.common.arithmetic.round_increment import RoundIncrement
from bitpath.rtl.common.pipeline.shared_instances import instantiate


class AlignRound(wiring.Component):
    """Right shift that keeps guard and sticky bits and decides the rounding increment; combinational.

    The adder that follows applies ``up``, which saves an incrementer per summand.

    Parameters
    ----------
    in_width, out_width : bits of the magnitude and of the kept result; the highest bits align at shift 0.
    shift_bits : width of the shift.
    rounding : rounding code of crRnd.

    Members
    -------
    i : In(in_width), the magnitude
    negative : In(1), its sign
    shift : In(shift_bits)
    o : Out(out_width), the kept bits
    up : Out(1), 1 to add one unit in the last place
    """

    clocked = False

    def __init__(self, in_width: int, out_width: int, shift_bits: int, rounding: RoundingCode):
        self.in_width, self.out_width, self.shift_bits, self.rounding = in_width, out_width, shift_bits, rounding
        super().__init__(
            {"i": In(in_width), "negative": In(1), "shift": In(shift_bits), "o": Out(out_width), "up": Out(1)}
        )

    def elaborate(self, platform):
        m = Module()
        # Align keeps out_width bits and the guard bit, and appends the sticky bit.
        m.submodules.align = align = Align(
            self.in_width, self.out_width + 1, (1 << self.shift_bits) - 1, Dropped.STICKY
        )
        decide = instantiate(m, platform, "decide", RoundIncrement, RoundingCode, twos_complement=False)
        m.d.comb += [
            align.i.eq(self.i),
            align.shift.eq(self.shift),
            self.o.eq(align.o[2:]),
            decide.mode.eq(self.rounding),
            decide.negative.eq(self.negative),
            decide.odd.eq(align.o[2]),
            decide.guard.eq(align.o[1]),
            decide.sticky.eq(align.o[0]),
            self.up.eq(decide.up),
        ]
        return m
