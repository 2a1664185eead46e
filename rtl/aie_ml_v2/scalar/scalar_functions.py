"""Inverse, square root and inverse square root of the scalar unit, one a cycle.

::

     operand      FP32, or an integer converted to it
       |          leading bit, exponent, first digits          [register "digits_0"]
       |          digits                                       [register "digits_1"]
       |          last digits, rounding                        [register "digits_2"]
     result       FP32, or converted to an integer

The digits are those of `Digit`, one after the other: no bit is discarded, and the last residue is the sticky bit. Results are
correctly rounded, subnormals on both sides included.

Latency: 3 cycles, the number of stages in the configuration. Throughput: one operation a cycle.

Ref: AM027, Scalar Unit, for throughput; llvm-aie for the result in cycle 4 and for the integer forms; AM029 for the flags.
"""

from dataclasses import dataclass
from itertools import count
from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.mover import ScalarFunction
from bitpath.golden.formats.catalogue import FP32, Rounding
from bitpath.rtl.aie_ml_v2.floats.fix_float import FixToFloat, FloatToFix
from bitpath.rtl.aie_ml_v2.floats.layouts import SHIFT, TO_FIX_FLAGS, TO_FLOAT_FLAGS
from bitpath.rtl.common.arithmetic.decode import SPECIAL, Decode, raw_sum
from bitpath.rtl.common.arithmetic.normalize import Normalize
from bitpath.rtl.common.arithmetic.round import increment
from bitpath.rtl.common.config import require_integer
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup

# Digit of the recurrence of reciprocal, square root and reciprocal square root.
#
# For a significand m, in [1, 2) for the reciprocal, else in [1, 4), all find the largest Y on a grid of 2**-j whose
# residue R is not negative:
#
#     reciprocal                 R = 2**j * (1 - m * Y)
#     square root                R = 2**j * (m - Y * Y)
#     reciprocal square root     R = 2**j * (1 - m * Y * Y)
#
# The digit of weight 2**-j is 1 where ``2 * R - 2 * T - S``, the next residue, is not negative:
#
#     reciprocal                 S = m            T = 0
#     square root                S = 2**-j        T = Y
#     reciprocal square root     S = m * 2**-j    T = m * Y
#
# **No bit is discarded**, so that there is no error to bound. With y the exact result, Y <= y < Y + 2**-j. So R is below 2 for the
# reciprocal (m * (y - Y) * 2**j), and for the roots below 4: (y - Y) * (y + Y) * 2**j < 2 * y, and m times this, 2 * m * y. T is
# at most 2, and T = 2 is not reached: Y < 2, and m * Y <= sqrt(m) < 2. R and T need 23 + j fraction bits, as m * 2**-j has.


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


# Layouts of requests and results of the scalar functions.


class FunctionCode(enum.Enum, shape=2):
    """Codes of the scalar functions, as commands hold them."""

    INV = 0
    SQRT = 1
    INVSQRT = 2

    @classmethod
    def of(cls, function: ScalarFunction) -> "FunctionCode":
        """Return the code of a declared function."""
        return cls[function.name]


class FunctionControl(data.Struct):
    """Function; whether operand and result are integers, and their fraction bits if they are."""

    op: FunctionCode
    fix_in: 1
    fix_out: 1
    shift_in: SHIFT
    shift_out: SHIFT


class FunctionRequest(data.Struct):
    """Operand, FP32 or an integer, and control."""

    x: FP32.width
    control: FunctionControl


class FunctionFlags(data.Struct):
    """Flags of the function: its result is a zero, infinite, NaN, below the normal numbers, beyond the largest, not exact."""

    zero: 1
    infinity: 1
    invalid: 1
    tiny: 1
    huge: 1
    inexact: 1


class FunctionResult(data.Struct):
    """Result, FP32 or an integer, with the flags of the function, and of the conversions that the control asked for."""

    y: FP32.width
    flags: FunctionFlags
    to_float: TO_FLOAT_FLAGS
    to_fix: TO_FIX_FLAGS


# Rounding of the digits of a scalar function to FP32.
#
# ::
#
#      digits       1.xxxx  or  0.1xxx      26 bits, moved up by one place in the second case
#      significand  24 bits | G | sticky    moved down by one or two places where the reciprocal is subnormal
#
# Results are at least 2**-128, so that two places suffice.


EXPONENT_BITS = 9
"""Bits of a signed exponent: from -149, of the smallest subnormal, to 149, of its reciprocal."""


