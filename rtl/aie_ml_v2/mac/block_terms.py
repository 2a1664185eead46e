"""MX products or sums of one block pair as terms of the addition (cycle 4).

The terms are, by ``AieNumerics``: the pair's sum (1 term), the sums of MX9's two beats (``mx9_split_round``, 2 terms), or
all 16 products (``mx_post_add_first`` False); of bfp16ebs8 the sum, or all 8 products. All terms of a pair share its
exponent code ``ex + ey + 1``. Combinational; the lane registers ``to_hold`` of MX9's first beat and returns it as ``held``
with the second.
"""

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
"""22 bits hold a block pair's sum: at most ``16 * 2**14 * 2**2 = 2**20`` units of 2**-14, and a sign."""


def held_layout(numerics: AieNumerics) -> data.ArrayLayout:
    """Return the layout of the values held from MX9's first beat: its sum, or its 8 products."""
    if numerics.mx_post_add_first:
        return data.ArrayLayout(signed(MX_SUM_BITS), 1)
    return data.ArrayLayout(signed(TERM_BITS), DEPTH)


class BlockTerms(wiring.Component):
    """Terms of one MX block pair for the wide slots; combinational.

    The exponent code is 0, and takes no part in the maximum, if all terms are 0; with ``mx_zero_term`` a zero pair takes part
    too, unless one of its exponents is 0. The outputs are meaningless for integers, which bypass the alignment.

    Parameters
    ----------
    config : MacLaneConfig, the numerics and the supported modes.

    Members
    -------
    i : In(ProductWords), the products of the beat, for MX9 the second one
    products : In(ArrayLayout(signed(18), 16)), PostAdd's terms of the same beat
    sum : In(signed(22)), PostAdd's sum of the same beat
    held : In(held_layout), the value of MX9's first beat; not for bfp16ebs8
    to_hold : Out(held_layout), the value of this beat; not for bfp16ebs8
    o : Out(TermPlan.terms)
    """

    clocked = False

    def __init__(self, config: MacLaneConfig):
        self.config, self.numerics = config, config.numerics
        self.plan = TermPlan(config)
        held = held_layout(config.numerics)
        of_first_beat = {} if config.bfp16ebs8 else {"held": In(held), "to_hold": Out(held)}
        super().__init__(
            {
                "i": In(ProductWords),
                "products": In(data.ArrayLayout(signed(TERM_BITS), MX_BLOCK)),
                "sum": In(signed(MX_SUM_BITS)),
                **of_first_beat,
                "o": Out(self.plan.terms),
            }
        )

    def elaborate(self, platform):
        m = Module()
        plan, i, o = self.plan, self.i, self.o
        is_mx9 = is_one_of(i.control.mode, (MacMode.MX9,), self.config.modes)
        values = self._eights() if self.config.bfp16ebs8 else self._values(m, is_mx9)
        negative = Signal(plan.slots)
        nonzero = Signal(plan.mx_terms)
        for k, value in enumerate(values):
            m.d.comb += [
                nonzero[k].eq(value.any()),
                # The magnitude keeps the sign bit's place, which -2**n needs.
                o.wide[k].eq(abs(value) << FLOAT_FRACTION_BITS - MX_FRACTION_BITS),
                negative[k].eq(value[-1] ^ i.control.negate_products),
            ]
        counts = nonzero.any()
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

    def _eights(self) -> list[Value]:
        """Return the signed terms of one beat of bfp16ebs8, which holds nothing."""
        return [self.sum] if self.numerics.mx_post_add_first else [self.products[k] for k in range(DEPTH)]

    def _values(self, m: Module, is_mx9: Value) -> list[Value]:
        """Return the signed terms and drive ``to_hold``."""
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
