"""One single-port bank of data memory with its arbiter: load A, load B, the store, and an outside port."""

from amaranth import Module, Mux, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.aie_ml_v2.tile.config import DataMemoryConfig

STORE, OUTSIDE = 2, 3
"""Numbers of requesters behind both loads."""
REQUESTERS = 4


class MemoryBank(wiring.Component):
    """Serves one request a cycle: the first of the core's, and an outside one if there is none, or if it is ``owed``.

    Latency: a word comes one cycle after its request is served.

    Parameters
    ----------
    config : sizes of the memory.

    Members
    -------
    asks : In(4), requests of load A, load B, the store and the outside port
    places : In(4 places), the word of each
    owed : In(1), the outside port goes first
    outside_writes : In(1)
    data, mask : In, of the store and of the outside port
    served : Out(4), the request that is served
    o : Out(word)
    """

    def __init__(self, config: DataMemoryConfig):
        self.config = config
        word = 8 * config.bank_bytes
        super().__init__(
            {
                "asks": In(REQUESTERS),
                "places": In(REQUESTERS * config.word_bits),
                "owed": In(1),
                "outside_writes": In(1),
                "data": In(2 * word),
                "mask": In(2 * config.bank_bytes),
                "served": Out(REQUESTERS),
                "o": Out(word),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        word = 8 * config.bank_bytes
        m.submodules.cells = cells = memory.Memory(shape=word, depth=config.words, init=[])
        read, write = cells.read_port(), cells.write_port(granularity=8)
        place = Signal(config.word_bits)
        m.d.comb += [read.addr.eq(place), read.en.eq(self.served.any()), write.addr.eq(place), self.o.eq(read.data)]
        with m.If(self.asks[OUTSIDE] & (self.owed | ~self.asks[:OUTSIDE].any())):
            m.d.comb += self.served[OUTSIDE].eq(1)
        with m.Else():
            m.d.comb += self.served.eq(self.asks[:OUTSIDE] & -self.asks[:OUTSIDE])
        for requester in range(REQUESTERS):
            with m.If(self.served[requester]):
                m.d.comb += place.eq(self.places.word_select(requester, config.word_bits))
        outside, writes = self.served[OUTSIDE], Signal()
        m.d.comb += [
            writes.eq(self.served[STORE] | (outside & self.outside_writes)),
            write.data.eq(self.data.word_select(outside, word)),
            write.en.eq(Mux(writes, self.mask.word_select(outside, config.bank_bytes), 0)),
        ]
        return m
