"""FP32 reciprocal square root, one digit a cycle."""

from amaranth import Mux, Value

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.fp32.digit_recurrence import DIGITS, DigitRecurrence, Start


class ReciprocalSquareRoot(DigitRecurrence):
    """``o = 1 / sqrt(i)``, rounded once; a zero gives infinity of its sign, +infinity +0, and negative numbers NaN."""

    # The last step is the operand halved for every digit but the first.
    fraction_bits = FP32.fraction_bits + DIGITS - 1
    accumulates = True

    def start(self, significand: Value, exponent: Value, special: Value) -> Start:
        step = significand << DIGITS - 1
        return Start(
            residue=Mux(special.inf, 0, 1 << self.fraction_bits - 1),
            # An odd exponent leaves a factor of two in the operand.
            step=Mux(exponent[0], step << 1, step),
            exponent=-(exponent >> 1),
            sign=special.sign,
            inf=~significand.any(),
            nan=special.nan | (special.sign & significand.any()),
        )
