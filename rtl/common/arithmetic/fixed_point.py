"""Significands onto a fixed-point grid."""

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2


class FixedPoint(wiring.Component):
    """``o = i << exponent >> origin``, every bit of it inverted where ``negative``: a ones' complement. Combinational.

    The exponent's low bits shift ``i`` within two digits, as wide as ``i`` or a little wider; its high bits say which
    two digits of the grid these are. All other digits repeat the sign: so inverting costs no gate there.

    Parameters
    ----------
    in_width, out_width : bits of the significand, and of the grid.
    exponent_width : bits of the exponent.
    origin : the exponent at which the lowest bit of ``i`` has the grid's lowest place. The user knows that what falls
        below the grid is 0, and that what falls above it is 0 too or does not matter.

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
        digits = -(-(self.origin + self.out_width) // digit)  # rounded up
        fine, coarse = self.exponent[: self.fine_bits], self.exponent[self.fine_bits :]

        flipped = Signal(2 * digit)
        m.d.comb += flipped.eq((self.i << fine) ^ self.negative.replicate(2 * digit))
        # Whether a digit of the grid holds the lower half of ``flipped``, or the upper, or only the sign.
        lower, upper, neither = Signal(digits), Signal(digits), Signal(digits)
        m.d.comb += [
            *(lower[k].eq(coarse == k) for k in range(min(digits, 1 << len(coarse)))),
            upper.eq(lower << 1),
            neither.eq(~(lower | upper) & self.negative.replicate(digits)),
        ]
        grid = [
            (flipped[:digit] & lower[k].replicate(digit))
            | (flipped[digit:] & upper[k].replicate(digit))
            | neither[k].replicate(digit)
            for k in range(digits)
        ]
        m.d.comb += self.o.eq(Cat(grid)[self.origin :])
        return m
