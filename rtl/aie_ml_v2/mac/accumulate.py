"""Final adder of a lane: aligned floating-point terms, or integers (cycle 5, floats 6).

``total = sum((-1)**negative[k] * (magnitude[k] + up[k]))``, exact in ``TermPlan.total_bits``;
``integer_total = +-product_sum +- (acc1 << 16 if shift16 else acc1) +- acc2`` modulo 2**32; combinational.
"""

from amaranth import Module, Mux, Signal, Value, signed
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
    """

    clocked = False

    def __init__(self, config: MacLaneConfig):
        self.plan = plan = TermPlan(config)
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
        products = _signed_by(m, "products", self.product_sum, control.negate_products)
        first = Mux(control.shift16, self.acc1 << SHIFT16, self.acc1)[:LANE_BITS]
        acc1 = _signed_by(m, "acc1_term", Mux(use_acc1, first, 0), control.negate_acc1)
        acc2 = _signed_by(m, "acc2_term", Mux(use_acc2, self.acc2, 0), control.negate_acc2)
        m.d.comb += self.integer_total.eq(products + acc1 + acc2)
        return m


def _signed_by(m: Module, name: str, value: Value, negative: Value) -> Value:
    """Return ``-value`` modulo 2**32 if ``negative``, else ``value``."""
    out = Signal(LANE_BITS, name=name)
    m.d.comb += out.eq((value ^ negative.replicate(LANE_BITS)) + negative)
    return out
