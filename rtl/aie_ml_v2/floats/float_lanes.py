"""FloatLanes of one operator: ``o.lanes[k] = operator(i.lanes[k], i.control)``, with the OR of the lanes' flags."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from amaranth import Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.status import FlagGroup
from bitpath.rtl.aie_ml_v2.floats.config import FloatLanesConfig
from bitpath.rtl.aie_ml_v2.floats.layouts import flags_layout
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate


@dataclass(frozen=True, kw_only=True)
class LaneOperator:
    """A combinational operator of one lane, and its ports.

    Attributes
    ----------
    component : class with members ``i``, ``control``, ``o``, and with flags ``flags``.
    i_bits, o_bits : bits of an operand and of a result.
    control : layout of what all lanes share.
    flags : the flags of the unit, or None without flags.
    steps : pipeline registers: "request" before the lanes, "result" behind them.
    """

    component: type[wiring.Component]
    i_bits: int
    o_bits: int
    control: Any
    flags: FlagGroup | None
    steps: Collection[str]

    def request(self, lanes: int) -> data.StructLayout:
        """Return the layout of operands, lane 0 lowest, and their control."""
        return data.StructLayout({"lanes": data.ArrayLayout(self.i_bits, lanes), "control": self.control})

    def result(self, lanes: int) -> data.StructLayout:
        """Return the layout of results, lane 0 lowest, and of their flags."""
        flags = {} if self.flags is None else {"flags": flags_layout(self.flags)}
        return data.StructLayout({"lanes": data.ArrayLayout(self.o_bits, lanes), **flags})


class FloatLanes(wiring.Component):
    """One request a cycle through the lanes of an operator.

    Latency is the number of the operator's steps. Back-pressure: all stages stall while a result waits for ``o.ready``.

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
        request, result = operator.request(config.lanes), operator.result(config.lanes)
        super().__init__({"i": In(stream.Signature(request)), "o": Out(stream.Signature(result))})

    def elaborate(self, platform):
        m = Module()
        operator = self.operator
        registers = PipelineRegisters(m, operator.steps, valid=self.i.valid, ready=self.o.ready)
        (request,) = registers.hold("request", request=self.i.p)
        result = Signal(self.o.p.shape())
        flags = []
        for k in range(self.config.lanes):
            lane = instantiate(m, platform, f"lane_{k}", operator.component)
            m.d.comb += [
                lane.i.eq(request.lanes[k]),
                lane.control.eq(request.control),
                result.lanes[k].eq(lane.o),
            ]
            if operator.flags is not None:
                flags.append(Value.cast(lane.flags))
        if flags:
            m.d.comb += result.flags.eq(reduce(or_, flags))
        (result,) = registers.hold("result", result=result)
        m.d.comb += [
            self.o.p.eq(result),
            self.o.valid.eq(registers.valid),
            self.i.ready.eq(registers.finish()),
        ]
        return m
