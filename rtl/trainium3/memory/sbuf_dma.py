"""The DMA port of eight SBUF partitions: reads, masked writes and read-add-write, which give way to the engines."""

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect

from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.dma.read_add_write import ReadAddWrite, WriteMode, adder_ports, beat_layout
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.memory.config import SbufConfig
from bitpath.rtl.trainium3.memory.held_answer import HeldAnswer


class SbufDma(wiring.Component):
    """A read and a write side. An access waits while an engine uses its partition.

    Beats that add fetch their words on the read side and go through :class:`ReadAddWrite`, as do stores behind them; other
    stores are in place at once. Reads wait until no beat is on its way, so that they see all that were taken before.

    Latency: a read's answer comes a cycle later; a store is seen by a read in the next cycle, a sum in the second. Throughput: a
    read and a store a cycle, or an addition a cycle.

    Parameters
    ----------
    config : that of the memory.

    Members
    -------
    read : In(stream of addresses), of rows: the row in its partition lowest; data : Out(stream of a row's bytes)
    write : In(stream of beat_layout), of :mod:`bitpath.rtl.trainium3.dma.read_add_write`
    used : In, a bit for each partition: an engine uses it in this cycle
    reads, read_at : Out, a read in this cycle, and its address; found : In, a row of each partition, of the cycle before
    writes, write_at, mask, bytes : Out, a write in this cycle
    waits : Out(1), an access waits for an engine
    fault : Out(Fault), as of :class:`ReadAddWrite`, with it
    """

    def __init__(self, config: SbufConfig):
        self.config = config
        address, row = config.beats.address_bits, 8 * config.dma_bytes
        super().__init__(
            {
                "read": In(stream.Signature(address)),
                "data": Out(stream.Signature(row)),
                "write": In(stream.Signature(beat_layout(config.beats))),
                "used": In(config.group),
                "reads": Out(1),
                "read_at": Out(address),
                "found": In(row * config.group),
                "writes": Out(1),
                "write_at": Out(address),
                "mask": Out(config.dma_bytes),
                "bytes": Out(row),
                "waits": Out(1),
                "fault": Out(Fault),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        # Ports without a unit behind them stay 0.
        add = adder_ports(config.beats).create(path=("read_add_write",))
        if config.adds:
            add = instantiate(m, platform, "read_add_write", ReadAddWrite, config.beats)
        m.submodules.answer = answer = HeldAnswer(8 * config.dma_bytes)
        connect(m, answer.o, wiring.flipped(self.data))
        partition = Signal(range(config.group), reset_less=True)
        word = Signal(8 * config.dma_bytes)
        m.d.sync += partition.eq(self.read_at >> config.row_bits)
        m.d.comb += [word.eq(self.found.word_select(partition, len(word))), answer.word.eq(word), add.fetched.eq(word)]

        # Nothing is on its way in read-add-write.
        idle, reads_wait, writes_wait = ~add.write.valid, Signal(), Signal()
        asks = self.read.valid & idle & answer.free
        read_free, write_free = Signal(), Signal()
        m.d.comb += [
            self.read_at.eq(Mux(add.fetch.valid, add.fetch.p, self.read.p)),
            read_free.eq(~self._used(self.read_at)),
            add.fetch.ready.eq(read_free),
            self.read.ready.eq(read_free & ~add.fetch.valid & idle & answer.free),
            answer.asked.eq(self.read.valid & self.read.ready),
            self.reads.eq(read_free & (add.fetch.valid | asks)),
            reads_wait.eq(~read_free & (add.fetch.valid | asks)),
        ]
        at_once = Signal()
        store = Mux(at_once, Value.cast(self.write.p.store), Value.cast(add.write.p))
        taken = Signal(self.write.p.store.shape())
        m.d.comb += [
            at_once.eq(idle & ((self.write.p.mode == WriteMode.STORE) if config.adds else 1)),
            add.i.valid.eq(self.write.valid & ~at_once),
            Value.cast(add.i.p).eq(Value.cast(self.write.p)),
            Value.cast(taken).eq(store),
            write_free.eq(~self._used(taken.address)),
            self.write.ready.eq(Mux(at_once, write_free, add.i.ready)),
            add.write.ready.eq(write_free),
            self.writes.eq(write_free & (~idle | (self.write.valid & at_once))),
            writes_wait.eq(~write_free & (~idle | (self.write.valid & at_once))),
            self.write_at.eq(taken.address),
            self.mask.eq(taken.mask),
            self.bytes.eq(taken.data),
            self.waits.eq(reads_wait | writes_wait),
            self.fault.eq(add.fault),
        ]
        return m

    def _used(self, address: Value) -> Value:
        return self.used.bit_select(address >> self.config.row_bits, 1)