class FunctionRound(wiring.Component):
    """``o = digits * 2**exponent``, rounded once to nearest even, or the special value; combinational.

    Members
    -------
    digits : In(26), the digit of weight 1 is the highest; it or the next one is 1
    sticky : In(1), 1 if the digits are not the exact result
    exponent : In(signed(9))
    special : In(SPECIAL); the sign is that of every result
    zero : In(1), 1 if the result is an exact zero
    o : Out(32), FP32
    flags : Out(FunctionFlags)
    """

    clocked = False
    digits: In(DIGITS + 1)
    sticky: In(1)
    exponent: In(signed(EXPONENT_BITS))
    special: In(SPECIAL)
    zero: In(1)
    o: Out(FP32.width)
    flags: Out(FunctionFlags)

    def elaborate(self, platform):
        m = Module()
        leading = self.digits[-1]
        normal = Cat(self.sticky, Mux(leading, self.digits, self.digits << 1)[: len(self.digits)])
        biased = Signal(signed(EXPONENT_BITS + 1))
        moved = Signal(len(normal))
        tiny, huge = biased <= 0, biased >= FP32.exponent_mask
        m.d.comb += [biased.eq(self.exponent + (FP32.bias - 1) + leading), moved.eq(normal)]
        with m.If(biased == 0):
            m.d.comb += moved.eq(Cat(normal[:2].any(), normal[2:]))
        with m.Elif(tiny):
            m.d.comb += moved.eq(Cat(normal[:3].any(), normal[3:]))
        sticky, guard, kept = moved[:2].any(), moved[2], moved[3:]
        up = increment(Rounding.RNE, odd=kept[0], guard=guard, sticky=sticky, negative=self.special.sign)
        # The hidden bit of a subnormal is 0. A carry out of the fraction adds one to the exponent.
        field = Mux(tiny, 0, biased[: FP32.exponent_bits])
        rounded = Signal(FP32.width - 1)
        m.d.comb += rounded.eq(Cat(kept[:-1], field) + up)

        flags, special = self.flags, self.special
        with m.If(special.nan):
            m.d.comb += [self.o.eq(FP32.nan_code), flags.invalid.eq(1)]
        with m.Elif(special.inf):
            m.d.comb += [self.o.eq(Cat(Const(FP32.infinity_code, FP32.width - 1), special.sign)), flags.infinity.eq(1)]
        with m.Elif(self.zero):
            m.d.comb += [self.o.eq(special.sign << FP32.width - 1), flags.zero.eq(1)]
        with m.Else():
            m.d.comb += [
                self.o.eq(Cat(Mux(huge, FP32.infinity_code, rounded), special.sign)),
                flags.infinity.eq(huge),
                flags.tiny.eq(tiny),
                flags.huge.eq(huge),
                flags.inexact.eq(huge | guard | sticky),
            ]
        return m


# Configuration of the scalar functions.


@dataclass(frozen=True, kw_only=True)
class ScalarFunctionsConfig:
    """Pipeline of the scalar functions; results do not depend on it.

    Attributes
    ----------
    digits : digits of the recurrence before each pipeline register; 25 in all. The machine answers after 3 cycles. The first
        stage also unpacks the operand, and the last one rounds.
    """

    digits: tuple[int, ...] = (6, 12, 7)

    def __post_init__(self) -> None:
        for digits in self.digits:
            require_integer("scalar functions", "digits", digits)
        if sum(self.digits) != DIGITS or min(self.digits, default=0) < 0:
            raise ValueError(
                f"scalar functions: digits must be numbers from 0 up with the sum {DIGITS}, not {self.digits}"
            )


OFFSET = FP32.bias + FP32.fraction_bits
"""A decoded number is ``significand * 2**(exponent - OFFSET)``."""
ONE = 1 << FP32.fraction_bits
"""1.0 with 23 fraction bits."""


