"""Significand to its place on a fixed-point grid."""

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2


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
