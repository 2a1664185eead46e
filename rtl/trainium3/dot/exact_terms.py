"""Products and partial sum of the exact dot product on one fixed-point grid, as two carry-save rows.

The products have fixed places. ``distance`` counts the places from the window's top down to the partial sum's leading
bit and chooses its place. Window for E4M3FN and E5M2, ``above`` = 92 and ``BELOW`` = 25::

    bit                  117       94 93 92 91            26 25         1  0
                        +------------+-----+----------------+-------------+-+
    products            |            |     |CCPPPPPPPPPPPPPP|             | |  C carry, P product grid
    distance < 0        |pppppppppppp|     |                |             | |  left at the top, which takes its exponent
    0 <= distance <= 93 |      pppppp|ppppp|p               |             | |  exact
    distance > 93       |            |     |                |       pppppp|S|  ``far``: sticky takes the lowest bits
"""

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
"""Places between the products' sum and a partial sum at the window's top.

The products' sum is less than a quarter (``2**-CLEARANCE``) of the partial sum's last place, or half a place if the sum
loses its leading bit. All nonzero sums of products of one sign thus round alike, at greater distances too.
"""
BELOW = FP32.precision + 1
"""Places below the product grid.

In units of the lowest of them, a partial sum that loses bits is less than ``2**(precision - 1)``, and a nonzero sum
of products is ``2**BELOW`` or more. Their sum exceeds ``2**precision``: significand and guard bit end above sticky.
If the products sum to zero, the partial sum passes through unrounded.
"""


class ExactTerms(wiring.Component):
    """Combinational alignment of exact products and partial sum, with no rounding.

    The product grid reaches from the square of the smallest subnormal to the largest product: 2**-32 to 2**31 with
    E4M3FN and E5M2, 2**-18 to 2**17 with E4M3FN alone, times both scales.

    Parameters
    ----------
    numerics : formats and number of terms; ``align_fraction_bits`` is None.
    product, partial : layouts of a product and of the decoded partial sum, as made by ``raw_float``.

    Members
    -------
    products : In(ArrayLayout of raw_float), one for each term
    partial : In(raw_float)
    scale : In(9), sum of the two scales' codes
    o : Out(dot_rows)
    """

    clocked = False

    def __init__(self, numerics: DotNumerics, product: data.StructLayout, partial: data.StructLayout):
        self.numerics = numerics
        formats, scale_format = numerics.element_formats, numerics.scale_format
        smallest = min(fmt.min_subnormal for fmt in formats) ** 2
        # Every product is a multiple of the smallest one, and none exceeds the largest.
        grid_width = int(max(fmt.max for fmt in formats) ** 2 / smallest).bit_length()
        # A product is significand * 2**(exponent - offset): each operand adds its bias and its fraction bits.
        offset = 2 * (max(fmt.bias for fmt in formats) + max(fmt.fraction_bits for fmt in formats))
        widths = product["significand"].shape.width, grid_width, product["exponent"].shape.width
        self.fixed_point = (*widths, _log2(smallest) + offset)

        # From the grid's lowest place to the top: CLEARANCE keeps the products' carry out of a partial sum at the top.
        self.above = sum_width(numerics.terms, grid_width) + CLEARANCE + FP32.precision
        row_width = self.above + 1  # one bit for the sign: a sum is -2**above or more
        self.low_width = BELOW + 1  # one bit more for sticky, the OR of all below
        self.window = self.above + BELOW
        self.shift_bits = bits_for(self.window)  # a shift by the whole window leaves the sticky bit alone
        # Added to the scales' codes, it gives FP32's biased exponent of the window's top.
        self.to_exponent = _log2(smallest) - 2 * scale_format.bias + self.above - 1 + FP32.bias
        scale_width = scale_format.width + 1  # the sum of two codes carries once
        # The top has the partial sum's biased exponent or that of the scales, whichever is larger.
        exponent_max = max(FP32.exponent_mask, (1 << scale_width) - 1 + self.to_exponent)
        exponent_width = bits_for(exponent_max)
        self.distance_width = exponent_width + 1  # from to_exponent - 255 to exponent_max
        super().__init__(
            {
                "products": In(data.ArrayLayout(product, numerics.terms)),
                "partial": In(partial),
                "scale": In(scale_width),
                "o": Out(dot_rows(self.low_width, row_width, exponent_width)),
            }
        )

    @staticmethod
    def padding(numerics: DotNumerics) -> int:
        """Sign places above the window: none, since the top's exponent is at least the partial sum's, 1 or more."""
        return 0

    def elaborate(self, platform):
        m = Module()
        partial = self.partial
        distance = Signal(signed(self.distance_width))  # from the window's top down to the partial sum's leading bit
        above = distance < 0
        m.d.comb += [
            distance.eq(self.scale - (partial.exponent - self.to_exponent)),
            self.o.exponent.eq(Mux(above, partial.exponent, self.scale + self.to_exponent)),
            self.o.far.eq(distance > self.above + BELOW - FP32.precision),
        ]
        max_shift = (1 << self.shift_bits) - 1
        align = instantiate(m, platform, "align", Align, FP32.precision, self.window, max_shift, Dropped.STICKY)
        m.d.comb += [
            align.i.eq(partial.significand),
            align.shift.eq(Mux(above, 0, shift_of(distance[:-1], self.shift_bits))),
            self.o.low.eq(align.o[: self.low_width]),
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
        rows = two_rows(m, terms, negative, align.o[self.low_width :], len(self.o.sums))
        m.d.comb += [self.o[name].eq(row) for name, row in rows.items()]
        return m


def _log2(power: Fraction) -> int:
    """Exponent of a power of two that is at most 1."""
    return -(power.denominator.bit_length() - 1)
