"""FloatLanes of one operator: ``o.lanes[k] = operator(i.lanes[k], i.control)``, with the OR of the lanes' flags."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import FLOOR_FLAGS, NARROW_FLAGS, RoundingCode
from bitpath.golden.formats.catalogue import BF16, FP16, FP32, FloatFormat, Specials
from bitpath.rtl.aie_ml_v2.floats.layouts import (
    FloatCode,
    FloatLanesConfig,
    NarrowControl,
    ShiftControl,
    WidenControl,
    flags_layout,
)
from bitpath.rtl.common.arithmetic.align import Align, Dropped, shift_of
from bitpath.rtl.common.arithmetic.decode import Decode, raw_sum
from bitpath.rtl.common.arithmetic.normalize import Normalize
from bitpath.rtl.common.arithmetic.round import RoundIncrement
from bitpath.rtl.common.pipeline.pipeline_registers import Registered
from bitpath.rtl.common.pipeline.shared_instances import instantiate

# BF16 or FP16 to FP32, exact: FP16's subnormals are normalised, NaN keeps its payload.
#
# Ref: BF16 to FP32 as measured on first-generation silicon.


NUMBER = raw_sum(FP16.precision, FP16.exponent_bits + 1)
"""An FP16 number; the exponent of its lowest bit, less FP16's bias, is -9 to 21."""


class WidenLane(wiring.Component):
    """FP32 code of a BF16 or FP16 number; combinational.

    Members
    -------
    i : In(16)
    control : In(WidenControl)
    o : Out(32), FP32
    """

    clocked = False
    apart = True

    i: In(FP16.width)
    control: In(WidenControl)
    o: Out(FP32.width)

    def elaborate(self, platform):
        m = Module()
        decode = instantiate(m, platform, "decode", Decode, (FP16,))
        normalize = instantiate(m, platform, "normalize", Normalize, NUMBER, FP16.precision)
        number, normal = decode.o, normalize.o
        exponent = Signal(FP32.exponent_bits)
        special = number.inf | number.nan
        below = FP32.fraction_bits - FP16.fraction_bits
        m.d.comb += [
            decode.code.eq(self.i),
            normalize.i.magnitude.eq(number.significand),
            normalize.i.exponent.eq(number.exponent - FP16.fraction_bits),
            exponent.eq(Mux(normal.zero, 0, normal.exponent + (FP32.bias - FP16.bias))),
        ]
        # A special code has a hidden bit, so that its fraction is the normalised one too.
        with m.If(self.control.is_bf16):
            m.d.comb += self.o.eq(Cat(Const(0, FP32.width - BF16.width), self.i))
        with m.Else():
            m.d.comb += self.o.eq(
                Cat(
                    Const(0, below),
                    normal.significand[:-1],
                    exponent | special.replicate(FP32.exponent_bits),
                    number.sign,
                )
            )
        return m


# FP32 to BF16, FP16 or an 8-bit float: one shifter and one rounding for all formats.
#
# ::
#
#      significand   1 fraction: 23 bits |
#      shifted right by 11 - precision, and by emin - exponent below the smallest normal number
#      window        kept: 11 bits | G | N | sticky        code = (exponent field << fraction bits) + kept + increment
#
# G, N and sticky round the kept bits; a carry out of the fraction increments the exponent field. Below the smallest normal
# number the unbounded result has one more bit, G: it reaches that number if all its bits are 1 and N and sticky round it up.
#
# Ref: FP32 to BF16 as measured on first-generation silicon in all ten rounding codes; llvm-aie for the shift operand;
# AM029 for the flags and for two saturation bits.


KEPT_BITS = FP16.precision
"""Kept bits of the most precise format; the others keep the upper ones."""
NARROW_SHIFT = 15
"""Shifts saturate here: from KEPT_BITS + 2 on the whole significand is sticky."""
CODE_BITS = FP32.exponent_bits + FP16.fraction_bits + 1
"""Bits of a code whose exponent field has no largest value, with a carry."""


