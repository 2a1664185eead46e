"""A combinational function between two streams, with pipeline registers before and behind it."""

from abc import abstractmethod
from collections.abc import Collection
from typing import Any

from amaranth import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters


class Registered(wiring.Component):
    """The frame of units that compute each request alone.

    Latency is the number of steps. Throughput: one request a cycle. Back-pressure: all steps stall while a result waits for
    ``o.ready``.

    Parameters
    ----------
    request, result : layouts.
    steps : pipeline registers: "request" before the function, "result" behind it.

    Members
    -------
    i : In(stream of request)
    o : Out(stream of result)
    """

    def __init__(self, request: Any, result: Any, steps: Collection[str] = ("result",)):
        self.steps = steps
        super().__init__({"i": In(stream.Signature(request)), "o": Out(stream.Signature(result))})

    @property
    def latency(self) -> int:
        """Cycles from a request to its result."""
        return len(self.steps)

    @abstractmethod
    def compute(self, m: Module, platform: Any, request: Any, result: Any) -> None:
        """Drive ``result`` from the request."""

    def elaborate(self, platform):
        m = Module()
        registers = PipelineRegisters(m, self.steps, valid=self.i.valid, ready=self.o.ready)
        (request,) = registers.hold("request", request=self.i.p)
        result = Signal(self.o.p.shape())
        self.compute(m, platform, request, result)
        (held,) = registers.hold("result", result=result)
        m.d.comb += [
            self.o.p.eq(held),
            self.o.valid.eq(registers.valid),
            self.i.ready.eq(registers.finish()),
        ]
        return m
