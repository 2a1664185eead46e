"""Exponent compare: the largest exponent code of terms and accumulators, and each one's distance to it.

``exponent = max(codes)``, ``shifts[k] = min(exponent - code[k], 2**shift_bits - 1)``. Code p weighs ``2**(p - 255)``:
``ea + eb + 1`` for a product, ``e + 128`` for an accumulator of biased exponent e, 0 for a term that takes no part.
Combinational (cycle 4, floats 5).

Ref: AM027, chapter 4, which calls it BFCOMP.
"""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.mac.config import DEPTH, EXPONENT_BITS, LANE_BITS, MacControl, MacLaneConfig, TermPlan
from bitpath.rtl.common.arithmetic.align import MaxDistance
from bitpath.rtl.common.arithmetic.decode import SPECIAL
from bitpath.rtl.common.pipeline.shared_instances import instantiate

ACCUMULATORS = 2
"""Accumulators that one instruction adds."""
ACCUMULATOR_OFFSET = FP32.bias + 1
"""Exponent code of an accumulator less its biased exponent."""


def used_accumulators(control: data.View) -> tuple[Value, Value]:
    """Return the bits that enable acc1 and acc2."""
    return ~control.zero_acc1, control.use_acc2


class Compare(wiring.Component):
    """Largest exponent, alignment shifts, and NaN and infinity of the sum; combinational.

    Zeros and unused accumulators take no part in the maximum; their shifts are don't-cares.

    Parameters
    ----------
    config : MacLaneConfig, the numerics and the supported modes.

    Members
    -------
    terms : In(TermPlan.terms)
    acc1, acc2 : In(32), FP32 codes
    control : In(MacControl)
    exponent : Out(9), 0 if no term takes part
    shifts : Out(ArrayLayout(shift_bits, 8)), of the terms
    acc_shifts : Out(ArrayLayout(shift_bits, 2)), of the accumulators
    special : Out(SPECIAL), NaN or signed infinity of the sum
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
            # A NaN also raises an infinity flag here; NaN takes precedence over infinity.
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
