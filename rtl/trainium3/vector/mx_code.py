"""Normalised elements and their block's scale to FP8 codes.

Ref: ``nki.isa.quantize_mx`` reference page; OCP 8-bit Floating Point Specification (OFP8) 1.0.
"""

from amaranth import Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import E4M3FN, E5M2, E8M0
from bitpath.golden.formats.rounding import Rounding
from bitpath.rtl.common.arithmetic.raw import normal_sum
from bitpath.rtl.common.arithmetic.round import Round
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.vector.mx_source import EXPONENT_WIDTH, MX_NUMBER

ELEMENTS = (E4M3FN, E5M2)
"""Formats of codes, by the index that chooses them."""
BEYOND = 1 << (EXPONENT_WIDTH - 1)
"""An exponent that no format has: of an infinity, which saturates as any number beyond the range does."""


class MxCode(wiring.Component):
    """An element divided by its block's scale, rounded once to nearest even, and saturated. Combinational.

    Infinity saturates too; NaN becomes the format's NaN. Dividing by a power of two leaves the significand as it is, so
    that nothing is rounded before the code.

    Members
    -------
    i : In(MX_NUMBER)
    scale : In(8), E8M0
    element : In(1), index into :data:`ELEMENTS`
    o : Out(8)
    """

    clocked = False
    apart = True
    i: In(MX_NUMBER)
    scale: In(E8M0.width)
    element: In(1)
    o: Out(E4M3FN.width)

    def elaborate(self, platform):
        m = Module()
        number = self.i.normal
        # With both biases the same: of the quotient, without bias; a sign bit more than a difference of exponents needs.
        exponent = Signal(signed(EXPONENT_WIDTH + 1))
        m.d.comb += exponent.eq(Mux(self.i.special.inf, BEYOND, number.exponent - self.scale))
        codes = []
        for fmt in ELEMENTS:
            normal = Signal(normal_sum(fmt.precision, len(exponent)), name=f"normal_{fmt.name.lower()}")
            discarded = len(number.significand) - fmt.precision
            rounder = instantiate(
                m,
                platform,
                f"round_{fmt.name.lower()}",
                Round,
                normal.shape(),
                fmt,
                rounding=Rounding.RNE,
                subnormals=True,
                overflow_to_infinity=False,
                container=fmt,
            )
            m.d.comb += [
                normal.significand.eq(number.significand[discarded:]),
                normal.guard.eq(number.significand[discarded - 1]),
                # An element's own guard and sticky bits are 0: it has no more bits than a number.
                normal.sticky.eq(number.significand[: discarded - 1].any()),
                normal.exponent.eq(exponent),
                normal.sign.eq(number.sign),
                normal.zero.eq(number.zero),
                rounder.i.eq(normal),
                rounder.special.sign.eq(self.i.special.sign),
                rounder.special.inf.eq(0),
                rounder.special.nan.eq(self.i.special.nan),
            ]
            codes.append(rounder.o)
        m.d.comb += self.o.eq(Mux(self.element == ELEMENTS.index(E5M2), codes[1], codes[0]))
        return m
