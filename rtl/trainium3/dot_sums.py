"""The sums of the quad-MX dot product: exact, or aligned and truncated.

Both have the same ports: products, partial sum and scale go in, ``middle`` is what a register rank may hold half way,
``middle_held`` is it behind that rank, and ``o`` is the sum before normalisation.
"""

from fractions import Fraction

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, ceil_log2

from bitpath.golden.spec.formats import FP32
from bitpath.golden.spec.numerics import DotNumerics
from bitpath.rtl.common.add_tree import AddTree
from bitpath.rtl.common.align import Align, Dropped
from bitpath.rtl.common.bodies import place
from bitpath.rtl.common.exact_add import ExactAdd
from bitpath.rtl.common.max_exponent import MaxExponent
from bitpath.rtl.common.raw import raw_sum

PARTIAL_OFFSET = FP32.bias + FP32.fraction_bits
"""A decoded partial sum is ``significand * 2**(exponent - PARTIAL_OFFSET)``."""


def _scale_bits(numerics: DotNumerics) -> int:
    return numerics.scale_format.width + 1


def _product_offset(numerics: DotNumerics) -> int:
    """A product is ``significand * 2**(exponent - offset)``: each operand brings its bias and its fraction bits."""
    return 2 * max(fmt.bias for fmt in numerics.element_formats) + _product_fraction_bits(numerics)


def _product_fraction_bits(numerics: DotNumerics) -> int:
    return 2 * max(fmt.fraction_bits for fmt in numerics.element_formats)


def _ports(
    numerics: DotNumerics,
    products: data.ArrayLayout,
    partial: data.StructLayout,
    middle: data.StructLayout,
    total: data.StructLayout,
) -> dict[str, wiring.Member]:
    return {
        "products": In(products),
        "partial": In(partial),
        "scale": In(_scale_bits(numerics)),
        "middle": Out(middle),
        "middle_held": In(middle),
        "o": Out(total),
    }


class ExactSum(wiring.Component):
    """The products on one fixed-point grid, their exact sum, and that plus the partial sum.

    The grid's lowest bit is the product of the two smallest subnormals. With E4M3 and E5M2 together: 2**-32, and 67 bits
    with sign and carries.

    Parameters
    ----------
    numerics : with ``align_fraction_bits`` None.
    product, partial : layouts of the products and of the decoded partial sum.

    Members
    -------
    products : In(ArrayLayout of raw_float), partial : In(raw_float), scale : In(9), the two scales' codes added
    middle : Out, middle_held : In, the fixed-point sum with its scale and the partial sum
    o : Out(raw_sum)
    """

    def __init__(self, numerics: DotNumerics, products: data.ArrayLayout, partial: data.StructLayout):
        self.numerics, self.product = numerics, products.elem_shape
        formats = numerics.element_formats
        self.smallest = min(fmt.min_subnormal for fmt in formats) ** 2
        # The largest product in units of the grid.
        self.product_width = int(max(fmt.max for fmt in formats) ** 2 / self.smallest).bit_length()
        self.tree = AddTree(numerics.terms, self.product_width)
        fixed = self.tree.o.shape()
        self.add = ExactAdd(
            fixed_width=fixed.width,
            fixed_exponent_width=bits_for((2 << numerics.scale_format.width) + 2 * numerics.scale_format.bias) + 1,
            exponent_width=partial["exponent"].shape.width,
            precision=partial["significand"].shape.width,
            offset=PARTIAL_OFFSET,
        )
        middle = data.StructLayout({"fixed": fixed, "partial": partial, "scale": _scale_bits(numerics)})
        super().__init__(_ports(numerics, products, partial, middle, self.add.o.shape()))

    def elaborate(self, platform):
        m = Module()
        m.submodules.tree = tree = self.tree
        m.submodules.add = add = self.add
        significand_width = self.product["significand"].shape.width
        smallest_exponent = _log2(self.smallest)
        # The exponent at which a product's top bit stands at the grid's top bit.
        top = smallest_exponent + self.product_width - significand_width + _product_offset(self.numerics)
        # The smallest exponents of two operands; a product that small has its low bits clear where they would be lost.
        lowest = 2
        for k in range(self.numerics.terms):
            shape = (significand_width, self.product_width, top - lowest, Dropped.NONE)
            align = place(m, platform, f"align_{k}", Align, *shape)
            m.d.comb += [
                align.i.eq(self.products[k].significand),
                align.shift.eq(top - self.products[k].exponent),
                tree.magnitude[k].eq(align.o),
                tree.sign[k].eq(self.products[k].sign),
            ]
        m.d.comb += [
            self.middle.fixed.eq(tree.o),
            self.middle.partial.eq(self.partial),
            self.middle.scale.eq(self.scale),
            add.fixed.eq(self.middle_held.fixed),
            add.fixed_exponent.eq(self.middle_held.scale + (smallest_exponent - 2 * self.numerics.scale_format.bias)),
            add.number.eq(self.middle_held.partial),
            self.o.eq(add.o),
        ]
        return m


