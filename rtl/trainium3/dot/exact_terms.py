"""The terms of the quad-MX dot product, none of them rounded, as two rows of digits."""

from fractions import Fraction

from amaranth import Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.dot import DotNumerics
from bitpath.rtl.common.arithmetic.align import Align, Dropped, shift_of
from bitpath.rtl.common.arithmetic.fixed_point import FixedPoint
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.dot.dot_rows import dot_rows, sum_width, two_rows

CLEARANCE = 2
"""Places between the products' sum and the lowest one of a partial sum that is so far above it that any sum of products
rounds the same: they are less than a quarter of its last place then, and half a last place where it loses a bit."""
BELOW = FP32.precision + 1
"""Places below the products' grid that the partial sum is kept in.

Some of it is lost only where its lowest bit is below them, when it is less than ``2**(precision - 1)`` in units of the
lowest, while a sum of products that is not 0 is ``2**BELOW`` or more. Both together exceed ``2**precision`` then: the
leading bits end above the lowest place but one, guard bit and sticky bit stand below them. A sum of products that is 0
leaves the partial sum alone.
"""


class ExactTerms(wiring.Component):
    """The products on one fixed-point grid, the partial sum aligned to it. Combinational.

    The grid's lowest place is the product of the two smallest subnormals, its highest the largest product's. With E4M3 and
    E5M2 together these are 2**-32 and 2**31, with E4M3 alone 2**-18 and 2**17, times both scales. The window around it has
    ``BELOW`` places more below, a sticky bit under them, and above as many as a partial sum needs that is too large for the
    grid to matter; a larger one is left there, and gives the window its exponent.

    Parameters
    ----------
    numerics : with ``align_fraction_bits`` None.
    product, partial : layouts of a product and of the decoded partial sum.

    Members
    -------
    products : In(ArrayLayout of raw_float), partial : In(raw_float), scale : In(9), the two scales' codes added
    o : Out(dot_rows)
    """

    clocked = False

    def __init__(self, numerics: DotNumerics, product: data.StructLayout, partial: data.StructLayout):
        self.numerics = numerics
        formats, scale_format = numerics.element_formats, numerics.scale_format
        smallest = min(fmt.min_subnormal for fmt in formats) ** 2
        grid_width = int(max(fmt.max for fmt in formats) ** 2 / smallest).bit_length()
        # A product is significand * 2**(exponent - offset): each operand brings its bias and its fraction bits.
        offset = 2 * (max(fmt.bias for fmt in formats) + max(fmt.fraction_bits for fmt in formats))
        significand_width, exponent_width = (product[field].shape.width for field in ("significand", "exponent"))
        self.fixed_point = (significand_width, grid_width, exponent_width, _log2(smallest) + offset)

        # Places from the grid's lowest up; a partial sum at their top and the products' sum do not carry out.
        self.above = sum_width(numerics.terms, grid_width) + CLEARANCE + FP32.precision
        # What makes the scales' codes the biased exponent of the highest place.
        self.to_exponent = _log2(smallest) - 2 * scale_format.bias + self.above - 1 + FP32.bias
        scale_width = scale_format.width + 1
        exponent_max = max(FP32.exponent_mask, (1 << scale_width) - 1 + self.to_exponent)
        super().__init__(
            {
                "products": In(data.ArrayLayout(product, numerics.terms)),
                "partial": In(partial),
                "scale": In(scale_width),
                "o": Out(dot_rows(BELOW + 1, self.above + 1, bits_for(exponent_max))),
            }
        )

    @staticmethod
    def padding(numerics: DotNumerics) -> int:
        """Places above the window that its exponent counts: none, for that is never below the partial sum's, 1 or more."""
        return 0

    def elaborate(self, platform):
        m = Module()
        partial = self.partial
        # How far below the window's top the partial sum stands; negative where it is above.
        distance = Signal(signed(len(self.o.exponent) + 1))
        above = distance < 0
        m.d.comb += [
            distance.eq(self.scale - (partial.exponent - self.to_exponent)),
            self.o.exponent.eq(Mux(above, partial.exponent, self.scale + self.to_exponent)),
            self.o.far.eq(distance > self.above + BELOW - FP32.precision),
        ]
        window = self.above + BELOW
        shift_bits = bits_for(window)
        max_shift = (1 << shift_bits) - 1
        align = instantiate(m, platform, "align", Align, FP32.precision, window, max_shift, Dropped.STICKY)
        m.d.comb += [
            align.i.eq(partial.significand),
            align.shift.eq(Mux(above, 0, shift_of(distance[:-1], shift_bits))),
            self.o.low.eq(align.o[: BELOW + 1]),
        ]

        terms, negative = [], []
        for k in range(self.numerics.terms):
            fixed = instantiate(m, platform, f"fixed_{k}", FixedPoint, *self.fixed_point)
            sign = Signal(name=f"negative_{k}")
            m.d.comb += [
                sign.eq(self.products[k].sign ^ partial.sign),
                fixed.i.eq(self.products[k].significand),
                fixed.exponent.eq(self.products[k].exponent),
                fixed.negative.eq(sign),
            ]
            terms.append(fixed.o)
            negative.append(sign)
        rows = two_rows(m, terms, negative, align.o[BELOW + 1 :], len(self.o.sums))
        m.d.comb += [self.o[name].eq(row) for name, row in rows.items()]
        return m


def _log2(power: Fraction) -> int:
    """The exponent of a power of two at most 1."""
    return -(power.denominator.bit_length() - 1)
