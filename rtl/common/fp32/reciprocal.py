"""FP32 reciprocal, one digit a cycle."""

from amaranth import Const, Mux, Value

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.fp32.digit_recurrence import DigitRecurrence, Start


class Reciprocal(DigitRecurrence):
    """``o = 1 / i``, rounded once; a zero gives infinity and an infinity zero, with the operand's sign."""

    # The operand's own fraction bits: a doubled residue less the operand needs no more.
    fraction_bits = FP32.fraction_bits
    accumulates = False

    def start(self, significand: Value, exponent: Value, special: Value) -> Start:
        return Start(
            residue=Mux(special.inf, 0, 1 << self.fraction_bits - 1),
            step=significand,
            exponent=-exponent,
            sign=special.sign,
            # A zero has the lowest exponent: all digits are 1, and the result overflows.
            inf=Const(0),
            nan=special.nan,
        )