class ScalarFunctions(wiring.Component):
    """``y = 1 / x``, ``sqrt(x)`` or ``1 / sqrt(x)``, of floats or of integers times ``2**-shift_in``.

    With ``fix_out`` the result is the integer nearest to ``y * 2**shift_out``, rounded a second time. Back-pressure: all stages
    stall while a result waits for ``o.ready``.

    Parameters
    ----------
    config : ScalarFunctionsConfig, the digits of each stage.

    Members
    -------
    i : In(stream of FunctionRequest)
    o : Out(stream of FunctionResult)
    """

    def __init__(self, config: ScalarFunctionsConfig):
        self.config = config
        super().__init__({"i": In(stream.Signature(FunctionRequest)), "o": Out(stream.Signature(FunctionResult))})

    @property
    def latency(self) -> int:
        """Cycles from a request to its result."""
        return len(self.config.digits)

    def elaborate(self, platform):
        m = Module()
        stages = self.config.digits
        steps = [f"digits_{k}" for k in range(len(stages))]
        registers = PipelineRegisters(m, steps, valid=self.i.valid, ready=self.o.ready)
        state, places = self._begin(m, platform), count(1)
        for step, digits in zip(steps, stages, strict=True):
            for _ in range(digits):
                state |= self._digit(m, platform, next(places), state)
            if step == steps[-1]:
                state = {"result": self._finish(m, platform, state)}
            state = dict(zip(state, registers.hold(step, **state), strict=True))
        m.d.comb += [
            self.o.p.eq(state["result"]),
            self.o.valid.eq(registers.valid),
            self.i.ready.eq(registers.finish()),
        ]
        return m

    def _begin(self, m: Module, platform: Any) -> dict[str, Value]:
        """Return the state after the digit of weight 1, and the operand's class, control and flags."""
        request = self.i.p
        control = request.control
        convert = instantiate(m, platform, "fix_to_float", FixToFloat)
        decode = instantiate(m, platform, "decode", Decode, (FP32,))
        number = Signal(raw_sum(FP32.precision, EXPONENT_BITS))
        normalize = instantiate(m, platform, "normalize", Normalize, number.shape(), FP32.precision)
        m.d.comb += [
            convert.i.eq(request.x),
            convert.control.shift.eq(control.shift_in),
            decode.code.eq(Mux(control.fix_in, convert.o, request.x)),
            number.magnitude.eq(decode.o.significand),
            number.exponent.eq(decode.o.exponent - OFFSET),
            normalize.i.eq(number),
        ]
        reciprocal, root = (control.op == code for code in (FunctionCode.INV, FunctionCode.SQRT))
        significand, exponent = normalize.o.significand, normalize.o.exponent
        # The roots leave a factor of two of an odd exponent in the significand.
        odd = exponent[0] & ~reciprocal
        operand = Signal(STEP_BITS)
        one = Signal()
        half = Mux(reciprocal, exponent, exponent >> 1)
        scale = Signal(signed(EXPONENT_BITS))
        special = Signal(SPECIAL)
        nothing, below = normalize.o.zero, decode.o.sign & ~reciprocal
        m.d.comb += [
            operand.eq(Mux(odd, significand << 1, significand)),
            one.eq(operand == ONE),
            scale.eq(Mux(root, half, -half)),
            special.nan.eq(decode.o.nan | (below & ~nothing)),
            special.inf.eq(Mux(root, decode.o.inf, nothing)),
            special.sign.eq(decode.o.sign),
        ]
        leading = root | one
        return {
            "reciprocal": reciprocal,
            "operand": Mux(root, ONE, operand),
            # m - 1, of an inverse 1 - m where that is 0, else 1.
            "residue": Mux(root, operand - ONE, Mux(one, 0, ONE))[:STEP_BITS],
            "total": (leading & ~reciprocal).shift_left(FP32.fraction_bits),
            "digits": leading,
            "exponent": scale,
            "special": special.as_value(),
            "zero": Mux(root, nothing, decode.o.inf),
            "fix": Cat(control.fix_out, control.shift_out),
            "to_float": Mux(control.fix_in, Value.cast(convert.flags), 0),
        }

    @staticmethod
    def _digit(m: Module, platform: Any, place: int, state: dict[str, Value]) -> dict[str, Value]:
        """Return residue, total and digits with the digit of weight ``2**-place``."""
        digit = instantiate(m, platform, f"digit_{place}", Digit, place)
        m.d.comb += [
            digit.reciprocal.eq(state["reciprocal"]),
            digit.step.eq(state["operand"]),
            digit.residue.eq(state["residue"]),
            digit.total.eq(state["total"]),
        ]
        digits = Cat(digit.digit, state["digits"])
        return {"residue": digit.next_residue, "total": digit.next_total, "digits": digits}

    @staticmethod
    def _finish(m: Module, platform: Any, state: dict[str, Value]) -> Value:
        """Return the rounded result and all flags."""
        rounder = instantiate(m, platform, "round", FunctionRound)
        convert = instantiate(m, platform, "float_to_fix", FloatToFix)
        fix_out, shift_out = state["fix"][0], state["fix"][1:].as_signed()
        result = Signal(FunctionResult)
        m.d.comb += [
            rounder.digits.eq(state["digits"]),
            rounder.sticky.eq(state["residue"].any()),
            rounder.exponent.eq(state["exponent"]),
            rounder.special.eq(state["special"]),
            rounder.zero.eq(state["zero"]),
            convert.i.eq(rounder.o),
            convert.control.shift.eq(shift_out),
            result.y.eq(Mux(fix_out, convert.o, rounder.o)),
            result.flags.eq(rounder.flags),
            result.to_float.eq(state["to_float"]),
            result.to_fix.eq(Mux(fix_out, Value.cast(convert.flags), 0)),
        ]
        return result.as_value()


RECORDS = (
    Unit(
        name="scalar_functions",
        config_type=ScalarFunctionsConfig,
        build=ScalarFunctions,
        summary="AIE-ML v2: 1 / x, sqrt(x) and 1 / sqrt(x) of floats and integers, one a cycle",
        covered=Covered(ScalarFunctionsConfig(), 60, {"BITPATH_VOLUME": "300"}),
        judges=(Judge(64, ScalarFunctionsConfig(), 4000),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("operand", r"(fix_to_float|decode|number|normalize|operand|one|scale|special)"),
            WaveGroup("digits", r"digit"),
            WaveGroup("rounding", r"(round|float_to_fix|result)"),
            OUTPUT,
        ),
    ),
)
