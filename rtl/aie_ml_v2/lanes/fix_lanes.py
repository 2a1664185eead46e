"""Lanes of the conversions between integers and FP32.

Ref: llvm-aie for the cycles.
"""

from functools import partial
from typing import Any

from amaranth import Module, Value
from amaranth.lib import data, wiring

from bitpath.rtl.aie_ml_v2.lanes.config import FixLanesConfig
from bitpath.rtl.aie_ml_v2.lanes.fix_to_float import FixToFloat
from bitpath.rtl.aie_ml_v2.lanes.float_to_fix import FloatToFix
from bitpath.rtl.aie_ml_v2.lanes.layouts import ToFixFlags, ToFloatFlags, fix_request, fix_result
from bitpath.rtl.aie_ml_v2.lanes.registered import Registered
from bitpath.rtl.common.pipeline.shared_instances import instantiate


class FixLanes(Registered):
    """An operator on every lane, with one shift; latency 1, one request a cycle.

    Parameters
    ----------
    operator : the component of a lane, with ports i, shift, o and flags.
    flags : the struct of its flags.
    config : number of lanes.

    Members
    -------
    i : In(stream of fix_request)
    o : Out(stream of fix_result)
    """

    def __init__(self, operator: type[wiring.Component], flags: type[data.Struct], config: FixLanesConfig):
        self.operator, self.config = operator, config
        super().__init__(fix_request(config.lanes), fix_result(config.lanes, flags))

    def compute(self, m: Module, platform: Any, request: Any, result: Any) -> None:
        flags = []
        for k in range(self.config.lanes):
            lane = instantiate(m, platform, f"lane_{k}", self.operator)
            m.d.comb += [lane.i.eq(request.lanes[k]), lane.shift.eq(request.shift), result.lanes[k].eq(lane.o)]
            flags.append(Value.cast(lane.flags))
        any_lane = flags[0]
        for each in flags[1:]:
            any_lane |= each
        m.d.comb += result.flags.eq(any_lane)


fix_float = partial(FixLanes, FixToFloat, ToFloatFlags)
"""The unit that converts integers to FP32."""
float_fix = partial(FixLanes, FloatToFix, ToFixFlags)
"""The unit that converts FP32 to integers."""
