"""FloatLanes of one operator: ``o.lanes[k] = operator(i.lanes[k], i.control)``, with the OR of the lanes' flags."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from amaranth import Module, Value
from amaranth.lib import data, wiring

from bitpath.rtl.aie_ml_v2.floats.config import FloatLanesConfig
from bitpath.rtl.common.pipeline.registered import Registered
from bitpath.rtl.common.pipeline.shared_instances import instantiate


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
