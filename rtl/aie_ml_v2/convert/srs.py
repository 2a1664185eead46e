"""SRS (shift, round, saturate): ``vector[k] = saturate(round(acc[k] / 2**shift))``.

Latency: 2 cycles, pipeline registers before and after the lanes. Throughput: one accumulator register a cycle.

Ref: AM027, "Fixed-Point SRS and UPS Conversions"; UG1583; llvm-aie for the flag srSRS_of.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import SRS_MODES, SRS_SHIFTS, RoundingCode, Saturation
from bitpath.rtl.aie_ml_v2.convert.layouts import ACC_LANE_BITS, SrsControl, acc_bits, vector_bits
from bitpath.rtl.common.arithmetic.align import Align, Dropped
from bitpath.rtl.common.arithmetic.round import RoundIncrement
from bitpath.rtl.common.config import UnitConfig, power_of_two
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup

# Sticky status flag with set priority over clear.


class StickyFlag(wiring.Component):
    """Flag ``o`` is set one cycle after ``occurs`` and cleared one cycle after ``clear``; set has priority; its reset value is 0.

    Members
    -------
    occurs : In(1)
    clear : In(1)
    o : Out(1)
    """

    occurs: In(1)
    clear: In(1)
    o: Out(1)

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.o.eq(self.occurs | (self.o & ~self.clear))
        return m


MAX_INTEGER_LANES = 64
"""Largest number of 32-bit accumulator lanes in one conversion of the machine."""


@dataclass(frozen=True, kw_only=True)
class IntegerLanesConfig(UnitConfig, unit="integer lanes"):
    """Configuration of the conversions SRS and UPS.

    Attributes
    ----------
    lanes : accumulator lanes of 32 bits, or half that number of 64 bits; a power of two from 2 to 64.
    """

    lanes: int = power_of_two(2, MAX_INTEGER_LANES, 4)


# SRS lane: ``o = saturate(round(i / 2**shift))`` of one accumulator lane.
#
# ::
#
#      i shifted left by LEFT (4):   sign-extended lane | 0 0 0 0
#      shifted right by shift + 4:           kept bits  | G | sticky          kept: width + 4 bits
#
# Ref: AM027, "Fixed-Point SRS and UPS Conversions"; UG1583 for rounding and saturation codes and for negative shifts.


LEFT = -SRS_SHIFTS.start
"""The largest left shift, in bits."""
MAX_SHIFT = SRS_SHIFTS.stop - 1 + LEFT
"""The largest right shift after the fixed left shift by LEFT."""


class SrsLane(wiring.Component):
    """``i / 2**shift`` rounded to an integer of 8, 16 or 32 bits; combinational.

    Left shifts (negative ``shift``) are exact. Without saturation the high bits are discarded.

    Parameters
    ----------
    width : bits of the accumulator lane, 32 or 64. A lane of 64 bits also converts sign-extended 32-bit accumulators.

    Members
    -------
    i : In(signed(width))
    control : In(SrsControl)
    o : Out(16), Out(32) if width is 64; the element is in the low bits, zeros above
    overflow : Out(1), 1 if ``o`` is not the rounded number
    """

    clocked = False
    apart = True

    def __init__(self, width: int):
        self.width = width
        super().__init__(
            {"i": In(signed(width)), "control": In(SrsControl), "o": Out(max(SRS_MODES[width])), "overflow": Out(1)}
        )

    def elaborate(self, platform):
        m = Module()
        control = self.control
        kept_width = self.width + LEFT
        # Align keeps kept_width bits and the guard bit, and appends the sticky bit.
        align = instantiate(
            m, platform, "align", Align, kept_width, kept_width + 1, MAX_SHIFT, Dropped.STICKY, twos_complement=True
        )
        m.d.comb += [align.i.eq(Cat(Const(0, LEFT), self.i).as_signed()), align.shift.eq(control.shift + LEFT)]
        sticky, guard, kept = align.o[0], align.o[1], align.o[2:]
        decision = instantiate(m, platform, "decision", RoundIncrement, RoundingCode, True)
        m.d.comb += [
            decision.mode.eq(control.rounding),
            decision.negative.eq(kept[-1]),
            decision.odd.eq(kept[0]),
            decision.guard.eq(guard),
            decision.sticky.eq(sticky),
        ]
        # A rounded number was shifted right by at least 1 bit, which leaves room for the carry.
        rounded = Signal(signed(kept_width))
        m.d.comb += rounded.eq(kept.as_signed() + decision.up)

        saturates = control.saturation != Saturation.NONE
        symmetric = control.saturation == Saturation.SYMMETRIC
        sizes = {(acc64, wide): bits for acc64, acc in enumerate((32, 64)) for wide, bits in enumerate(SRS_MODES[acc])}
        with m.Switch(Cat(control.wide, control.acc64)):
            for bits in sorted(set(sizes.values())):
                if bits > len(self.o):
                    continue
                codes = [acc64 << 1 | wide for (acc64, wide), size in sizes.items() if size == bits]
                with m.Case(*codes):
                    self._fit(m, rounded, bits, saturates, symmetric)
        return m

    def _fit(self, m: Module, rounded: Value, bits: int, saturates: Value, symmetric: Value) -> None:
        """Drive the outputs for a result of ``bits`` bits."""
        highest, lowest = (1 << bits - 1) - 1, -(1 << bits - 1)
        limit = Signal(bits, name=f"limit_{bits}")
        outside = Signal(name=f"outside_{bits}")
        negative = rounded[-1]
        with m.If(self.control.is_signed):
            m.d.comb += [
                outside.eq((rounded < Mux(symmetric, -highest, lowest)) | (rounded > highest)),
                limit.eq(Mux(negative, Mux(symmetric, -highest, lowest), highest)),
            ]
        with m.Else():
            m.d.comb += [outside.eq(rounded[bits:].any()), limit.eq(Mux(negative, 0, (1 << bits) - 1))]
        m.d.comb += [self.o.eq(Mux(saturates & outside, limit, rounded[:bits])), self.overflow.eq(outside)]


class IntegerLanes(wiring.Component):
    """A conversion between vectors and accumulators with a sticky overflow flag, one accumulator register a cycle.

    Back-pressure: all stages stall while a result waits for ``o.ready``.

    Parameters
    ----------
    config : number of lanes.
    request, result : layouts; a result has the field ``overflow``.

    Members
    -------
    i : In(stream of request)
    o : Out(stream of result)
    clear_overflow : In(1), clears the flag
    overflow : Out(1), the sticky flag: set one cycle after a result with ``overflow`` is taken
    """

    STEPS = ("request", "result")
    """The steps that pipeline registers follow."""
    LATENCY = len(STEPS)
    """Cycles from a request to its result."""

    def __init__(self, config: IntegerLanesConfig, request: data.StructLayout, result: data.StructLayout):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(request)),
                "o": Out(stream.Signature(result)),
                "clear_overflow": In(1),
                "overflow": Out(1),
            }
        )

    @abstractmethod
    def convert(self, m: Module, platform: Any, request: data.View) -> data.View:
        """Return the result of a request."""

    def elaborate(self, platform):
        m = Module()
        registers = PipelineRegisters(m, self.STEPS, valid=self.i.valid, ready=self.o.ready)
        (request,) = registers.hold("request", request=self.i.p)
        (result,) = registers.hold("result", result=self.convert(m, platform, request))
        flag = instantiate(m, platform, "flag", StickyFlag)
        m.d.comb += [
            self.o.p.eq(result),
            self.o.valid.eq(registers.valid),
            self.i.ready.eq(registers.finish()),
            flag.occurs.eq(self.o.valid & self.o.ready & self.o.p.overflow),
            flag.clear.eq(self.clear_overflow),
            self.overflow.eq(flag.o),
        ]
        return m


def srs_request(lanes: int) -> data.StructLayout:
    """Return the layout of accumulator lanes, lane 0 lowest, and their control."""
    return data.StructLayout({"acc": acc_bits(lanes), "control": SrsControl})


def srs_result(lanes: int) -> data.StructLayout:
    """Return the layout of a vector, lane 0 lowest, zeros above the last; ``overflow`` is 1 if any lane is not the rounded
    number."""
    return data.StructLayout({"vector": vector_bits(lanes), "overflow": 1})


class Srs(IntegerLanes):
    """Accumulators to a vector. The sticky flag is srSRS_of.

    Even lanes are 64 bits wide and convert one 64-bit or one 32-bit accumulator; odd lanes are 32 bits wide.
    """

    def __init__(self, config: IntegerLanesConfig):
        super().__init__(config, srs_request(config.lanes), srs_result(config.lanes))

    def convert(self, m: Module, platform: Any, request: data.View) -> data.View:
        lanes, control = self.config.lanes, request.control
        outputs = [self._lane(m, platform, k, request) for k in range(lanes)]

        result = Signal(srs_result(lanes))
        with m.Switch(Cat(control.wide, control.acc64)):
            for acc64, acc in enumerate((ACC_LANE_BITS, 2 * ACC_LANE_BITS)):
                for wide, bits in enumerate(SRS_MODES[acc]):
                    with m.Case(acc64 << 1 | wide):
                        some = outputs[:: 1 + acc64]
                        m.d.comb += [
                            result.vector.eq(Cat(lane.o[:bits] for lane in some)),
                            result.overflow.eq(Cat(lane.overflow for lane in some).any()),
                        ]
        return result

    def _lane(self, m: Module, platform: Any, k: int, request: Value) -> SrsLane:
        """Instantiate lane k: 64 bits wide if k is even, else 32."""
        own = request.acc.word_select(k, ACC_LANE_BITS).as_signed()
        if k % 2:
            lane = instantiate(m, platform, f"lane_{k}", SrsLane, ACC_LANE_BITS)
            m.d.comb += lane.i.eq(own)
        else:
            lane = instantiate(m, platform, f"lane_{k}", SrsLane, 2 * ACC_LANE_BITS)
            both = request.acc.word_select(k // 2, 2 * ACC_LANE_BITS).as_signed()
            m.d.comb += lane.i.eq(Mux(request.control.acc64, both, own))
        m.d.comb += lane.control.eq(request.control)
        return lane


AIE_LANE_GROUPS = (
    WaveGroup("first lane, 64 bits", r"lane_0\."),
    WaveGroup("second lane, 32 bits", r"lane_1\."),
    WaveGroup("result", r"(result|request)"),
    WaveGroup("sticky flag", r"((clear_)?overflow|flag\.)"),
)


RECORDS = (
    Unit(
        name="srs",
        config_type=IntegerLanesConfig,
        build=Srs,
        summary="AIE-ML v2: accumulators shifted, rounded and saturated to a vector",
        covered=Covered(IntegerLanesConfig(), 1024, {"BITPATH_SHIFTS": "4 9"}),
        judges=(Judge(10, IntegerLanesConfig()),),
        waves=(CLOCK, INPUTS, *AIE_LANE_GROUPS, OUTPUT),
    ),
)
