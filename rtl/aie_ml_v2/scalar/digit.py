"""Digit of the recurrence of reciprocal, square root and reciprocal square root.

Of a significand m, for the reciprocal in [1, 2), else in [1, 4), all find the largest Y on a grid of 2**-j whose residue R is
not negative:

    reciprocal                 R = 2**j * (1 - m * Y)
    square root                R = 2**j * (m - Y * Y)
    reciprocal square root     R = 2**j * (1 - m * Y * Y)

The digit of weight 2**-j is 1 where ``2 * R - 2 * T - S``, the next residue, is not negative:

    reciprocal                 S = m            T = 0
    square root                S = 2**-j        T = Y
    reciprocal square root     S = m * 2**-j    T = m * Y

**No bit is discarded**, so that there is no error to bound. With y the exact result, Y <= y < Y + 2**-j. So R is below 2 for the
reciprocal (m * (y - Y) * 2**j), and for the roots below 4: (y - Y) * (y + Y) * 2**j < 2 * y, and m times this, 2 * m * y. T is
at most 2, and T = 2 is not reached: Y < 2, and m * Y <= sqrt(m) < 2. R and T need 23 + j fraction bits, as m * 2**-j has.
"""

from amaranth import Module, Mux, Signal, signed
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32

DIGITS = FP32.precision + 1
"""Digits below weight 1: the rest of the precision, one because the leading digit may have weight 1/2, and a guard digit."""
STEP_BITS = FP32.precision + 1
"""Bits of m below 4."""


def residue_bits(place: int) -> int:
    """Return the bits of the residue after the digit of weight ``2**-place``: 2 integer bits."""
    return 2 + FP32.fraction_bits + place


def total_bits(place: int) -> int:
    """Return the bits of T behind this digit: 1 integer bit."""
    return 1 + FP32.fraction_bits + place


class Digit(wiring.Component):
    """The digit of weight ``2**-place``; combinational.

    Parameters
    ----------
    place : 1 to DIGITS.

    Members
    -------
    reciprocal : In(1), selects S and T of the reciprocal
    step : In(25), m with 23 fraction bits; 1.0 for the square root
    residue : In(residue_bits(place - 1)), R of the digits before
    total : In(total_bits(place - 1)), T of the digits before
    digit : Out(1)
    next_residue, next_total : Out(residue_bits(place)), Out(total_bits(place)), with this digit
    """

    clocked = False

    def __init__(self, place: int):
        self.place = place
        super().__init__(
            {
                "reciprocal": In(1),
                "step": In(STEP_BITS),
                "residue": In(residue_bits(place - 1)),
                "total": In(total_bits(place - 1)),
                "digit": Out(1),
                "next_residue": Out(residue_bits(place)),
                "next_total": Out(total_bits(place)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # With one fraction bit more than before, doubled numbers move up by two places.
        doubled = self.residue.shift_left(2)
        # In this grid m * 2**-place is m's own bits.
        step = Mux(self.reciprocal, self.step.shift_left(self.place), self.step)
        less, remainder = Signal(signed(len(self.residue) + 1)), Signal(signed(len(doubled) + 1))
        m.d.comb += [
            less.eq(self.residue - self.total),
            remainder.eq(less.shift_left(2) - step),
            self.digit.eq(~remainder[-1]),
            self.next_residue.eq(Mux(self.digit, remainder, doubled)),
            self.next_total.eq(self.total.shift_left(1) + Mux(self.digit & ~self.reciprocal, self.step, 0)),
        ]
        return m
