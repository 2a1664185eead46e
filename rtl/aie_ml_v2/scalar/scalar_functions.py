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

from itertools import count
from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.floats.fix_to_float import FixToFloat
from bitpath.rtl.aie_ml_v2.floats.float_to_fix import FloatToFix
from bitpath.rtl.aie_ml_v2.scalar.config import ScalarFunctionsConfig
from bitpath.rtl.aie_ml_v2.scalar.digit import STEP_BITS, Digit
from bitpath.rtl.aie_ml_v2.scalar.function_round import EXPONENT_BITS, FunctionRound
from bitpath.rtl.aie_ml_v2.scalar.layouts import FunctionCode, FunctionRequest, FunctionResult
from bitpath.rtl.common.arithmetic.decode import Decode
from bitpath.rtl.common.arithmetic.normalize import Normalize
from bitpath.rtl.common.arithmetic.raw import SPECIAL, raw_sum
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate

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
        # Of an odd exponent the roots leave a factor of two in the significand.
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
