"""A lane's sum to FP32.

Ref: AM027, chapter 4, which calls it FPNORM.
"""

from amaranth import Cat, Const, Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.convert.round_decision import RoundDecision
from bitpath.rtl.aie_ml_v2.mac.compare import ACCUMULATOR_OFFSET
from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig
from bitpath.rtl.aie_ml_v2.mac.term_plan import EXPONENT_BITS, TermPlan
from bitpath.rtl.common.arithmetic.normalize import Normalize
from bitpath.rtl.common.arithmetic.raw import SPECIAL, raw_sum
from bitpath.rtl.common.pipeline.shared_instances import instantiate

WEIGHT_BITS = EXPONENT_BITS + 2
"""Of the exponent field that bit 0 of the sum would have: 511 at most, -26 - 128 at least, and a sign."""


class NormalizeFp32(wiring.Component):
    """The sum's 24 leading bits, rounded whatever the exponent; then what is too small is flushed. Combinational.

    A sum of 0 is +0; what has no normal number left after its rounding carry becomes a zero, and from 2**128 on it is
    infinity. NaN is canonical.

    Parameters
    ----------
    config : numerics and modes.

    Members
    -------
    total : In(signed(total_bits))
    exponent : In(9), the code of the grid
    special : In(SPECIAL)
    o : Out(32), the code
    """

    clocked = False

    def __init__(self, config: MacLaneConfig):
        self.numerics = config.numerics
        self.plan = TermPlan(config)
        super().__init__(
            {
                "total": In(signed(self.plan.total_bits)),
                "exponent": In(EXPONENT_BITS),
                "special": In(SPECIAL),
                "o": Out(FP32.width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        numerics = self.numerics
        number = raw_sum(self.plan.total_bits - 1, WEIGHT_BITS)
        m.submodules.leading = leading = Normalize(number, FP32.precision)
        decide = instantiate(m, platform, "decide", RoundDecision, twos_complement=False)
        normal = leading.o
        rounded = Signal(FP32.precision + 1)
        field = Signal(signed(len(normal.exponent) + 1))
        m.d.comb += [
            leading.i.magnitude.eq(abs(self.total)),
            leading.i.sign.eq(self.total[-1]),
            # As a biased exponent: that of the bit which normalisation finds is the result's.
            leading.i.exponent.eq(self.exponent - (ACCUMULATOR_OFFSET + numerics.align_fraction_bits)),
            decide.rounding.eq(numerics.result_rounding),
            decide.negative.eq(normal.sign),
            decide.odd.eq(normal.significand[0]),
            decide.guard.eq(normal.guard),
            decide.sticky.eq(normal.sticky),
            rounded.eq(normal.significand + decide.up),
            field.eq(normal.exponent + rounded[-1]),
        ]
        magnitude = Signal(FP32.width - 1)
        sign = Signal()
        m.d.comb += sign.eq(normal.sign)
        with m.If(self.special.nan):
            m.d.comb += [magnitude.eq(FP32.nan_code), sign.eq(0)]
        with m.Elif(self.special.inf):
            m.d.comb += [magnitude.eq(FP32.infinity_code), sign.eq(self.special.sign)]
        with m.Elif(normal.zero):
            # With the sum's sign, which is plus.
            m.d.comb += magnitude.eq(0)
        with m.Elif(field <= 0):
            m.d.comb += [magnitude.eq(0), sign.eq(normal.sign if numerics.flushed_zero_keeps_sign else Const(0))]
        with m.Elif(field >= FP32.exponent_mask):
            m.d.comb += magnitude.eq(FP32.infinity_code)
        with m.Else():
            # After a carry the fraction is 0, as it stands.
            m.d.comb += magnitude.eq(Cat(rounded[: FP32.fraction_bits], field[: FP32.exponent_bits]))
        m.d.comb += self.o.eq(Cat(magnitude, sign))
        return m
