"""Step 1 of the Tensix dot product: multiply, and find the largest exponent of each group.

``product[k] = (-1)**sign * magnitude * 2**-10 * 2**(exponent_a + exponent_b + base)``::

                     10  9               0                    11 10  9               0
      src magnitude   1  . fraction (10)       product         x  x . fraction (10)         12 bits, below 4

      base = rebias - 5 * phase[0] - 7 * phase[1]         rebias = BF16, TF32   -127
      exponents[g] = max(0, largest sum of the group + base)       FP16         -15 (16-bit Dst), 127 - 2 * 15
      shift[k] = largest sum of the group - sum[k]

Ref: tt-isa-documentation 3930471, SrcASrcB, for fields and phases; ttsim v1.10.0 for the exponents of zeros.
"""

from typing import Any

from amaranth import Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.golden.tensix.declarations.formats import COLUMNS
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.rtl.common.arithmetic.max_distance import MaxDistance
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.tensix.dot.fidelity_multiplier import PRODUCT_BITS, FidelityMultiplier
from bitpath.rtl.tensix.dot.layouts import DotControl, Operand, StyleCode

EXPONENT_BITS = 9
"""Width of a sum of two biased exponents, at most 510; a group exponent is 0 to 383."""
HALF_BIAS, SINGLE_BIAS = 15, 127
"""Biases of 5-bit and 8-bit exponents."""
PHASE_WEIGHTS = (5, 7)
"""Bit 0 and bit 1 of the phase lower the exponent of a product by 5 and by 7."""
BASE_BITS = EXPONENT_BITS + 1
"""Signed width of ``base``: at least -127 - 5 - 7, at most 127 - 15."""


def product_layout(numerics: TensixNumerics) -> data.StructLayout:
    """Return a product in units of 2**-10, with the shift that aligns it to its group exponent."""
    # At this shift all product bits are sticky, so the product rounds to 0 in every mode: longer shifts saturate to it.
    vanishing = PRODUCT_BITS + numerics.product_guard_bits + 1
    return data.StructLayout({"magnitude": PRODUCT_BITS, "sign": 1, "shift": ceil_log2(vanishing + 1)})


class Products(wiring.Component):
    """16 products with their alignment shifts, and the exponents of their groups.

    ``control.add`` replaces products 0 and 1 by the operands of lane 0; the other lanes must hold zeros.

    The maximum compares sums of operand exponents, before ``base`` is added, and ignores products of a zero. Such a product has
    the exponent ``max(base, 0)`` or 0. It cannot win: where ``base > 0`` every other product is larger, and where ``base <= 0``
    the group exponent is 0 either way. A group of zeros alone is known by its maximum of 0.

    Combinational: latency 0.

    Parameters
    ----------
    numerics : group size, guard bits and the exponents of empty and zero products.

    Members
    -------
    src_a, src_b : In(ArrayLayout(Operand, 16)); a zero has magnitude 0 and exponent 0, an integer a clear top bit
        and exponent 0
    control : In(DotControl)
    products : Out(ArrayLayout(product_layout, 16))
    exponents : Out(ArrayLayout(9, groups)), 0 for an empty group
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
            largest = instantiate(m, platform, f"largest_{g}", MaxDistance, group, EXPONENT_BITS, shift_bits)
            m.d.comb += largest.counts.eq(counts[lanes.start : lanes.stop])
            for k in lanes:
                # The shift of a zero product is arbitrary; a product that the maximum ignores is zero.
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
        """Drive the products; return the exponent sums, those that take part in the maximum, and the zero products."""
        control = self.control
        integer = control.style == StyleCode.INT8
        sums = Signal(data.ArrayLayout(EXPONENT_BITS, COLUMNS))
        counts, zeros = Signal(COLUMNS), Signal(COLUMNS)
        addends = (self.src_a[0], self.src_b[0])
        for k in range(COLUMNS):
            a, b, product = self.src_a[k], self.src_b[k], self.products[k]
            multiply = instantiate(m, platform, f"multiply_{k}", FidelityMultiplier)
            m.d.comb += [
                multiply.src_a.eq(a.magnitude),
                multiply.src_b.eq(b.magnitude),
                multiply.phase.eq(control.phase),
                multiply.is_integer.eq(integer),
                product.magnitude.eq(multiply.o),
                product.sign.eq(a.sign ^ b.sign),
                zeros[k].eq(~(a.magnitude[-1] & b.magnitude[-1])),
                sums[k].eq(a.exponent + b.exponent),
                # Integers have exponent 0 and all take part, so their shifts are 0.
                counts[k].eq(integer | (~zeros[k] & (self.numerics.empty_terms_in_maximum | multiply.o.any()))),
            ]
            if k < len(addends):
                addend = addends[k]
                with m.If(control.add):
                    m.d.comb += [
                        product.magnitude.eq(addend.magnitude),
                        product.sign.eq(addend.sign),
                        sums[k].eq(addend.exponent),
                        # A zero addend has exponent 0 and cannot raise the maximum.
                        counts[k].eq(1),
                    ]
        return sums, counts, zeros

    def _bias(self, m: Module) -> tuple[Value, Value]:
        """Return ``base`` and the exponent of a group of zeros."""
        control = self.control
        widening = Signal()  # 5-bit source exponents, 8-bit Dst exponent
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
            # Two zero addends get the exponent of a product of zeros in phase 0.
            empty_exponent.eq(Mux(widening & kept, Mux(control.add, SINGLE_BIAS - 2 * HALF_BIAS, product_base), 0)),
        ]
        return base, empty_exponent
