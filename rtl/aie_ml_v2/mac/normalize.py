"""Normalisation of a lane's sum: leading-zero count, normalisation shift, rounding to FP32 (cycle 6, floats 7)::

     |total|   0 ... 0 | 1 fraction: 23 bits | G | sticky ...     window of total_bits - 1 bits
                       |<--- 24 kept bits -->|

The exponent field is ``exponent - 128 - F + (place of the leading 1)`` with F = ``align_fraction_bits``, plus the rounding
carry. Rounding comes before the range check: a field of 0 or less is flushed to zero, 255 or more gives infinity. A sum
of 0 is +0, NaN is canonical; combinational.

Ref: AM027, chapter 4, which calls it FPNORM.
"""

from amaranth import Cat, Const, Module, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.mac.compare import ACCUMULATOR_OFFSET
from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig
from bitpath.rtl.aie_ml_v2.mac.term_plan import EXPONENT_BITS, TermPlan
from bitpath.rtl.common.arithmetic.normalize import Normalize
from bitpath.rtl.common.arithmetic.raw import SPECIAL, raw_sum
from bitpath.rtl.common.arithmetic.round_increment import RoundIncrement
from bitpath.rtl.common.pipeline.shared_instances import instantiate

WEIGHT_BITS = EXPONENT_BITS + 2
"""11 signed bits hold bit 0's exponent field: at least ``0 - 128 - 26`` and at most 511, with room to normalise."""


class NormalizeFp32(wiring.Component):
    """FP32 code of a sum, rounded to 24 bits; results below the normal numbers are flushed; combinational.

    Parameters
    ----------
    config : MacLaneConfig, the numerics and the supported modes.

    Members
    -------
    total : In(signed(total_bits))
    exponent : In(9), the largest exponent code
    special : In(SPECIAL), NaN or infinity, which override the sum
    o : Out(32), FP32
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
        decide = instantiate(m, platform, "decide", RoundIncrement, RoundingCode, twos_complement=False)
        normal = leading.o
        rounded = Signal(FP32.precision + 1)
        field = Signal(signed(len(normal.exponent) + 1))
        m.d.comb += [
            leading.i.magnitude.eq(abs(self.total)),
            leading.i.sign.eq(self.total[-1]),
            # The biased exponent of bit 0; Normalize adds the place of the leading 1.
            leading.i.exponent.eq(self.exponent - (ACCUMULATOR_OFFSET + numerics.align_fraction_bits)),
            decide.mode.eq(numerics.result_rounding),
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
            # The sign of a zero sum is plus.
            m.d.comb += magnitude.eq(0)
        with m.Elif(field <= 0):
            m.d.comb += [magnitude.eq(0), sign.eq(normal.sign if numerics.flushed_zero_keeps_sign else Const(0))]
        with m.Elif(field >= FP32.exponent_mask):
            m.d.comb += magnitude.eq(FP32.infinity_code)
        with m.Else():
            # A rounding carry leaves a fraction of 0, so no shift is needed.
            m.d.comb += magnitude.eq(Cat(rounded[: FP32.fraction_bits], field[: FP32.exponent_bits]))
        m.d.comb += self.o.eq(Cat(magnitude, sign))
        return m
