"""FP8 or FP4 code of a normalised element and its block's scale.

Ref: ``nki.isa.quantize_mx`` reference page; OCP 8-bit Floating Point Specification (OFP8) 1.0; OCP Microscaling Formats (MX)
1.0, section 5.3.3.
"""

from amaranth import Array, Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import E2M1, E4M3FN, E5M2, E8M0
from bitpath.golden.formats.rounding import Rounding
from bitpath.rtl.common.arithmetic.raw import normal_sum
from bitpath.rtl.common.arithmetic.round import Round
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.vector.mx_source import EXPONENT_WIDTH, MX_NUMBER

ELEMENTS = (E4M3FN, E5M2, E2M1)
"""Formats of the codes, in the order of their index; an index of 3 names none."""
BEYOND = 1 << (EXPONENT_WIDTH - 1)
"""Exponent of an infinity, above every format's range, so that it saturates."""


class MxCode(wiring.Component):
    """Combinational ``o = element(i / 2**(scale - 127))``, rounded once to nearest even and saturated.

    Infinity saturates too; NaN becomes the format's NaN, or +6 in E2M1, which has none. Division by a power of two keeps the
    significand, so only the code is rounded.

    Members
    -------
    i : In(MX_NUMBER)
    scale : In(8), E8M0
    element : In(2), index into :data:`ELEMENTS`
    o : Out(8); the upper four bits of an E2M1 code are 0
    """

    clocked = False
    apart = True
    i: In(MX_NUMBER)
    scale: In(E8M0.width)
    element: In(range(len(ELEMENTS)))
    o: Out(E4M3FN.width)

    def elaborate(self, platform):
        m = Module()
        number = self.i.normal
        # Unbiased exponent of the quotient, since both biases are equal; one bit more than EXPONENT_WIDTH for BEYOND.
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
                # The element's own guard and sticky bits are 0: its significand is exact.
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
        m.d.comb += self.o.eq(Array(codes)[self.element])
        return m
