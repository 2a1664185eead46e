"""The first step of the Tensix dot product: multiply, and find each group's largest exponent.

Ref: tt-isa-documentation 3930471, SrcASrcB, for fields and phases; ttsim v1.10.0 for what exponents zeros have.
"""

from typing import Any

from amaranth import Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.tensix.declarations.formats import COLUMNS
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.rtl.common.arithmetic.max_distance import MaxDistance
from bitpath.rtl.common.pipeline.shared_instances import place
from bitpath.rtl.tensix.dot.fidelity_multiplier import PRODUCT_BITS, FidelityMultiplier
from bitpath.rtl.tensix.dot.layouts import DotControl, Operand, StyleCode

EXPONENT_BITS = 9
"""Of the sum of two biased exponents, at most 510, and of a group's exponent, at most 510 - 127 and never negative."""
HALF_BIAS, SINGLE_BIAS = 15, 127
"""Of exponents of 5 and of 8 bits."""
PHASE_WEIGHTS = (5, 7)
"""Exponents by which bit 0 and bit 1 of the phase lessen a product."""
BASE_BITS = EXPONENT_BITS + 1
"""Of what turns the sum of two exponents into one with Dst's bias: -127 - 5 - 7 to 127 - 15, and a sign."""


def product_layout(numerics: TensixNumerics) -> data.StructLayout:
    """A product, in units of 2**-10, and the shift that aligns it to its group's exponent."""
    # From so many places on nothing is left of a product and its guard bits, whatever ties do.
    vanishing = PRODUCT_BITS + numerics.product_guard_bits + 1
    return data.StructLayout({"magnitude": PRODUCT_BITS, "sign": 1, "shift": ceil_log2(vanishing + 1)})


class Products(wiring.Component):
    """16 products with their shifts, and the groups' exponents. Combinational.

    With ``control.add`` the operands of lane 0 stand in the places of products 0 and 1; the other lanes must hold zeros.

    Exponents are compared as sums of the operands' exponents, before Dst's bias is in them. A product of a zero does not
    count there. That is right although it has the exponent ``max(adj, 0)`` or 0, ``adj`` being what is added for the bias: where
    ``adj`` is not positive, a group whose sums all fail to make a positive exponent is empty anyway; where it is positive,
    every other product is above it, and a group of zeros alone is known by its maximum being 0.

    Parameters
    ----------
    numerics : what is computed.

    Members
    -------
    src_a, src_b : In(ArrayLayout(Operand, 16)); a zero has magnitude 0 and exponent 0, an integer a clear top bit
        and exponent 0
    control : In(DotControl)
    products : Out(ArrayLayout(product_layout, 16))
    exponents : Out(ArrayLayout(9, groups)), 0 for a group that is empty
    """

    clocked = False

    def __init__(self, numerics: TensixNumerics):
        self.numerics = numerics
        self.product = product_layout(numerics)
        super().__init__(
            {
                "src_a": In(data.ArrayLayout(Operand, COLUMNS)),
                "src_b": In(data.ArrayLayout(Operand, COLUMNS)),
                "control": In(DotControl),
                "products": Out(data.ArrayLayout(self.product, COLUMNS)),
                "exponents": Out(data.ArrayLayout(EXPONENT_BITS, COLUMNS // numerics.group)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        numerics, group = self.numerics, self.numerics.group
        sums, counts, zeros = self._multiply(m, platform)
        base, empty_exponent = self._bias(m)
        shift_bits = self.product["shift"].shape
        for g in range(COLUMNS // group):
            lanes = range(g * group, (g + 1) * group)
            largest = place(m, platform, f"largest_{g}", MaxDistance, group, EXPONENT_BITS, shift_bits)
            m.d.comb += largest.counts.eq(counts[lanes.start : lanes.stop])
            for k in lanes:
                # The product of a zero may be shifted by anything; so may one that the maximum leaves out.
                m.d.comb += [
                    largest.i[k - lanes.start].eq(sums[k]),
                    self.products[k].shift.eq(largest.shifts[k - lanes.start]),
                ]
            rebiased = Signal(signed(BASE_BITS + 1), name=f"rebiased_{g}")
            m.d.comb += rebiased.eq(largest.o + base)
            with m.If(largest.o.any()):
                m.d.comb += self.exponents[g].eq(Mux(rebiased > 0, rebiased, 0))
            with m.Elif(numerics.empty_terms_in_maximum | self.control.add | zeros[lanes.start : lanes.stop].any()):
                m.d.comb += self.exponents[g].eq(empty_exponent)
        return m

    def _multiply(self, m: Module, platform: Any) -> tuple[data.View, Value, Value]:
        """Set the products; the sums of exponents, which take part in the maximum, and which products are of zeros."""
        control = self.control
        integer = control.style == StyleCode.INT8
        sums = Signal(data.ArrayLayout(EXPONENT_BITS, COLUMNS))
        counts, zeros = Signal(COLUMNS), Signal(COLUMNS)
        addends = (self.src_a[0], self.src_b[0])
        for k in range(COLUMNS):
            a, b, product = self.src_a[k], self.src_b[k], self.products[k]
            multiply = place(m, platform, f"multiply_{k}", FidelityMultiplier)
            m.d.comb += [
                multiply.src_a.eq(a.magnitude),
                multiply.src_b.eq(b.magnitude),
                multiply.phase.eq(control.phase),
                multiply.is_integer.eq(integer),
                product.magnitude.eq(multiply.o),
                product.sign.eq(a.sign ^ b.sign),
                zeros[k].eq(~(a.magnitude[-1] & b.magnitude[-1])),
                sums[k].eq(a.exponent + b.exponent),
                # Integers, of exponent 0, all do, and so none is shifted.
                counts[k].eq(integer | (~zeros[k] & (self.numerics.empty_terms_in_maximum | multiply.o.any()))),
            ]
            if k < len(addends):
                addend = addends[k]
                with m.If(control.add):
                    m.d.comb += [
                        product.magnitude.eq(addend.magnitude),
                        product.sign.eq(addend.sign),
                        sums[k].eq(addend.exponent),
                        # A zero's exponent is 0, which makes no maximum.
                        counts[k].eq(1),
                    ]
        return sums, counts, zeros

    def _bias(self, m: Module) -> tuple[Value, Value]:
        """What is added to a sum of exponents, and the exponent of a group of zeros."""
        control = self.control
        widening = Signal()  # from exponents of 5 bits to one of 8
        product_base = Signal(signed(BASE_BITS))
        base = Signal(signed(BASE_BITS))
        empty_exponent = Signal(EXPONENT_BITS)
        half = control.style == StyleCode.FP16
        rebias = Mux(half, Mux(control.dst32, SINGLE_BIAS - 2 * HALF_BIAS, -HALF_BIAS), -SINGLE_BIAS)
        weights = (Mux(bit, weight, 0) for bit, weight in zip(control.phase, PHASE_WEIGHTS, strict=True))
        kept = control.add | Const(self.numerics.zero_terms_keep_bias)
        m.d.comb += [
            widening.eq(half & control.dst32),
            product_base.eq(rebias - sum(weights)),
            base.eq(Mux(control.add, Mux(widening, SINGLE_BIAS - HALF_BIAS, 0), product_base)),
            # A sum of two zeros has the exponent that a product of zeros has in phase 0.
            empty_exponent.eq(Mux(widening & kept, Mux(control.add, SINGLE_BIAS - 2 * HALF_BIAS, product_base), 0)),
        ]
        return base, empty_exponent