class NarrowLane(wiring.Component):
    """Code of an FP32 number in a format chosen at run time; combinational.

    Members
    -------
    i : In(32), FP32
    control : In(NarrowControl)
    o : Out(16), the code in the low bits, zeros above
    flags : Out(flags of NARROW_FLAGS)
    """

    clocked = False
    apart = True

    i: In(FP32.width)
    control: In(NarrowControl)
    o: Out(FP16.width)
    flags: Out(flags_layout(NARROW_FLAGS.bits))

    def elaborate(self, platform):
        m = Module()
        control, sign = self.control, self.i[-1]
        fraction, field = self.i[: FP32.fraction_bits], self.i[FP32.fraction_bits : -1]
        normal = field.any()
        finite = ~field.all()

        fewer = Signal(range(KEPT_BITS))
        above = Signal(signed(FP32.exponent_bits + 2))  # exponents above the smallest normal number's
        self._formats(m, fewer, above, Mux(normal, field, 1))
        below = above[-1]
        distance = Signal(FP32.exponent_bits + 1)
        align = instantiate(m, platform, "align", Align, FP32.precision, KEPT_BITS + 2, NARROW_SHIFT, Dropped.STICKY)
        m.d.comb += [
            distance.eq(fewer + Mux(below, -above, 0)),
            align.i.eq(Cat(fraction, normal)),
            align.shift.eq(shift_of(distance, NARROW_SHIFT.bit_length())),
        ]
        sticky, following, guard, kept = align.o[0], align.o[1], align.o[2], align.o[3:]
        # The decision for the result, and that for a number with one more bit, which is 1.
        decisions = [instantiate(m, platform, name, RoundIncrement, RoundingCode, False) for name in ("round", "finer")]
        for decision in decisions:
            m.d.comb += [decision.mode.eq(control.rounding), decision.negative.eq(sign)]
        rounding, finer = decisions
        m.d.comb += [
            rounding.odd.eq(kept[0]),
            rounding.guard.eq(guard),
            rounding.sticky.eq(following | sticky),
            finer.odd.eq(1),
            finer.guard.eq(following),
            finer.sticky.eq(sticky),
        ]

        code = Signal(FP16.width)
        leading = Mux(below, 0, above[: FP32.exponent_bits])
        with m.Switch(control.target):
            for each in FloatCode:
                with m.Case(each) if each is not FloatCode.E5M2FNUZ else m.Default():
                    bits = each.fmt.fraction_bits
                    rounded = Signal(CODE_BITS, name=f"rounded_{each.fmt.name.lower()}")
                    m.d.comb += rounded.eq((leading << bits) + kept + rounding.up)
                    self._result(m, each.fmt, code, rounded, fraction, finite)
                    reaches = kept[bits] | (kept[:bits].all() & guard & finer.up)
                    m.d.comb += self.flags.tiny.eq(finite & self.i[:-1].any() & ~reaches)
        m.d.comb += [
            self.flags.zero.eq(~code.any()),
            self.flags.invalid.eq(~finite & fraction.any()),
        ]
        return m

    def _formats(self, m: Module, fewer: Signal, above: Signal, biased: Value) -> None:
        """Drive the places by which a format is shorter, and the exponent above that of its smallest normal number."""
        with m.Switch(self.control.target):
            for each in FloatCode:
                fmt = each.fmt
                shift = self.control.shift if fmt.width == FP16.width // 2 else 0
                with m.Case(each) if each is not FloatCode.E5M2FNUZ else m.Default():
                    m.d.comb += [
                        fewer.eq(KEPT_BITS - fmt.precision),
                        above.eq(biased + shift - (fmt.emin + FP32.bias)),
                    ]

    def _result(
        self, m: Module, fmt: FloatFormat, code: Signal, rounded: Signal, fraction: Value, finite: Value
    ) -> None:
        """Drive the code without sign, the output, and the flags of the upper end of a format."""
        largest, beyond = fmt.max_code, fmt.max_code + 1  # infinity, or NaN in formats without infinity
        saturates_finite, saturates_infinite = self.control.saturation
        ieee = fmt.specials is Specials.IEEE
        payload = fraction[-fmt.fraction_bits :]
        nan = beyond | Mux(payload.any(), payload, 1) if ieee else beyond
        with m.If(~finite & fraction.any()):
            m.d.comb += code.eq(nan)
        with m.Elif(~finite):
            m.d.comb += code.eq(Mux(saturates_infinite, largest, beyond))
        with m.Elif(rounded > largest):
            m.d.comb += [code.eq(Mux(saturates_finite, largest, beyond)), self.flags.huge.eq(1)]
        with m.Else():
            m.d.comb += code.eq(rounded)
        sign = self.i[-1]
        if fmt.specials is Specials.UNSIGNED_ZERO:
            # Neither zero nor NaN has a sign.
            sign = sign & code[: fmt.width - 1].any()
        m.d.comb += [
            self.flags.infinity.eq(code == beyond if ieee else Const(0)),
            self.o.eq(code | (sign << fmt.width - 1)),
        ]


# BF16 times a power of two to INT32: rounded down, saturated.
#
# ::
#
#      significand at the top of 32 bits      1 fraction: 7 bits | 24 zeros
#      shifted right by 158 - exponent field - shift             magnitude: 32 bits | sticky
#
# A negative number is ``-(magnitude + sticky)``. A shift below 0, and a magnitude above the range, saturate by the sign.
#
# Ref: measured on first-generation silicon; AM029 for the flags.


