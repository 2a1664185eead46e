"""Sums of block pairs as terms: where the fourth stage ends for MX."""

from amaranth import Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import MX_BLOCK
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig
from bitpath.rtl.aie_ml_v2.mac.layouts import DEPTH
from bitpath.rtl.aie_ml_v2.mac.mac_mode import MacMode, is_one_of
from bitpath.rtl.aie_ml_v2.mac.post_add import TERM_BITS
from bitpath.rtl.aie_ml_v2.mac.products import ProductWords
from bitpath.rtl.aie_ml_v2.mac.term_plan import FLOAT_FRACTION_BITS, MX_FRACTION_BITS, TermPlan

MX_SUM_BITS = 22
"""Of a block pair's sum, at most 2**20 units of 2**-14, signed."""


def held_layout(numerics: AieNumerics) -> data.ArrayLayout:
    """What is held of MX9's first beat for the second: its sum, or its products."""
    if numerics.mx_post_add_first:
        return data.ArrayLayout(signed(MX_SUM_BITS), 1)
    return data.ArrayLayout(signed(TERM_BITS), DEPTH)


class BlockTerms(wiring.Component):
    """The sum of a block pair, of its halves, or its products into the wide slots. Combinational.

    All have the exponent that the pair's exponents give. It counts where a term is not 0, and else where neither of these
    is 0, as ``AieNumerics.mx_zero_term`` says. Of integers, whose sum does not come from terms, these mean nothing.

    Parameters
    ----------
    config : numerics and modes.

    Members
    -------
    i : In(ProductWords), of the beat, or MX9's second one
    products : In(ArrayLayout(signed(18), 16)), sum : In(signed(22)), of the same beat, as the post-adder gives them
    held : In(held_layout), of MX9's first beat
    to_hold : Out(held_layout), the same of this one
    o : Out(TermPlan.terms)
    """

    clocked = False

    def __init__(self, config: MacLaneConfig):
        self.config, self.numerics = config, config.numerics
        self.plan = TermPlan(config)
        held = held_layout(config.numerics)
        super().__init__(
            {
                "i": In(ProductWords),
                "products": In(data.ArrayLayout(signed(TERM_BITS), MX_BLOCK)),
                "sum": In(signed(MX_SUM_BITS)),
                "held": In(held),
                "to_hold": Out(held),
                "o": Out(self.plan.terms),
            }
        )

    def elaborate(self, platform):
        m = Module()
        plan, i, o = self.plan, self.i, self.o
        is_mx9 = is_one_of(i.control.mode, (MacMode.MX9,), self.config.modes)
        values = self._values(m, is_mx9)
        negative = Signal(plan.slots)
        unequal = Signal(plan.mx_terms)  # to 0
        for k, value in enumerate(values):
            m.d.comb += [
                unequal[k].eq(value.any()),
                # With the sign bit, which -2**n sets.
                o.wide[k].eq(abs(value) << FLOAT_FRACTION_BITS - MX_FRACTION_BITS),
                negative[k].eq(value[-1] ^ i.control.negate_products),
            ]
        counts = unequal.any()
        if self.numerics.mx_zero_term:
            counts = counts | i.ordinary
        for k in range(DEPTH):
            shared = i.exponents[0] if k < plan.mx_terms else 0
            m.d.comb += o.exponents[k].eq(Mux(counts, shared, 0))
        if plan.narrow:
            m.d.comb += o.narrow.eq(0)
        m.d.comb += [
            o.negative.eq(negative),
            o.nan.eq(i.nan),
            o.plus_inf.eq(0),
            o.minus_inf.eq(0),
        ]
        return m

    def _values(self, m: Module, is_mx9: Value) -> list[Value]:
        """The signed terms; what there is to hold."""
        products, held = self.products, self.held
        if not self.numerics.mx_post_add_first:
            m.d.comb += [self.to_hold[k].eq(products[k]) for k in range(DEPTH)]
            first = [products[k] for k in range(DEPTH)]
            return [*first, *(Mux(is_mx9, held[k], products[DEPTH + k]) for k in range(DEPTH))]
        m.d.comb += self.to_hold[0].eq(self.sum)
        earlier = Signal(signed(MX_SUM_BITS))
        m.d.comb += earlier.eq(Mux(is_mx9, held[0], 0))
        if self.numerics.mx9_split_round:
            return [self.sum, earlier]
        total = Signal(signed(MX_SUM_BITS))
        m.d.comb += total.eq(self.sum + earlier)
        return [total]
