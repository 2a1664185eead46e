"""Arbiter with strict priorities and round robin among equals."""

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, ceil_log2

from bitpath.golden.trainium3.declarations.dma import PRIORITIES

PRIORITY_BITS = bits_for(PRIORITIES - 1)


class StrictPriority(wiring.Component):
    """Chooses a request of the lowest priority number; among equals the next one behind the one served last at that priority.

    Each priority remembers its own; after reset the lowest request is next. The choice is combinational.

    Parameters
    ----------
    count : requests.

    Members
    -------
    requests : In(count)
    priorities : In(array of 2 bits), of each request
    serve : In(1), the choice is served in this cycle
    found : Out(1), there is a request
    choice : Out(range(count))
    """

    def __init__(self, count: int):
        self.count = count
        super().__init__(
            {
                "requests": In(count),
                "priorities": In(data.ArrayLayout(PRIORITY_BITS, count)),
                "serve": In(1),
                "found": Out(1),
                "choice": Out(max(1, ceil_log2(count))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        candidates = Signal(self.count)
        last = Signal(range(self.count))
        latest = [Signal(range(self.count), name=f"latest_{each}", init=self.count - 1) for each in range(PRIORITIES)]
        for level in reversed(range(PRIORITIES)):
            mine = Signal(self.count, name=f"requests_{level}")
            m.d.comb += mine.eq(Cat(request & (self.priorities[k] == level) for k, request in enumerate(self.requests)))
            with m.If(mine.any()):
                m.d.comb += [candidates.eq(mine), last.eq(latest[level])]
        behind = Signal(self.count)
        m.d.comb += [
            # None comes before the first.
            behind[1:].eq(Cat(candidates[k] & (last < k) for k in range(1, self.count))),
            self.found.eq(self.requests.any()),
        ]
        with m.If(behind.any()):
            m.d.comb += self.choice.eq(self._lowest(m, behind, "behind"))
        with m.Else():
            m.d.comb += self.choice.eq(self._lowest(m, candidates, "first"))
        with m.If(self.serve & self.found):
            for level, register in enumerate(latest):
                with m.If(self.priorities[self.choice] == level):
                    m.d.sync += register.eq(self.choice)
        return m

    def _lowest(self, m: Module, bits: Value, name: str) -> Signal:
        """The index of the lowest bit that is set."""
        index = Signal.like(self.choice, name=f"lowest_{name}")
        for k in reversed(range(self.count)):
            with m.If(bits[k]):
                m.d.comb += index.eq(k)
        return index
