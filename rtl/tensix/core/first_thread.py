"""Choice among the threads that ask for a unit: the first one, until the unit has taken its instruction."""

from amaranth import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.tensix.core.config_file import THREADS


class FirstThread(wiring.Component):
    """Thread 0 goes first. A thread that was chosen and waits stays chosen while it asks.

    Members
    -------
    asks : In(3)
    taken : In(1), the unit takes the instruction in this cycle
    thread : Out(2); valid : Out(1), a thread asks
    """

    asks: In(THREADS)
    taken: In(1)
    thread: Out(range(THREADS))
    valid: Out(1)

    def elaborate(self, platform):
        m = Module()
        waits, waiting = Signal(), Signal(range(THREADS))
        first = Signal(range(THREADS))
        m.d.comb += [
            first.eq(Mux(self.asks[0], 0, Mux(self.asks[1], 1, 2))),
            self.thread.eq(Mux(waits & self.asks.bit_select(waiting, 1), waiting, first)),
            self.valid.eq(self.asks.any()),
        ]
        m.d.sync += [waits.eq(self.valid & ~self.taken), waiting.eq(self.thread)]
        return m
