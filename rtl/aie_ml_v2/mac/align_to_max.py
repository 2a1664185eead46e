"""Alignment shifters: each term and accumulator shifted right by its distance to the largest exponent, and rounded.

``magnitude + up = round(value * 2**(F - fraction_bits - shift))`` with F = ``align_fraction_bits``. One AlignRound per slot;
the adder that follows applies ``up``::

     wide slots      TermPlan.wide_bits   -> wide_aligned      MX terms and, in float modes, products
     narrow slots    TermPlan.narrow_bits -> narrow_aligned    the other float products
     accumulators    24-bit significands  -> narrow_aligned

Combinational (cycle 5, floats 6).

Ref: AM027, chapter 4, which calls it BFSHIFT; the rounding is measured on first-generation silicon.
"""

from typing import Any

from amaranth import Module, Mux, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.mac.align_round import AlignRound
from bitpath.rtl.aie_ml_v2.mac.compare import ACCUMULATORS, used_accumulators
from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig
from bitpath.rtl.aie_ml_v2.mac.layouts import DEPTH, LANE_BITS, MacControl
from bitpath.rtl.aie_ml_v2.mac.term_plan import TermPlan
from bitpath.rtl.common.pipeline.shared_instances import instantiate


def aligned_layout(width: int, terms: int) -> data.StructLayout:
    """Return the layout of summands ``(-1)**negative[k] * (magnitude[k] + up[k])`` on the common grid."""
    return data.StructLayout({"magnitude": data.ArrayLayout(width, terms), "up": terms, "negative": terms})


class AlignToMax(wiring.Component):
    """Aligned magnitudes and rounding increments of all terms and accumulators; combinational.

    Parameters
    ----------
    config : MacLaneConfig, the numerics and the supported modes.

    Members
    -------
    terms : In(TermPlan.terms); the exponents are ignored
    acc1, acc2 : In(32), finite FP32 codes
    control : In(MacControl)
    shifts : In(ArrayLayout(shift_bits, 8)); wide slots 8 to 15 use shift 0, the block pair's
    acc_shifts : In(ArrayLayout(shift_bits, 2))
    wide, narrow : Out(aligned_layout); the two accumulators are the last of ``narrow``
    """

    clocked = False

    def __init__(self, config: MacLaneConfig):
        self.numerics = config.numerics
        self.plan = plan = TermPlan(config)
        super().__init__(
            {
                "terms": In(plan.terms),
                "acc1": In(LANE_BITS),
                "acc2": In(LANE_BITS),
                "control": In(MacControl),
                "shifts": In(data.ArrayLayout(plan.shift_bits, DEPTH)),
                "acc_shifts": In(data.ArrayLayout(plan.shift_bits, ACCUMULATORS)),
                "wide": Out(aligned_layout(plan.wide_aligned, plan.mx_terms)),
                "narrow": Out(aligned_layout(plan.narrow_aligned, plan.narrow + ACCUMULATORS)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        plan, terms, code = self.plan, self.terms, self.numerics.align_rounding
        wide, narrow = [], []
        for k in range(plan.slots):
            value = terms.wide[k] if k < plan.mx_terms else terms.narrow[k - plan.mx_terms]
            out_width = plan.wide_aligned if k < plan.mx_terms else plan.narrow_aligned
            align = instantiate(m, platform, f"align_{k}", AlignRound, len(value), out_width, plan.shift_bits, code)
            m.d.comb += [
                align.i.eq(value),
                align.negative.eq(terms.negative[k]),
                align.shift.eq(self.shifts[k if k < DEPTH else 0]),
            ]
            (wide if k < plan.mx_terms else narrow).append(align)
        narrow += self._accumulators(m, platform)
        for out, aligned in ((self.wide, wide), (self.narrow, narrow)):
            m.d.comb += [*(out.magnitude[k].eq(align.o) for k, align in enumerate(aligned))]
            m.d.comb += [*(out.up[k].eq(align.up) for k, align in enumerate(aligned))]
            m.d.comb += [*(out.negative[k].eq(align.negative) for k, align in enumerate(aligned))]
        return m

    def _accumulators(self, m: Any, platform: Any) -> list[wiring.Component]:
        code = self.numerics.accumulator_align_rounding
        aligned = []
        used = used_accumulators(self.control)
        negate = (self.control.negate_acc1, self.control.negate_acc2)
        for k, acc in enumerate((self.acc1, self.acc2)):
            # An accumulator is below 2, a product below 4: one integer bit less.
            width = self.plan.narrow_aligned - 1
            align = instantiate(
                m, platform, f"align_acc{k + 1}", AlignRound, FP32.precision, width, self.plan.shift_bits, code
            )
            m.d.comb += [
                align.i.eq(Mux(used[k], _significand(acc), 0)),
                align.negative.eq(acc[-1] ^ negate[k]),
                align.shift.eq(self.acc_shifts[k]),
            ]
            aligned.append(align)
        return aligned


def _significand(code: Value) -> Value:
    """Return the significand; a subnormal has no hidden bit and the exponent of the smallest normal number."""
    normal = code[FP32.fraction_bits : FP32.width - 1].any()
    return normal << FP32.fraction_bits | code[: FP32.fraction_bits]
