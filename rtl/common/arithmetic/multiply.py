"""Exact product of two unpacked numbers."""

from amaranth import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from bitpath.rtl.common.arithmetic.decode import raw_float

# Significand to its place on a fixed-point grid.


class FixedPoint(wiring.Component):
    """Combinational ``o = i << exponent >> origin``, in ones' complement: every bit is inverted if ``negative``.

    The exponent's low bits shift ``i`` within two digits of ``2**ceil_log2(in_width)`` bits; its high bits select two
    digits of the grid for them. All other digits repeat the sign, so inversion costs no gate there.

    Parameters
    ----------
    in_width, out_width : bits of the significand and of the grid.
    exponent_width : bits of the exponent.
    origin : exponent at which the lowest bit of ``i`` takes the grid's lowest place. Bits below the grid must be 0, and
        bits above it are discarded.

    Members
    -------
    i : In(in_width)
    exponent : In(exponent_width)
    negative : In(1)
    o : Out(out_width)
    """

    clocked = False

    def __init__(self, in_width: int, out_width: int, exponent_width: int, origin: int):
        self.out_width, self.origin = out_width, origin
        self.fine_bits = ceil_log2(in_width)
        super().__init__({"i": In(in_width), "exponent": In(exponent_width), "negative": In(1), "o": Out(out_width)})

    def elaborate(self, platform):
        m = Module()
        digit = 1 << self.fine_bits
        digits = -(-(self.origin + self.out_width) // digit)
        fine, coarse = self.exponent[: self.fine_bits], self.exponent[self.fine_bits :]

        inverted = Signal(2 * digit)
        m.d.comb += inverted.eq((self.i << fine) ^ self.negative.replicate(2 * digit))
        # One-hot for each digit of the grid: it holds the lower half of ``inverted``, the upper half, or the sign.
        lower, upper, neither = Signal(digits), Signal(digits), Signal(digits)
        m.d.comb += [
            *(lower[k].eq(coarse == k) for k in range(min(digits, 1 << len(coarse)))),
            upper.eq(lower << 1),
            neither.eq(~(lower | upper) & self.negative.replicate(digits)),
        ]
        grid = [
            (inverted[:digit] & lower[k].replicate(digit))
            | (inverted[digit:] & upper[k].replicate(digit))
            | neither[k].replicate(digit)
            for k in range(digits)
        ]
        m.d.comb += self.o.eq(Cat(grid)[self.origin :])
        return m


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
