"""The exponent compare: the largest exponent code of a lane, and how far everything is shifted to stand there.

Ref: AM027, chapter 4, which calls it BFCOMP.
"""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig
from bitpath.rtl.aie_ml_v2.mac.layouts import DEPTH, LANE_BITS, MacControl
from bitpath.rtl.aie_ml_v2.mac.term_plan import EXPONENT_BITS, TermPlan
from bitpath.rtl.common.arithmetic.max_distance import MaxDistance
from bitpath.rtl.common.arithmetic.raw import SPECIAL
from bitpath.rtl.common.pipeline.shared_instances import instantiate

ACCUMULATORS = 2
ACCUMULATOR_OFFSET = FP32.bias + 1
"""What makes an accumulator's biased exponent its code."""


def used_accumulators(control: data.View) -> tuple[Value, Value]:
    """Whether acc1 and acc2 are added."""
    return ~control.zero_acc1, control.use_acc2


class Compare(wiring.Component):
    """The largest exponent among terms and accumulators; their shifts; NaN and infinity of the sum. Combinational.

    What is 0 or not there takes no part, and may be shifted by anything.

    Parameters
    ----------
    config : numerics and modes.

    Members
    -------
    terms : In(TermPlan.terms)
    acc1, acc2 : In(32), FP32 codes
    control : In(MacControl)
    exponent : Out(9), 0 where nothing takes part
    shifts : Out(ArrayLayout(shift_bits, 8)), acc_shifts : Out(ArrayLayout(shift_bits, 2))
    special : Out(SPECIAL)
    """

    clocked = False

    def __init__(self, config: MacLaneConfig):
        self.plan = TermPlan(config)
        super().__init__(
            {
                "terms": In(self.plan.terms),
                "acc1": In(LANE_BITS),
                "acc2": In(LANE_BITS),
                "control": In(MacControl),
                "exponent": Out(EXPONENT_BITS),
                "shifts": Out(data.ArrayLayout(self.plan.shift_bits, DEPTH)),
                "acc_shifts": Out(data.ArrayLayout(self.plan.shift_bits, ACCUMULATORS)),
                "special": Out(SPECIAL),
            }
        )

    def elaborate(self, platform):
        m = Module()
        control, terms = self.control, self.terms
        exponents = [terms.exponents[k] for k in range(DEPTH)]
        nan, plus, minus = [terms.nan], [terms.plus_inf], [terms.minus_inf]
        used = used_accumulators(control)
        negate = (control.negate_acc1, control.negate_acc2)
        for k, acc in enumerate((self.acc1, self.acc2)):
            biased = acc[FP32.fraction_bits : FP32.width - 1]
            exponent = Signal(EXPONENT_BITS, name=f"acc_exponent_{k}")
            sign, special = Signal(name=f"acc_sign_{k}"), Signal(name=f"acc_special_{k}")
            m.d.comb += [
                exponent.eq(
                    Mux(used[k] & acc[: FP32.width - 1].any(), Mux(biased.any(), biased, 1) + ACCUMULATOR_OFFSET, 0)
                ),
                sign.eq(acc[-1] ^ negate[k]),
                special.eq(used[k] & biased.all()),
            ]
            exponents.append(exponent)
            # A NaN may count as an infinity too, which it overrides.
            nan.append(special & acc[: FP32.fraction_bits].any())
            plus.append(special & ~sign)
            minus.append(special & sign)

        largest = instantiate(m, platform, "largest", MaxDistance, len(exponents), EXPONENT_BITS, self.plan.shift_bits)
        m.d.comb += [largest.counts.eq(~0), *(largest.i[k].eq(exponent) for k, exponent in enumerate(exponents))]
        shifts = list(largest.shifts)
        infinity_plus, infinity_minus = Cat(plus).any(), Cat(minus).any()
        m.d.comb += [
            self.exponent.eq(largest.o),
            *(self.shifts[k].eq(shift) for k, shift in enumerate(shifts[:DEPTH])),
            *(self.acc_shifts[k].eq(shift) for k, shift in enumerate(shifts[DEPTH:])),
            self.special.nan.eq(Cat(nan).any() | (infinity_plus & infinity_minus)),
            self.special.inf.eq(infinity_plus | infinity_minus),
            self.special.sign.eq(infinity_minus),
        ]
        return m
