"""FP32 reciprocal, a bit a cycle."""

from amaranth import Const, Mux, Value

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.fp32.digit_recurrence import DigitRecurrence, Start


class Reciprocal(DigitRecurrence):
    """``o = 1 / i``: infinity of the sign for a zero, zero of the sign for an infinity."""

    # The operand's own: twice a residue less the operand needs no more.
    fraction_bits = FP32.fraction_bits
    accumulates = False

    def start(self, significand: Value, exponent: Value, special: Value) -> Start:
        return Start(
            residue=Mux(special.inf, 0, 1 << self.fraction_bits - 1),
            step=significand,
            exponent=-exponent,
            sign=special.sign,
            # A zero's exponent is below every other one: all its digits are 1, and beyond the largest number.
            inf=Const(0),
            nan=special.nan,
        )
