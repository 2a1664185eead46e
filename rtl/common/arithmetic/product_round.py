"""Rounding of a product to a format before it is added."""

from amaranth import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from bitpath.golden.formats.dot import ProductRounding
from bitpath.rtl.common.arithmetic.decode import Decode, raw_float, raw_sum
from bitpath.rtl.common.arithmetic.normalize import Normalize
from bitpath.rtl.common.arithmetic.round import Round
from bitpath.rtl.common.pipeline.shared_instances import instantiate

#
#     o = round(significand * 2**(exponent - offset))
#
# Steps: Normalize, Round to a code of the format, Decode.
#
# Ref: `ProductRounding` of the declarations, whose one preset is a hypothesis about Trainium2.


class ProductRound(wiring.Component):
    """Combinational rounding of an exact product to a format, back as a number; NaN and infinity pass unchanged.

    Parameters
    ----------
    product : layout of the product, as made by ``raw_float``.
    offset : the product is ``significand * 2**(exponent - offset)``.
    rounding : format and rounding.

    Members
    -------
    i : In(raw_float)
    o : Out(raw_float), ``significand * 2**(exponent - bias - fraction_bits)`` of the format
    """

    clocked = False

    def __init__(self, product: data.StructLayout, offset: int, rounding: ProductRounding):
        fmt, self.offset, self.rounding = rounding.format, offset, rounding
        super().__init__({"i": In(product), "o": Out(raw_float(fmt.exponent_bits, fmt.precision))})

    def elaborate(self, platform):
        m = Module()
        fmt, i = self.rounding.format, self.i
        # The exponents of both, the product's and the format's, which may be the wider ones.
        exponent_width = max(len(i.exponent), bits_for(self.offset), fmt.exponent_bits) + 1
        total = Signal(raw_sum(len(i.significand), exponent_width))
        normalize = instantiate(m, platform, "normalize", Normalize, total.shape(), fmt.precision)
        rounder = instantiate(
            m,
            platform,
            "round",
            Round,
            normalize.o.shape(),
            fmt,
            rounding=self.rounding.rounding,
            subnormals=True,
            overflow_to_infinity=True,
            container=fmt,
        )
        decode = instantiate(m, platform, "decode", Decode, (fmt,))
        m.d.comb += [
            total.magnitude.eq(i.significand),
            total.exponent.eq(i.exponent - self.offset),
            total.sign.eq(i.sign),
            normalize.i.eq(total),
            rounder.i.eq(normalize.o),
            rounder.special.sign.eq(i.sign),
            rounder.special.inf.eq(i.inf),
            rounder.special.nan.eq(i.nan),
            decode.code.eq(rounder.o),
            self.o.eq(decode.o),
        ]
        return m
