"""Float products as terms of the addition (cycle 4 of floats).

Slot k takes ``|product[k]|`` in units of 2**-20 and the exponent code ``ea + eb + 1``. A zero product takes no part in the
maximum: its code keeps only the 3 lowest bits; combinational.
"""

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig
from bitpath.rtl.aie_ml_v2.mac.layouts import DEPTH
from bitpath.rtl.aie_ml_v2.mac.products import ProductWords
from bitpath.rtl.aie_ml_v2.mac.term_plan import TermPlan

KEPT_BITS = 3
"""Exponent bits that are not cleared for a zero product, which saves gates.

A code of at most 7 can be the maximum only if all codes are below 8: BF16 products without an accumulator. These have codes
of 3 or more and are multiples of 2**-14, so a shift of at most 4 discards no bit on a grid of 20 fraction bits.
"""


class FloatTerms(wiring.Component):
    """Terms of eight float products for the slots; combinational.

    Parameters
    ----------
    config : MacLaneConfig, the numerics and the supported modes.

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
            # Float products are magnitudes, so the sign bit is 0 and is dropped.
            magnitude = i.wide[k][: plan.narrow_bits]
            low, high = i.exponents[k][:KEPT_BITS], i.exponents[k][KEPT_BITS:]
            # Bit 21 alone would be 2**21, which is no product of two 11-bit significands, so it need not be tested.
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
