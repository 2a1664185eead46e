"""Exact product of two unpacked numbers."""

from amaranth import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.common.arithmetic.decode import raw_float


class Multiply(wiring.Component):
    """Combinational exact product ``o = a * b``: significands multiply; exponents and offsets add.

    A NaN operand and infinity times zero give NaN.

    Parameters
    ----------
    operand : layout of ``a`` and ``b``, as made by ``raw_float``.

    Members
    -------
    a, b : In(raw_float)
    o : Out(raw_float), exponent one bit wider, significand twice as wide
    """

    clocked = False

    def __init__(self, operand: data.StructLayout):
        exponent_width = operand["exponent"].shape.width + 1  # the sum of two exponents
        significand_width = 2 * operand["significand"].shape.width
        super().__init__({"a": In(operand), "b": In(operand), "o": Out(raw_float(exponent_width, significand_width))})

    def elaborate(self, platform):
        m = Module()
        a, b, o = self.a, self.b, self.o
        a_zero = ~a.significand.any()
        b_zero = ~b.significand.any()
        m.d.comb += [
            o.sign.eq(a.sign ^ b.sign),
            o.exponent.eq(a.exponent + b.exponent),
            o.significand.eq(a.significand * b.significand),
            o.nan.eq(a.nan | b.nan | (a.inf & b_zero) | (b.inf & a_zero)),
            o.inf.eq(a.inf | b.inf),
        ]
        return m
