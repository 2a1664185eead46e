"""FP32 square root, one digit a cycle."""

from amaranth import Const, Mux, Value

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.fp32.digit_recurrence import DIGITS, DigitRecurrence, Start


class SquareRoot(DigitRecurrence):
    """``o = sqrt(i)``, rounded once; a zero keeps its sign, and other negative numbers give NaN."""

    # The last step is 1 halved for every digit but the first; half of the operand needs no more bits.
    fraction_bits = DIGITS - 1
    accumulates = True

    def start(self, significand: Value, exponent: Value, special: Value) -> Start:
        # An odd exponent leaves a factor of two in the operand, which is halved.
        residue = significand << self.fraction_bits - FP32.fraction_bits - 1
        return Start(
            residue=Mux(exponent[0], residue << 1, residue),
            step=Const(1 << self.fraction_bits),
            exponent=exponent >> 1,
            sign=special.sign,
            inf=special.inf,
            nan=special.nan | (special.sign & significand.any()),
        )
