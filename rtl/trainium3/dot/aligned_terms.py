"""Products and partial sum of the aligned dot product, shifted to their largest exponent, as two carry-save rows.

Window for four products and F = ``align_fraction_bits`` = 16. E is the largest exponent; bits below F are truncated, or
round the term to nearest even::

    bit  45                21 20    18 17    16 15             0
        +--------------------+--------+--------+----------------+
        | copies of the sign | carry  | < 4    | F fraction bits|
        +--------------------+--------+--------+----------------+
         padding, 25          3        2        16
                                             ^ bit 16 has weight 2**E
"""

from amaranth import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.dot import DotNumerics
from bitpath.rtl.common.arithmetic.align import Align, Dropped, shift_of
from bitpath.rtl.common.arithmetic.max_exponent import MaxExponent
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.dot.dot_rows import dot_rows, sum_width, two_rows

INTEGER_BITS = 2
"""Integer bits of a product: two significands below 2 multiply to less than 4. Rounding to nearest may carry to 4."""


class AlignedTerms(wiring.Component):
    """Combinational alignment of products and partial sum to the largest exponent among them.

    Exponents are compared before normalisation, and zeros do not count. The products' exponents exclude their common
    scale; the scale is subtracted from the partial sum's exponent instead.

    Parameters and members are those of :class:`ExactTerms`; ``numerics.align_fraction_bits`` and ``align_rounding`` set
    the grid.
    """

    clocked = False

    def __init__(self, numerics: DotNumerics, product: data.StructLayout, partial: data.StructLayout):
        self.numerics = numerics
        dropped = Dropped.of(numerics.align_rounding)
        grid = numerics.align_fraction_bits + INTEGER_BITS
        # A larger shift leaves neither a bit of the grid nor a guard bit.
        self.shift_bits = bits_for(grid + 2)
        max_shift = (1 << self.shift_bits) - 1
        self.align_product = (product["significand"].shape.width, grid, max_shift, dropped)
        # One integer bit more than its own: products have two.
        self.align_partial = (partial["significand"].shape.width + 1, grid, max_shift, dropped)

        term_width = grid + (dropped is Dropped.NEAREST_EVEN)  # rounding may carry out of the grid
        # terms products and a partial sum are at most 2 * terms terms.
        self.sum_width = sum_width(2 * numerics.terms, term_width)
        # Added to a product's exponent and the scales' codes, it gives FP32's biased exponent.
        self.to_biased = FP32.bias - 2 * numerics.scale_format.bias
        self.to_biased -= 2 * max(fmt.bias for fmt in numerics.element_formats)
        # Places from the largest term's exponent up to the window's top.
        self.to_top = self.sum_width - 1 - numerics.align_fraction_bits + self.padding(numerics)
        scale_width = numerics.scale_format.width + 1  # the sum of two codes carries once
        # The top's biased exponent, with the largest product or the largest partial sum.
        product_max = (1 << product["exponent"].shape.width) + (1 << scale_width) + self.to_biased
        exponent_width = bits_for(max(product_max, FP32.exponent_mask) + self.to_top)
        super().__init__(
            {
                "products": In(data.ArrayLayout(product, numerics.terms)),
                "partial": In(partial),
                "scale": In(scale_width),
                "o": Out(dot_rows(0, self.sum_width + 1, exponent_width)),
            }
        )

    @staticmethod
    def padding(numerics: DotNumerics) -> int:
        """Sign places above the sum: a significand's and a guard bit's. If the top's exponent is raised to 1, the sum
        lies below the guard bit of the smallest subnormal, before and after."""
        return numerics.accumulator.precision + 1

    def elaborate(self, platform):
        m = Module()
        products, partial = self.products, self.partial
        nonzero = [product.significand.any() for product in products]
        exponent_width = len(products[0].exponent)
        largest = instantiate(m, platform, "largest", MaxExponent, len(nonzero), exponent_width)
        m.d.comb += [largest.i[k].eq(Mux(nonzero[k], products[k].exponent, 0)) for k in range(len(nonzero))]

        # The partial sum's exponent on the products' scale. It saturates in ``top`` at a value that is further above
        # every product than the largest shift.
        own = Signal(signed(len(self.o.exponent) + 1))
        distance = Signal(signed(len(own) + 1))
        above = Signal()
        top = Signal(max(exponent_width, self.shift_bits) + 1)
        m.d.comb += [
            own.eq(partial.exponent - (self.scale + self.to_biased)),
            distance.eq(largest.o - own),
            above.eq(partial.significand.any() & ((distance < 0) | ~Cat(nonzero).any())),
            top.eq(Mux(above, shift_of(own[:-1], len(top)), largest.o)),
        ]
        align = instantiate(m, platform, "align_partial", Align, *self.align_partial)
        m.d.comb += [
            align.i.eq(Cat(partial.significand, Const(0, 1))),
            align.shift.eq(Mux(above, 0, shift_of(distance[:-1], self.shift_bits))),
        ]
        terms, negative = [], []
        for k, product in enumerate(products):
            each = instantiate(m, platform, f"align_{k}", Align, *self.align_product)
            sign = Signal(name=f"negative_{k}")
            to_top = Signal(len(top), name=f"distance_{k}")
            m.d.comb += [
                sign.eq(product.sign ^ partial.sign),
                to_top.eq(top - product.exponent),
                each.i.eq(product.significand),
                each.shift.eq(shift_of(to_top, self.shift_bits)),
            ]
            terms.append(each.o ^ sign.replicate(len(each.o)))
            negative.append(sign)

        exponent = Signal(signed(len(self.o.exponent) + 1))
        m.d.comb += [
            exponent.eq(
                Mux(above, partial.exponent + self.to_top, largest.o + self.scale + (self.to_biased + self.to_top))
            ),
            self.o.exponent.eq(Mux(exponent > 0, exponent, 1)),
        ]
        rows = two_rows(m, terms, negative, align.o, len(self.o.sums))
        m.d.comb += [self.o[name].eq(row) for name, row in rows.items()]
        return m