INTEGER_BITS = 32
HIGHEST_PLACE = BF16.bias + INTEGER_BITS - 1
"""Exponent field of 2**31, whose leading bit is the highest of the magnitude."""
FLOOR_SHIFT = 63
"""Shifts saturate here: from INTEGER_BITS on the whole significand is sticky."""


class FloorLane(wiring.Component):
    """INT32 of a BF16 number; NaN gives ``2**31 - 1``; combinational.

    Members
    -------
    i : In(16), BF16
    control : In(ShiftControl)
    o : Out(32), INT32
    flags : Out(flags of FLOOR_FLAGS)
    """

    clocked = False
    apart = True

    i: In(BF16.width)
    control: In(ShiftControl)
    o: Out(INTEGER_BITS)
    flags: Out(flags_layout(FLOOR_FLAGS.bits))

    def elaborate(self, platform):
        m = Module()
        sign, fraction, field = self.i[-1], self.i[: BF16.fraction_bits], self.i[BF16.fraction_bits : -1]
        normal = field.any()
        nan = field.all() & fraction.any()
        distance = Signal(signed(BF16.exponent_bits + 1))
        align = instantiate(m, platform, "align", Align, BF16.precision, INTEGER_BITS, FLOOR_SHIFT, Dropped.STICKY)
        m.d.comb += [
            distance.eq(HIGHEST_PLACE - Mux(normal, field, 1) - self.control.shift),
            align.i.eq(Cat(fraction, normal)),
            align.shift.eq(shift_of(distance[:-1], FLOOR_SHIFT.bit_length())),
        ]
        sticky, magnitude = align.o[0], align.o[1:]
        top, rest = magnitude[-1], magnitude[:-1].any() | sticky
        beyond = Signal()
        # Only -2**31 is in the range among the magnitudes with a leading bit at the top.
        m.d.comb += beyond.eq(~nan & (distance[-1] | (top & (~sign | rest))))
        limit = Cat((~sign).replicate(INTEGER_BITS - 1), sign)
        with m.If(nan):
            m.d.comb += self.o.eq(Cat(Const(-1, INTEGER_BITS - 1), 0))
        with m.Elif(beyond):
            m.d.comb += self.o.eq(limit)
        with m.Else():
            m.d.comb += self.o.eq(Mux(sign, ~magnitude + ~sticky, magnitude))
        zero = ~self.o.any()
        m.d.comb += [
            self.flags.zero.eq(zero),
            self.flags.invalid.eq(nan),
            self.flags.tiny.eq(zero & self.i[:-1].any()),
            self.flags.huge.eq(beyond),
        ]
        return m


@dataclass(frozen=True, kw_only=True)
class LaneOperator:
    """A combinational operator of one lane, and its ports.

    Attributes
    ----------
    component : class with members ``i``, ``control``, ``o``, and with flags ``flags``.
    i_bits, o_bits : bits of an operand and of a result.
    control : layout of what all lanes share.
    flags : layout of the flags of the unit, or None without flags.
    steps : pipeline registers: "request" before the lanes, "result" behind them.
    """

    component: type[wiring.Component]
    i_bits: int
    o_bits: int
    control: Any
    flags: data.StructLayout | None
    steps: Collection[str]

    def request(self, lanes: int) -> data.StructLayout:
        """Return the layout of operands, lane 0 lowest, and their control."""
        return data.StructLayout({"lanes": data.ArrayLayout(self.i_bits, lanes), "control": self.control})

    def result(self, lanes: int) -> data.StructLayout:
        """Return the layout of results, lane 0 lowest, and of their flags."""
        flags = {} if self.flags is None else {"flags": self.flags}
        return data.StructLayout({"lanes": data.ArrayLayout(self.o_bits, lanes), **flags})


class FloatLanes(Registered):
    """One request a cycle through the lanes of an operator.

    Parameters
    ----------
    operator : the operator.
    config : FloatLanesConfig, the number of lanes.

    Members
    -------
    i : In(stream of the operator's request)
    o : Out(stream of its result)
    """

    def __init__(self, operator: LaneOperator, config: FloatLanesConfig):
        self.operator, self.config = operator, config
        super().__init__(operator.request(config.lanes), operator.result(config.lanes), operator.steps)

    def compute(self, m: Module, platform: Any, request: Any, result: Any) -> None:
        flags = []
        for k in range(self.config.lanes):
            lane = instantiate(m, platform, f"lane_{k}", self.operator.component)
            m.d.comb += [
                lane.i.eq(request.lanes[k]),
                lane.control.eq(request.control),
                result.lanes[k].eq(lane.o),
            ]
            if self.operator.flags is not None:
                flags.append(Value.cast(lane.flags))
        if flags:
            m.d.comb += result.flags.eq(reduce(or_, flags))
