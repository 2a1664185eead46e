"""Exact or aligned sum of a dot product: products and partial sum on one grid, carry-save rows, and their adder.

``ExactTerms`` or ``AlignedTerms`` gives two rows, ``DotTotal`` adds them; the normalisation shift of the unit follows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, ceil_log2

from bitpath.golden.formats.catalogue import FP32, FixedFormat, FloatFormat
from bitpath.golden.formats.dot import DotNumerics
from bitpath.rtl.common.arithmetic.add import carry_save
from bitpath.rtl.common.arithmetic.align import Align, Dropped, MaxExponent, shift_of
from bitpath.rtl.common.arithmetic.decode import decoded_places, moving_sum
from bitpath.rtl.common.arithmetic.multiply import FixedPoint
from bitpath.rtl.common.pipeline.shared_instances import instantiate

# Carry-save compression of a dot product's terms to two rows, and the layout of the rows.


def dot_rows(low: int, width: int, exponent_width: int) -> data.StructLayout:
    """Layout of the sum as two rows: ``total = (sums + carries + one) * 2**low_width + low``, in two's complement.

    All terms are negated if the partial sum is negative. The partial sum is thus positive, and its bits below the
    products pass unchanged in ``low``. The lowest of these is sticky; ``far`` is set if it stands for discarded bits.
    ``exponent`` is FP32's biased exponent of the highest place, as in ``moving_sum``.

    Parameters
    ----------
    low : bits of ``low``; 0 leaves out ``low`` and ``far``.
    width : bits of a row, including the sign of the sum.
    exponent_width : bits of ``exponent``.
    """
    rows = {"sums": unsigned(width), "carries": unsigned(width), "one": 1}
    below = {"low": unsigned(low), "far": 1} if low else {}
    return data.StructLayout(rows | below | {"exponent": unsigned(exponent_width)})


FOLDED_TERMS = (2, 4, 8)
"""Numbers of terms for which the constant of the sign bits needs no row of adders, as `two_rows` shows."""


def sum_width(terms: int, width: int) -> int:
    """Bits of the magnitude of a sum of ``terms`` terms of ``width`` bits."""
    return width + ceil_log2(terms)


def two_rows(m: Module, terms: list[Value], negative: list[Value], partial: Value, width: int) -> dict[str, Value]:
    """``sums + carries + one = sum((-1)**negative[k] * magnitude[k]) + partial``, modulo ``2**width``.

    Each term but the first two takes a row of full adders, and so does the partial sum.

    Parameters
    ----------
    m : module that takes the adders.
    terms : magnitudes of equal width, each inverted if its term is negative.
    negative : sign of each term.
    partial : addend, not negative.
    width : bits of a row, at least ``sum_width(len(terms), len(terms[0]))``.
    """
    count, bits = len(terms), len(terms[0])
    # A sign bit of weight -2**bits equals its complement at weight 2**bits, less 2**bits. These constants add up to
    # -count * 2**bits; of a power of two these are ones from place ``top`` up, where no term has a bit.
    rows = [Cat(term, ~sign) for term, sign in zip(terms, negative, strict=True)]
    if count not in FOLDED_TERMS:
        # The constant is a row of its own.
        constant = Const(-count << bits & (1 << width) - 1, width)
        *ones, one = negative
        sums, carries = rows[0], constant
        for row, each in zip([*rows[1:], partial], [*ones, Const(0)], strict=True):
            sums, carries = (each[:width] for each in carry_save(m, sums, carries, row, one=each))
        return {"sums": sums, "carries": carries, "one": one}
    first, second, *others = rows
    top = sum_width(count, bits)
    # -x = ~x + 1: each negative term adds a one, all but the last in the free lowest place of a row of carries.
    *ones, one = negative
    rows = first, second
    for term, each in zip(others, ones, strict=False):
        rows = carry_save(m, *rows, term, one=each)
    sums, carries = rows
    # The constant's ones replace ``sums`` from ``top`` up, where ``sums`` is 0. Above the terms, each term from the
    # third on half-adds the two rows with at most one carry from below: (s, c) -> (s ^ c, 2 * (s & c) + carry). Eight
    # terms take six steps; s can reach ``top``, the third place above the terms, in the seventh. Four terms take two
    # steps; s can reach ``top``, the second place above the terms, in the fourth.
    sums, carries = carry_save(m, Cat(sums[:top], Const(-1, width - top)), carries, partial, one=ones[-1])
    return {"sums": sums, "carries": carries, "one": one}


# Products and partial sum of the exact dot product on one fixed-point grid, as two carry-save rows.
#
# The products have fixed places. ``distance`` counts the places from the window's top down to the partial sum's leading
# bit and chooses its place. Window for E4M3FN and E5M2, ``above`` = 92 and ``BELOW`` = 25::
#
#     bit                  117       94 93 92 91            26 25         1  0
#                         +------------+-----+----------------+-------------+-+
#     products            |            |     |CCPPPPPPPPPPPPPP|             | |  C carry, P product grid
#     distance < 0        |pppppppppppp|     |                |             | |  left at the top, which takes its exponent
#     0 <= distance <= 93 |      pppppp|ppppp|p               |             | |  exact
#     distance > 93       |            |     |                |       pppppp|S|  ``far``: sticky takes the lowest bits


@dataclass(frozen=True)
class ProductRange:
    """Products that a sum takes, without their common scale: ``significand * 2**(exponent - bias - fraction_bits)``.

    Attributes
    ----------
    smallest, largest : every nonzero product is a multiple of ``smallest`` and at most ``largest``; ``smallest`` is a power
        of two.
    bias, fraction_bits : of a product; its significand is less than 4 in units of ``2**fraction_bits``.
    """

    smallest: Fraction
    largest: Fraction
    bias: int
    fraction_bits: int

    @classmethod
    def of(cls, formats: Sequence[FloatFormat | FixedFormat]) -> "ProductRange":
        """Return the range of exact products of two decoded elements of these formats."""
        smallest, largest = min(fmt.min_subnormal for fmt in formats), max(fmt.max for fmt in formats)
        bias, fraction_bits = decoded_places(formats)
        return cls(smallest**2, largest**2, 2 * bias, 2 * fraction_bits)


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
    values : products that ``products`` has; those of the numerics' elements by default.

    Members
    -------
    products : In(ArrayLayout of raw_float), one for each term
    partial : In(raw_float)
    scale : In(9), sum of the two scales' codes
    o : Out(dot_rows)
    """

    clocked = False

    def __init__(
        self,
        numerics: DotNumerics,
        product: data.StructLayout,
        partial: data.StructLayout,
        values: ProductRange | None = None,
    ):
        self.numerics = numerics
        scale_format = numerics.scale_format
        values = values or ProductRange.of(numerics.element_formats)
        smallest, offset = values.smallest, values.bias + values.fraction_bits
        grid_width = int(values.largest / smallest).bit_length()
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
    """Exponent of a power of two."""
    return power.numerator.bit_length() - power.denominator.bit_length()


