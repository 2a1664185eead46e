"""A function of a request behind one pipeline register: the frame of the lane-by-lane conversions."""

from abc import abstractmethod
from typing import Any

from amaranth import Module, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters


class Registered(wiring.Component):
    """A combinational function and the register of its result.

    Latency: 1 cycle. Throughput: one request a cycle. Back-pressure: the register stalls while its result waits for ``o.ready``.

    Parameters
    ----------
    request, result : layouts.

    Members
    -------
    i : In(stream of request)
    o : Out(stream of result)
    """

    LATENCY = 1
    """Cycles from a request to its result."""

    def __init__(self, request: Any, result: Any):
        super().__init__({"i": In(stream.Signature(request)), "o": Out(stream.Signature(result))})

    @abstractmethod
    def compute(self, m: Module, platform: Any, request: Any, result: Any) -> None:
        """Drive the fields of ``result`` from the request."""

    def elaborate(self, platform):
        m = Module()
        registers = PipelineRegisters(m, ("result",), valid=self.i.valid, ready=self.o.ready)
        result = Signal(self.o.p.shape())
        self.compute(m, platform, self.i.p, result)
        (held,) = registers.hold("result", result=Value.cast(result))
        m.d.comb += [
            self.o.p.eq(held),
            self.o.valid.eq(registers.valid),
            self.i.ready.eq(registers.finish()),
        ]
        return m
