"""The terms of the quad-MX dot product, aligned to the largest exponent among them, as two rows of digits."""

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
"""A product is less than 4 in units of its exponent; rounding to nearest may carry it to 4."""


class AlignedTerms(wiring.Component):
    """Products and partial sum aligned to the largest exponent among them, truncated or rounded there. Combinational.

    Exponents are compared before normalisation, zeros left out; ``align_fraction_bits`` fraction bits stay below the
    largest. All distances are taken between the products' own exponents, without their common scale, and the partial
    sum's less that scale.

    Parameters and members as of :class:`ExactTerms`.
    """

    clocked = False

    def __init__(self, numerics: DotNumerics, product: data.StructLayout, partial: data.StructLayout):
        self.numerics = numerics
        dropped = Dropped.of(numerics.align_rounding)
        grid = numerics.align_fraction_bits + INTEGER_BITS
        # Beyond the grid, and beyond the bit that rounding looks at, every shift is the same.
        self.shift_bits = bits_for(grid + 2)
        max_shift = (1 << self.shift_bits) - 1
        self.align_product = (product["significand"].shape.width, grid, max_shift, dropped)
        # One integer bit more than it has, to stand on the products' scale.
        self.align_partial = (partial["significand"].shape.width + 1, grid, max_shift, dropped)

        term_width = grid + (dropped is Dropped.NEAREST_EVEN)
        # One more term than products.
        self.sum_width = sum_width(2 * numerics.terms, term_width)
        # What makes a product's exponent and the scales' codes FP32's biased exponent.
        self.to_biased = FP32.bias - 2 * numerics.scale_format.bias
        self.to_biased -= 2 * max(fmt.bias for fmt in numerics.element_formats)
        # From the biased exponent of the largest term to that of the highest place.
        self.to_top = self.sum_width - 1 - numerics.align_fraction_bits + self.padding(numerics)
        scale_width = numerics.scale_format.width + 1
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
        """Places above the sum's own: where the exponent of the highest would be below 1, and is made 1, the sum is below
        the guard bit of the smallest subnormal, and there it stands."""
        return numerics.accumulator.precision + 1

    def elaborate(self, platform):
        m = Module()
        products, partial = self.products, self.partial
        nonzero = [product.significand.any() for product in products]
        exponent_width = len(products[0].exponent)
        largest = instantiate(m, platform, "largest", MaxExponent, len(nonzero), exponent_width)
        m.d.comb += [largest.i[k].eq(Mux(nonzero[k], products[k].exponent, 0)) for k in range(len(nonzero))]

        # The partial sum's exponent among the products'. At the largest of ``top``'s values it is beyond any shift away
        # from all of them, so it may stop there.
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
