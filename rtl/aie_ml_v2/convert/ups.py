"""UPS (upshift): ``acc[k] = saturate(vector[k] * 2**shift)``.

Latency: 2 cycles, pipeline registers before and after the lanes. Throughput: one accumulator register a cycle.

Ref: AM027, "Fixed-Point SRS and UPS Conversions"; UG1639; llvm-aie for the flag srUPS_of.
"""

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import UPS_MODES
from bitpath.rtl.aie_ml_v2.convert.config import IntegerLanesConfig
from bitpath.rtl.aie_ml_v2.convert.layouts import ACC_LANE_BITS, UpsControl, acc_bits, vector_bits
from bitpath.rtl.aie_ml_v2.convert.sticky_flag import StickyFlag
from bitpath.rtl.aie_ml_v2.convert.ups_lane import UpsLane
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate

STEPS = ("request", "result")
"""The steps that pipeline registers follow."""


def ups_request(lanes: int) -> data.StructLayout:
    """Return the layout of a vector, lane 0 lowest, and its control; bits above the last lane are ignored."""
    return data.StructLayout({"vector": vector_bits(lanes), "control": UpsControl})


def ups_result(lanes: int) -> data.StructLayout:
    """Return the layout of accumulators, lane 0 lowest; ``overflow`` is 1 if any is not its lane times ``2**shift``."""
    return data.StructLayout({"acc": acc_bits(lanes), "overflow": 1})


class Ups(wiring.Component):
    """Vector to accumulators, one accumulator register a cycle.

    Even lanes are 64 bits wide and convert to one 64-bit accumulator or, in the upper half, to one of 32 bits; odd lanes
    are 32 bits wide. Back-pressure: all stages stall while a result waits for ``o.ready``.

    Parameters
    ----------
    config : IntegerLanesConfig, the number of lanes.

    Members
    -------
    i : In(stream of ups_request)
    o : Out(stream of ups_result)
    clear_overflow : In(1), clears the flag
    overflow : Out(1), the sticky flag srUPS_of: set one cycle after a result with ``overflow`` is taken
    """

    LATENCY = len(STEPS)
    """Cycles from a request to its accumulators."""

    def __init__(self, config: IntegerLanesConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(ups_request(config.lanes))),
                "o": Out(stream.Signature(ups_result(config.lanes))),
                "clear_overflow": In(1),
                "overflow": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lanes = self.config.lanes
        registers = PipelineRegisters(m, STEPS, valid=self.i.valid, ready=self.o.ready)
        (request,) = registers.hold("request", request=self.i.p)
        outputs = [self._lane(m, platform, k, request) for k in range(lanes)]

        result = Signal(ups_result(lanes))
        with m.If(request.control.acc64):
            some = outputs[::2]
            m.d.comb += [
                result.acc.eq(Cat(lane.o for lane in some)),
                result.overflow.eq(Cat(lane.overflow for lane in some).any()),
            ]
        with m.Else():
            m.d.comb += [
                result.acc.eq(Cat(lane.o[-ACC_LANE_BITS:] for lane in outputs)),
                result.overflow.eq(Cat(lane.overflow for lane in outputs).any()),
            ]
        (result,) = registers.hold("result", result=result)
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

    def _lane(self, m: Module, platform: Any, k: int, request: Value) -> UpsLane:
        """Instantiate lane k: 64 bits wide if k is even, else 32."""
        control = request.control
        width = ACC_LANE_BITS if k % 2 else 2 * ACC_LANE_BITS
        lane = instantiate(m, platform, f"lane_{k}", UpsLane, width)
        with m.Switch(Cat(control.wide, control.acc64)):
            for acc64, acc in enumerate((ACC_LANE_BITS, 2 * ACC_LANE_BITS)):
                if acc > width:
                    continue
                for wide, bits in enumerate(UPS_MODES[acc]):
                    with m.Case(acc64 << 1 | wide):
                        number = request.vector.word_select(k >> acc64, bits)
                        m.d.comb += lane.i.eq(Cat(number, number[-1] & control.is_signed).as_signed())
        # A 32-bit accumulator uses the upper half of a 64-bit lane: shift it left by 32 more.
        higher = 0 if k % 2 else Mux(control.acc64, 0, width - ACC_LANE_BITS)
        m.d.comb += [lane.shift.eq(control.shift + higher), lane.saturation.eq(control.saturation)]
        return lane
