"""Multiplier shared by unsigned significands and short two's complement numbers.

A factor is ``magnitude - sign * 2**place``, so
``a * b = |a| * |b| + (sa & sb) * 2**(2 * place) - (sa * |b| + sb * |a|) * 2**place``. The two correction rows are smaller than
the partial products of sign-extended factors; combinational.
"""

from amaranth import Module, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out


def factor_layout(width: int) -> data.StructLayout:
    """Return the layout of a number ``magnitude - (sign << place)``: two's complement with the sign bit kept apart."""
    return data.StructLayout({"magnitude": width, "sign": 1})


class SignedProduct(wiring.Component):
    """Exact product ``o = a * b``; combinational.

    Parameters
    ----------
    width : bits of a magnitude.
    place : bit position of a sign. If either factor has a sign, both magnitudes must be below ``2**(place + 1)``.

    Members
    -------
    a, b : In(factor_layout)
    o : Out(signed(2 * max(width, place + 1) + 1))
    """

    clocked = False

    def __init__(self, width: int, place: int):
        self.place = place
        # Bits of a magnitude that a sign multiplies. Signed factors are at least -2**place: products of 2 * place + 2 bits.
        self.short = min(width, place + 1)
        factor = factor_layout(width)
        super().__init__({"a": In(factor), "b": In(factor), "o": Out(signed(2 * max(width, place + 1) + 1))})

    def elaborate(self, platform):
        m = Module()
        a, b = self.a, self.b
        of_a, of_b = (
            other.magnitude[: self.short] & each.sign.replicate(self.short) for each, other in ((a, b), (b, a))
        )
        both = (a.sign & b.sign) << 2 * self.place
        m.d.comb += self.o.eq(a.magnitude * b.magnitude + both - ((of_a + of_b) << self.place))
        return m
