"""Memory of the partial sums between two passes of a contraction."""

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.trainium3.engine.instruction import EngineConfig


class Chain(wiring.Component):
    """A queue of ``chain_depth`` words of one partial sum for each column.

    Whoever writes must leave room: a multiplication writes at most ``chain_depth`` words.

    Parameters
    ----------
    config : configuration of the engine.

    Members
    -------
    write : In(cols * 32), write_valid : In(1)
    read : Out(cols * 32), read_valid : Out(1), the oldest word; take : In(1), it leaves
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        words = FP32.width * config.array.cols
        super().__init__(
            {"write": In(words), "write_valid": In(1), "read": Out(words), "read_valid": Out(1), "take": In(1)}
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.queue = queue = SyncFIFOBuffered(width=len(self.write), depth=self.config.chain_depth)
        m.d.comb += [
            queue.w_data.eq(self.write),
            queue.w_en.eq(self.write_valid),
            self.read.eq(queue.r_data),
            self.read_valid.eq(queue.r_rdy),
            queue.r_en.eq(self.take),
        ]
        return m
