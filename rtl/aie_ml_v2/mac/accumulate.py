"""Final adder of a lane: aligned floating-point terms, or integers (cycle 5, floats 6).

``total = sum((-1)**negative[k] * (magnitude[k] + up[k]))``, exact in ``TermPlan.total_bits``;
``integer_total = +-product_sum +- (acc1 << 16 if shift16 else acc1) +- acc2`` modulo 2**32. Of a lane of 64 bits, the lower
half adds the ones that complete the negations, and hands its carry, at most 3, to the upper half::

     upper half    ~products + ~acc1 + ~acc2 + carry <--+-- lower half    ~products + ~acc1 + ~acc2 + 3

Combinational.
"""

from amaranth import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.aie_ml_v2.mac.align_to_max import aligned_layout
from bitpath.rtl.aie_ml_v2.mac.compare import ACCUMULATORS, used_accumulators
from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig
from bitpath.rtl.aie_ml_v2.mac.layouts import LANE_BITS, MacControl
from bitpath.rtl.aie_ml_v2.mac.term_plan import TermPlan
from bitpath.rtl.common.arithmetic.add_tree import AddTree

SHIFT16 = 16
"""Left shift of acc1 that ``MacControl.shift16`` selects."""
CARRY_BITS = 2
"""2 bits hold the carry of three addends and three ones: at most 3."""


class Accumulate(wiring.Component):
    """Sum of the aligned terms, and sum of integer products and accumulators; combinational.

    Parameters
    ----------
    config : MacLaneConfig, the numerics and the supported modes.

    Members
    -------
    wide, narrow : In(aligned_layout)
    product_sum, acc1, acc2 : In(32), integers
    control : In(MacControl)
    total : Out(signed(total_bits)), the exact sum of the terms
    integer_total : Out(32), the integer sum, which wraps
    upper, carry_in, acc1_below : In(1), In(2), In(16), in a chained lane: 1 for the upper half of a 64-bit lane, which adds the
        carry and takes the bits that ``shift16`` moves up from the lower half's acc1
    carry_out : Out(2), in a chained lane
    """

    clocked = False

    def __init__(self, config: MacLaneConfig):
        self.config = config
        self.plan = plan = TermPlan(config)
        chain = {"upper": In(1), "carry_in": In(CARRY_BITS), "acc1_below": In(SHIFT16), "carry_out": Out(CARRY_BITS)}
        super().__init__(
            {
                "wide": In(aligned_layout(plan.wide_aligned, plan.mx_terms)),
                "narrow": In(aligned_layout(plan.narrow_aligned, plan.narrow + ACCUMULATORS)),
                "product_sum": In(LANE_BITS),
                "acc1": In(LANE_BITS),
                "acc2": In(LANE_BITS),
                "control": In(MacControl),
                "total": Out(signed(plan.total_bits)),
                "integer_total": Out(LANE_BITS),
                **(chain if config.chained else {}),
            }
        )

    def elaborate(self, platform):
        m = Module()
        plan, control = self.plan, self.control
        m.submodules.wide_tree = wide = AddTree(plan.mx_terms, plan.wide_aligned)
        m.submodules.narrow_tree = narrow = AddTree(plan.narrow + ACCUMULATORS, plan.narrow_aligned)
        for tree, terms in ((wide, self.wide), (narrow, self.narrow)):
            m.d.comb += [tree.magnitude.eq(terms.magnitude), tree.up.eq(terms.up), tree.sign.eq(terms.negative)]
        m.d.comb += self.total.eq(wide.o + narrow.o)

        use_acc1, use_acc2 = used_accumulators(control)
        below = self.acc1_below & self.upper.replicate(SHIFT16) if self.config.chained else Const(0, SHIFT16)
        first = Mux(control.shift16, Cat(below, self.acc1[: LANE_BITS - SHIFT16]), self.acc1)
        addends = [
            (self.product_sum, control.negate_products),
            (Mux(use_acc1, first, 0), control.negate_acc1),
            (Mux(use_acc2, self.acc2, 0), control.negate_acc2),
        ]
        inverted = [(value ^ negate.replicate(LANE_BITS))[:LANE_BITS] for value, negate in addends]
        ones = Signal(CARRY_BITS)
        total = Signal(LANE_BITS + CARRY_BITS, name="with_carry")
        negations = sum((negate for _, negate in addends[1:]), addends[0][1])
        m.d.comb += [
            ones.eq(Mux(self.upper, self.carry_in, negations) if self.config.chained else negations),
            total.eq(inverted[0] + inverted[1] + inverted[2] + ones),
            self.integer_total.eq(total),
        ]
        if self.config.chained:
            m.d.comb += self.carry_out.eq(total[LANE_BITS:])
        return m
