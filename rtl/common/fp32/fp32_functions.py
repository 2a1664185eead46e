"""Parallel lanes of an FP32 function."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.arithmetic.decode import SPECIAL, Decode, raw_sum
from bitpath.rtl.common.arithmetic.normalize import Normalize
from bitpath.rtl.common.config import UnitConfig, in_range
from bitpath.rtl.common.fp32.fp32_arithmetic import Fp32Result
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup

# Digit recurrence of FP32 reciprocal, square root and reciprocal square root: one digit a cycle, then one rounding.
#
# Each finds, digit by digit, the largest ``Y`` on a grid of ``2**-j`` whose residue is not negative:
#
#     reciprocal of m                 1 - m * Y
#     square root of m                m - Y * Y
#     reciprocal square root of m     1 - m * Y * Y
#
# The residue is kept times ``2**j``. A digit of 1 subtracts ``2 * total + step`` from twice the residue:
#
#     reciprocal of m                 step = m            total = 0
#     square root of m                step = 2**-j        total = Y
#     reciprocal square root of m     step = m * 2**-j    total = m * Y
#
# No bit is discarded, so the last residue is nonzero exactly if the result is inexact: it is the sticky bit.


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


# FP32 reciprocal, one digit a cycle.


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


# FP32 reciprocal square root, one digit a cycle.


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


# FP32 square root, one digit a cycle.


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


@dataclass(frozen=True, kw_only=True)
class Fp32LanesConfig(UnitConfig, unit="fp32 function"):
    """Configuration of the lanes of an FP32 function.

    Attributes
    ----------
    lanes : operands of one beat, 1 to 128.
    """

    lanes: int = in_range(1, 128, 4)


class Fp32Lanes(wiring.Component):
    """Lanes in lockstep: one beat of operands enters all lanes together, and its results leave together.

    Latency and throughput are those of the function: one beat every LATENCY cycles.

    Parameters
    ----------
    function : component of a lane.
    config : number of lanes.

    Members
    -------
    i, o : In, Out(stream of ArrayLayout(32, lanes)), FP32 codes
    """

    def __init__(self, function: type[DigitRecurrence], config: Fp32LanesConfig):
        self.function, self.config = function, config
        codes = data.ArrayLayout(FP32.width, config.lanes)
        super().__init__({"i": In(stream.Signature(codes)), "o": Out(stream.Signature(codes))})

    def elaborate(self, platform):
        m = Module()
        for k in range(self.config.lanes):
            lane = instantiate(m, platform, f"lane_{k}", self.function)
            m.d.comb += [
                lane.i.p.eq(self.i.p[k]),
                lane.i.valid.eq(self.i.valid),
                lane.o.ready.eq(self.o.ready),
                self.o.p[k].eq(lane.o.p),
            ]
            if k == 0:  # all lanes have the same handshake
                m.d.comb += [self.i.ready.eq(lane.i.ready), self.o.valid.eq(lane.o.valid)]
        return m


FUNCTION_GROUPS = (
    WaveGroup("first lane, its operand", r"lane_0\.(i__|decode|normalize|number)"),
    WaveGroup("first lane, recurrence", r"lane_0\.(left|busy|residue|remainder|step|total|digits|exponent|special)"),
    WaveGroup("first lane, result", r"lane_0\.(exact|result|o__)"),
)


RECORDS = (
    Unit(
        name="reciprocal",
        config_type=Fp32LanesConfig,
        build=partial(Fp32Lanes, Reciprocal),
        summary="FP32: lanes of 1 / x, a bit a cycle",
        covered=Covered(Fp32LanesConfig(lanes=2), 100, {"BITPATH_VOLUME": "20000"}),
        judges=(Judge(6, Fp32LanesConfig()),),
        waves=(CLOCK, INPUTS, *FUNCTION_GROUPS, OUTPUT),
    ),
    Unit(
        name="reciprocal_square_root",
        config_type=Fp32LanesConfig,
        build=partial(Fp32Lanes, ReciprocalSquareRoot),
        summary="FP32: lanes of 1 / sqrt(x), a bit a cycle",
        covered=Covered(Fp32LanesConfig(lanes=2), 100, {"BITPATH_VOLUME": "20000"}),
        judges=(Judge(8, Fp32LanesConfig()),),
        waves=(CLOCK, INPUTS, *FUNCTION_GROUPS, OUTPUT),
    ),
    Unit(
        name="square_root",
        config_type=Fp32LanesConfig,
        build=partial(Fp32Lanes, SquareRoot),
        summary="FP32: lanes of sqrt(x), a bit a cycle",
        covered=Covered(Fp32LanesConfig(lanes=2), 100, {"BITPATH_VOLUME": "20000"}),
        judges=(Judge(7, Fp32LanesConfig()),),
        waves=(CLOCK, INPUTS, *FUNCTION_GROUPS, OUTPUT),
    ),
)