# Products and partial sum of the aligned dot product, shifted to their largest exponent, as two carry-save rows.
#
# Window for four products and F = ``align_fraction_bits`` = 16. E is the largest exponent; bits below F are truncated, or
# round the term to nearest even::
#
#     bit  45                21 20    18 17    16 15             0
#         +--------------------+--------+--------+----------------+
#         | copies of the sign | carry  | < 4    | F fraction bits|
#         +--------------------+--------+--------+----------------+
#          padding, 25          3        2        16
#                                              ^ bit 16 has weight 2**E


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

    def __init__(
        self,
        numerics: DotNumerics,
        product: data.StructLayout,
        partial: data.StructLayout,
        values: ProductRange | None = None,
    ):
        self.numerics = numerics
        values = values or ProductRange.of(numerics.element_formats)
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
        self.to_biased -= values.bias
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


# Carry-propagate adder of the quad-MX dot product.


class DotTotal(wiring.Component):
    """Combinational adder of two carry-save rows: ``o = (sums + carries + one) * 2**low_width + low``.

    Parameters
    ----------
    rows : layout of the rows, as made by ``dot_rows``.
    padding : copies of the sign above the rows, which ``exponent`` counts.

    Members
    -------
    i : In(dot_rows)
    o : Out(moving_sum)
    alone : Out(1), 1 if the products sum to zero and the partial sum has lost bits: it passes through unrounded
    """

    clocked = False

    def __init__(self, rows: data.StructLayout, padding: int):
        # Digits of the sum: padding, the rows without their sign, and the bits below them.
        self.low = "low" in rows.members
        width = padding + rows["sums"].shape.width - 1 + (rows["low"].shape.width if self.low else 0)
        self.levels = ceil_log2(width)  # of a normalisation shift by up to width - 1
        total = moving_sum(width, rows["exponent"].shape.width, self.levels)
        super().__init__({"i": In(rows), "o": Out(total), "alone": Out(1)})

    def elaborate(self, platform):
        m = Module()
        i = self.i
        # One adder: ``one`` is its carry in, made by a place below the lowest.
        high = (Cat(i.one, i.sums) + Cat(i.one, i.carries))[1 : len(i.sums) + 1]
        allowed = Signal.like(i.exponent)
        m.d.comb += [
            allowed.eq(i.exponent - 1),
            self.o.digits.eq((Cat(i.low, high) if self.low else high).as_signed()),
            self.o.sign.eq(high[-1]),
            self.o.exponent.eq(i.exponent),
            self.o.free.eq(allowed[self.levels :].any()),
            self.o.allowed.eq(allowed),
            # A far partial sum has no bit in the products' places.
            self.alone.eq(i.far & ~high.any() if self.low else 0),
        ]
        return m
