"""The one pipeline register of a mover unit, behind its combinational logic."""

from amaranth import Module, Value
from amaranth.lib import wiring

from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters

LATENCY = 1
"""Cycles from a request to its result."""


def register_result(m: Module, unit: wiring.Component, result: Value) -> None:
    """Register ``result`` of the request at ``unit.i`` and drive ``unit.o`` with it. Throughput is one request a cycle;
    the unit stalls while a result waits for ``unit.o.ready``."""
    registers = PipelineRegisters(m, ("result",), valid=unit.i.valid, ready=unit.o.ready)
    (held,) = registers.hold("result", result=result)
    m.d.comb += [unit.o.p.eq(held), unit.o.valid.eq(registers.valid), unit.i.ready.eq(registers.finish())]
