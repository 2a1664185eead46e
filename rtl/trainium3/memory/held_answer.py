"""A stream of answers that come one cycle after their requests."""

from typing import Any

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out


class HeldAnswer(wiring.Component):
    """Offers the word that a memory shows, and keeps it until it is taken.

    Latency: an answer is offered in the cycle after ``asked``. Throughput: one a cycle.

    Parameters
    ----------
    shape : shape of an answer.

    Members
    -------
    asked : In(1), a read is served in this cycle; only while ``free``
    free : Out(1), no answer waits
    word : In(shape), what the read found, one cycle after ``asked``
    o : Out(stream of shape)
    """

    def __init__(self, shape: Any):
        super().__init__({"asked": In(1), "free": Out(1), "word": In(shape), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        arriving, waiting = Signal(), Signal()
        held = Signal.like(Value.cast(self.word), reset_less=True)
        offered = Value.cast(self.o.p)
        m.d.comb += [
            self.o.valid.eq(arriving | waiting),
            offered.eq(Mux(arriving, Value.cast(self.word), held)),
            self.free.eq(~self.o.valid | self.o.ready),
        ]
        m.d.sync += [arriving.eq(self.asked), waiting.eq(self.o.valid & ~self.o.ready), held.eq(offered)]
        return m
