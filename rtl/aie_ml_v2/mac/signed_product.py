"""Products of unsigned significands, and of short two's complement numbers, in one multiplier."""

from amaranth import Module, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out


def factor_layout(width: int) -> data.StructLayout:
    """A number ``magnitude - (sign << place)``: of two's complement the sign bit, and the others as magnitude."""
    return data.StructLayout({"magnitude": width, "sign": 1})


class SignedProduct(wiring.Component):
    """``o = a * b``, exactly: the magnitudes' product, and what the signs take from it. Combinational.

    The two rows that a sign adds to the multiplier are smaller than partial products of sign extended factors.

    Parameters
    ----------
    width : bits of a magnitude.
    place : of a sign. Where either factor has one, both magnitudes are below ``2**(place + 1)``.

    Members
    -------
    a, b : In(factor_layout)
    o : Out(signed(2 * max(width, place + 1) + 1))
    """

    clocked = False

    def __init__(self, width: int, place: int):
        self.place = place
        # Of a magnitude beside a sign; such factors are -2**place at least, whose product needs 2 * place + 2 bits.
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
