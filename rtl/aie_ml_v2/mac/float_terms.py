"""Products of floats as terms: the fourth stage, for floats."""

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig
from bitpath.rtl.aie_ml_v2.mac.layouts import DEPTH
from bitpath.rtl.aie_ml_v2.mac.products import ProductWords
from bitpath.rtl.aie_ml_v2.mac.term_plan import TermPlan

KEPT_BITS = 3
"""Lowest bits of its exponent code that the product of a zero keeps.

They matter where all codes are below 8: of BF16's products without an accumulator. Those are multiples of 2**-14 with codes of
3 or more: moved down by 4 places at most, beside 7 instead of 3, they lose nothing on a grid of 20 fraction bits.
"""


class FloatTerms(wiring.Component):
    """Products of floats into the slots; a product of a zero takes no part in the maximum. Combinational.

    Parameters
    ----------
    config : numerics and modes.

    Members
    -------
    i : In(ProductWords)
    o : Out(TermPlan.terms)
    """

    clocked = False

    def __init__(self, config: MacLaneConfig):
        self.numerics = config.numerics
        self.plan = TermPlan(config)
        super().__init__({"i": In(ProductWords), "o": Out(self.plan.terms)})

    def elaborate(self, platform):
        m = Module()
        plan, i, o = self.plan, self.i, self.o
        slots = [*(o.wide[k] for k in range(plan.mx_terms)), *(o.narrow[k] for k in range(plan.narrow))]
        counts = Signal(DEPTH)
        for k in range(DEPTH):
            # Never negative, and so without its sign bit.
            magnitude = i.wide[k][: plan.narrow_bits]
            low, high = i.exponents[k][:KEPT_BITS], i.exponents[k][KEPT_BITS:]
            # Its highest bit is never alone: two significands of 11 bits do not make 2**21.
            m.d.comb += [
                counts[k].eq(i.control.multiplies if self.numerics.float_zero_term else magnitude[:-1].any()),
                slots[k].eq(magnitude),
                o.exponents[k].eq(Cat(low, high & counts[k].replicate(len(high)))),
            ]
        m.d.comb += [slot.eq(0) for slot in slots[DEPTH:]]
        m.d.comb += [
            o.negative.eq(i.negative),
            o.nan.eq(i.nan),
            o.plus_inf.eq(i.plus_inf),
            o.minus_inf.eq(i.minus_inf),
        ]
        return m
