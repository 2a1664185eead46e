"""Digit recurrence of FP32 reciprocal, square root and reciprocal square root: one digit a cycle, then one rounding.

Each finds, digit by digit, the largest ``Y`` on a grid of ``2**-j`` whose residue is not negative:

    reciprocal of m                 1 - m * Y
    square root of m                m - Y * Y
    reciprocal square root of m     1 - m * Y * Y

The residue is kept times ``2**j``. A digit of 1 subtracts ``2 * total + step`` from twice the residue:

    reciprocal of m                 step = m            total = 0
    square root of m                step = 2**-j        total = Y
    reciprocal square root of m     step = m * 2**-j    total = m * Y

No bit is discarded, so the last residue is nonzero exactly if the result is inexact: it is the sticky bit.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.arithmetic.decode import Decode
from bitpath.rtl.common.arithmetic.normalize import Normalize
from bitpath.rtl.common.arithmetic.raw import SPECIAL, raw_sum
from bitpath.rtl.common.fp32.fp32_result import Fp32Result
from bitpath.rtl.common.pipeline.shared_instances import instantiate

DIGITS = FP32.precision + 2
"""Bits of a result, from weight 1 down: precision, one because the leading bit may have weight 1/2, and a guard bit."""
INTEGER_BITS = 3
"""Integer bits of residue, total and step: step <= m < 4, total <= sqrt(m) < 2, and residue < 2 * total + step < 8."""
OFFSET = FP32.bias + FP32.fraction_bits
"""A decoded number is ``significand * 2**(exponent - OFFSET)``."""
EXPONENT_WIDTH = bits_for(OFFSET + FP32.precision) + 1
"""Bits of the signed exponent of an operand's leading bit, whose magnitude is largest for the smallest subnormal."""


@dataclass(frozen=True)
class Start:
    """Initial state of a recurrence, and the sign, scale and special value of its result.

    Attributes
    ----------
    residue, step : fixed-point numbers with the function's ``fraction_bits``; a residue of 0 gives zero.
    exponent : exponent of the result's digit of weight 1.
    sign : sign of the result, also of an infinity or zero.
    inf, nan : 1 if the result is infinite or NaN.
    """

    residue: Value
    step: Value
    exponent: Value
    sign: Value
    inf: Value
    nan: Value


class DigitRecurrence(wiring.Component):
    """A correctly rounded FP32 function of one operand, subnormals included.

    One digit a cycle, then one rounding to nearest even. Latency is LATENCY cycles for every operand. The unit holds one
    operand; the next may enter in the cycle in which the result leaves.

    Members
    -------
    i : In(stream of 32 bits), an FP32 code
    o : Out(stream of 32 bits), an FP32 code
    """

    LATENCY = DIGITS + 1
    """Cycles from an operand to its result: one to unpack it, one for each digit."""

    fraction_bits: int
    """Fraction bits of residue, total and step; the recurrence is exact with these."""
    accumulates: bool
    """True if each digit halves the step, and a digit of 1 adds it to the total."""

    def __init__(self):
        super().__init__({"i": In(stream.Signature(FP32.width)), "o": Out(stream.Signature(FP32.width))})

    @abstractmethod
    def start(self, significand: Value, exponent: Value, special: Value) -> Start:
        """Initial state for the operand ``significand * 2**(exponent - fraction_bits)``.

        The significand has FP32's precision, its leading bit set, or is 0. ``special`` (SPECIAL) has the operand's sign.
        """

    def elaborate(self, platform):
        m = Module()
        width = INTEGER_BITS + self.fraction_bits
        residue, step, total = (Signal(width, name=name, reset_less=True) for name in ("residue", "step", "total"))
        digits = Signal(DIGITS, reset_less=True)
        exponent = Signal(signed(EXPONENT_WIDTH), reset_less=True)
        special = Signal(SPECIAL, reset_less=True)
        busy = Signal()
        left = Signal(range(DIGITS + 1), reset_less=True)

        # One bit for the doubled residue, one for the sign.
        remainder = Signal(signed(width + 2))
        fits = ~remainder[-1]
        m.d.comb += remainder.eq((residue << 1) - (total << 1) - step)
        with m.If(left.any()):
            m.d.sync += [
                left.eq(left - 1),
                digits.eq(Cat(fits, digits)),
                residue.eq(Mux(fits, remainder, residue << 1)),
            ]
            if self.accumulates:
                m.d.sync += [step.eq(step >> 1), total.eq(total + Mux(fits, step, 0))]

        begins = self._unpack(m, platform)
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += [
                busy.eq(1),
                left.eq(DIGITS),
                residue.eq(begins.residue),
                step.eq(begins.step),
                total.eq(0),
                exponent.eq(begins.exponent),
                special.eq(Cat(begins.sign, begins.inf, begins.nan)),
            ]
        with m.Elif(self.o.valid & self.o.ready):
            m.d.sync += busy.eq(0)

        # The lowest bit is sticky, below the last digit. The magnitude is 0 until all digits are there, so that the
        # rounder does not switch.
        exact = Signal(raw_sum(DIGITS + 1, EXPONENT_WIDTH + 1))
        result = instantiate(m, platform, "result", Fp32Result, exact.shape())
        m.d.comb += [
            exact.magnitude.eq(Mux(left.any(), 0, Cat(residue.any(), digits))),
            exact.exponent.eq(exponent - DIGITS),
            exact.sign.eq(special.sign),
            result.i.eq(exact),
            result.special.eq(special),
            self.o.p.eq(result.o),
            self.o.valid.eq(busy & ~left.any()),
            self.i.ready.eq(~busy | (self.o.valid & self.o.ready)),
        ]
        return m

    def _unpack(self, m: Module, platform: Any) -> Start:
        """Initial state for the operand at ``i``."""
        decode = instantiate(m, platform, "decode", Decode, (FP32,))
        number = Signal(raw_sum(FP32.precision, EXPONENT_WIDTH))
        normalize = instantiate(m, platform, "normalize", Normalize, number.shape(), FP32.precision)
        special = Signal(SPECIAL)
        m.d.comb += [
            decode.code.eq(self.i.p),
            number.magnitude.eq(decode.o.significand),
            number.exponent.eq(decode.o.exponent - OFFSET),
            normalize.i.eq(number),
            special.eq(Cat(decode.o.sign, decode.o.inf, decode.o.nan)),
        ]
        return self.start(normalize.o.significand, normalize.o.exponent, special)
