"""SRS (shift, round, saturate): ``vector[k] = saturate(round(acc[k] / 2**shift))``.

Latency: 2 cycles, pipeline registers before and after the lanes. Throughput: one accumulator register a cycle.

Ref: AM027, "Fixed-Point SRS and UPS Conversions"; UG1583; llvm-aie for the flag srSRS_of.
"""

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import SRS_MODES
from bitpath.rtl.aie_ml_v2.convert.config import IntegerLanesConfig
from bitpath.rtl.aie_ml_v2.convert.layouts import ACC_LANE_BITS, SrsControl, acc_bits, vector_bits
from bitpath.rtl.aie_ml_v2.convert.srs_lane import SrsLane
from bitpath.rtl.aie_ml_v2.convert.sticky_flag import StickyFlag
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate

STEPS = ("request", "result")
"""The steps that pipeline registers follow."""


def srs_request(lanes: int) -> data.StructLayout:
    """Return the layout of accumulator lanes, lane 0 lowest, and their control."""
    return data.StructLayout({"acc": acc_bits(lanes), "control": SrsControl})


def srs_result(lanes: int) -> data.StructLayout:
    """Return the layout of a vector, lane 0 lowest, zeros above the last; ``overflow`` is 1 if any lane is not the rounded
    number."""
    return data.StructLayout({"vector": vector_bits(lanes), "overflow": 1})


class Srs(wiring.Component):
    """Accumulators to a vector, one accumulator register a cycle.

    Even lanes are 64 bits wide and convert one 64-bit or one 32-bit accumulator; odd lanes are 32 bits wide. Back-pressure:
    all stages stall while a vector waits for ``o.ready``.

    Parameters
    ----------
    config : IntegerLanesConfig, the number of lanes.

    Members
    -------
    i : In(stream of srs_request)
    o : Out(stream of srs_result)
    clear_overflow : In(1), clears the flag
    overflow : Out(1), the sticky flag srSRS_of: set one cycle after a vector with ``overflow`` is taken
    """

    LATENCY = len(STEPS)
    """Cycles from a request to its vector."""

    def __init__(self, config: IntegerLanesConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(srs_request(config.lanes))),
                "o": Out(stream.Signature(srs_result(config.lanes))),
                "clear_overflow": In(1),
                "overflow": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lanes = self.config.lanes
        registers = PipelineRegisters(m, STEPS, valid=self.i.valid, ready=self.o.ready)
        (request,) = registers.hold("request", request=self.i.p)
        control = request.control
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