class AlignedSum(wiring.Component):
    """Products and partial sum aligned to the largest exponent among them, truncated or rounded there, and added.

    Exponents are compared before normalisation, zeros left out; ``align_fraction_bits`` fraction bits stay below the
    largest. Parameters and members as of :class:`ExactSum`; the aligned terms are half way.
    """

    def __init__(self, numerics: DotNumerics, products: data.ArrayLayout, partial: data.StructLayout):
        self.numerics, self.product, self.partial_layout = numerics, products.elem_shape, partial
        # A product is less than 4 in units of its exponent; rounding to nearest may carry it to 4.
        dropped = Dropped.of(numerics.align_rounding)
        grid = numerics.align_fraction_bits + 2
        # Beyond the grid, and beyond the bit that rounding looks at, every shift is the same.
        self.max_shift = grid + 2
        self.align_product = (self.product["significand"].shape.width, grid, self.max_shift, dropped)
        # One integer bit more than it has, to stand on the products' scale.
        self.align_partial = (partial["significand"].shape.width + 1, grid, self.max_shift, dropped)
        terms = numerics.terms + 1
        term_width = grid + (dropped is Dropped.NEAREST_EVEN)
        self.tree = AddTree(terms, term_width)
        # Exponents of products and partial sum over one offset, at which both are positive.
        self.offset = _product_offset(numerics) - _product_fraction_bits(numerics) + 2 * numerics.scale_format.bias
        partial_max = (1 << partial["exponent"].shape.width) + self.offset - FP32.bias
        product_max = (1 << self.product["exponent"].shape.width) + (1 << _scale_bits(numerics))
        self.exponent_width = ceil_log2(max(partial_max, product_max))
        middle = data.StructLayout(
            {
                "magnitude": data.ArrayLayout(term_width, terms),
                "sign": terms,
                "exponent": self.exponent_width,
            }
        )
        total = raw_sum(self.tree.o.shape().width, bits_for(self.offset) + 2)
        super().__init__(_ports(numerics, products, partial, middle, total))

    def elaborate(self, platform):
        m = Module()
        m.submodules.tree = tree = self.tree
        terms = self.numerics.terms + 1
        largest = place(m, platform, "largest", MaxExponent, terms, self.exponent_width)

        exponents = [self.products[k].exponent + self.scale for k in range(terms - 1)]
        exponents.append(self.partial.exponent + (self.offset - FP32.bias))
        significands = [self.products[k].significand for k in range(terms - 1)]
        significands.append(Cat(self.partial.significand, Const(0, 1)))
        signs = [self.products[k].sign for k in range(terms - 1)] + [self.partial.sign]

        for k in range(terms):
            shape = self.align_product if k < terms - 1 else self.align_partial
            align = place(m, platform, f"align_{k}", Align, *shape)
            distance = Signal(self.exponent_width, name=f"distance_{k}")
            m.d.comb += [
                largest.i[k].eq(Mux(significands[k].any(), exponents[k], 0)),
                distance.eq(largest.o - exponents[k]),
                align.i.eq(significands[k]),
                align.shift.eq(Mux(distance > self.max_shift, self.max_shift, distance)),
                self.middle.magnitude[k].eq(align.o),
                self.middle.sign[k].eq(signs[k]),
            ]
        m.d.comb += self.middle.exponent.eq(largest.o)

        total = tree.o
        m.d.comb += [
            tree.magnitude.eq(self.middle_held.magnitude),
            tree.sign.eq(self.middle_held.sign),
            self.o.sign.eq(total[-1]),
            self.o.magnitude.eq(Mux(total[-1], -total, total)),
            self.o.exponent.eq(self.middle_held.exponent - (self.offset + self.numerics.align_fraction_bits)),
        ]
        return m


def _log2(power: Fraction) -> int:
    """The exponent of a power of two at most 1."""
    return -(power.denominator.bit_length() - 1)
