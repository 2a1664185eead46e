"""Cascade stream between two neighbours: a FIFO of two words at the sender and one at the receiver.

Ref: AM027, Register Move Functionality: 512 bits wide, two deep on both sides, so that four values are in flight.
"""

from amaranth import Module
from amaranth.lib import stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from bitpath.golden.aie_ml_v2.declarations.codes import CASCADE_BITS, CASCADE_DEPTH
from bitpath.rtl.aie_ml_v2.cascade.config import CascadeLinkConfig


class CascadeLink(wiring.Component):
    """Two FIFOs in series with a latency of two cycles, a throughput of one word a cycle and a capacity of four words.

    Parameters
    ----------
    config : CascadeLinkConfig, which has no fields.

    Members
    -------
    i : In(stream of 512)
    o : Out(stream of 512)
    """

    def __init__(self, config: CascadeLinkConfig):
        self.config = config
        super().__init__({"i": In(stream.Signature(CASCADE_BITS)), "o": Out(stream.Signature(CASCADE_BITS))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.sender = sender = SyncFIFO(width=CASCADE_BITS, depth=CASCADE_DEPTH)
        m.submodules.receiver = receiver = SyncFIFO(width=CASCADE_BITS, depth=CASCADE_DEPTH)
        wiring.connect(m, wiring.flipped(self.i), sender.w_stream)
        wiring.connect(m, sender.r_stream, receiver.w_stream)
        wiring.connect(m, receiver.r_stream, wiring.flipped(self.o))
        return m
