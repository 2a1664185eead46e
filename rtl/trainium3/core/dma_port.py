"""A core's DMA engine between HBM and the DMA port of its eight SBUF partitions."""

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect

from bitpath.golden.trainium3.declarations.dma import TRAFFIC_CLASSES
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.dma_engine import DmaEngine, queues_config
from bitpath.rtl.trainium3.dma.dma_queues import QueueSettings, descriptor_layout
from bitpath.rtl.trainium3.dma.read_add_write import WriteMode, beat_layout, store_layout
from bitpath.rtl.trainium3.dma.token_bucket import ClassSettings
from bitpath.rtl.trainium3.memory.held_answer import HeldAnswer


class DmaPort(wiring.Component):
    """Sends the engine's reads and writes to the memory that the highest bit of their addresses names.

    SBUF may delay them; HBM answers in the next cycle. A word that is added to is fetched before the next word of the source.

    Parameters
    ----------
    config : the core's.

    Members
    -------
    i, queues, classes, granted, done : as of `DmaEngine`
    hbm_read, hbm_fetch : Out, words' addresses; hbm_data, hbm_fetched : In, what was there, a cycle later
    hbm_write : Out(stream of store_layout, always ready)
    sbuf_read, sbuf_data, sbuf_write : as ``dma_read``, ``dma_data`` and ``dma_write`` of `Sbuf`, from the other side
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        word, sbuf = 8 * config.mover.beat_bytes, config.sbuf.beats
        address = config.mover.writes.address_bits - 1
        super().__init__(
            {
                "i": In(stream.Signature(descriptor_layout(queues_config(config.dma_engine)))).array(config.queues),
                "queues": In(data.ArrayLayout(QueueSettings, config.queues)),
                "classes": In(data.ArrayLayout(ClassSettings, TRAFFIC_CLASSES)),
                "granted": Out(1),
                "done": Out(1),
                "hbm_read": Out(address),
                "hbm_data": In(word),
                "hbm_fetch": Out(address),
                "hbm_fetched": In(word),
                "hbm_write": Out(stream.Signature(store_layout(config.mover.writes), always_ready=True)),
                "sbuf_read": Out(stream.Signature(sbuf.address_bits)),
                "sbuf_data": In(stream.Signature(word)),
                "sbuf_write": Out(stream.Signature(beat_layout(sbuf))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        engine = instantiate(m, platform, "engine", DmaEngine, self.config.dma_engine)
        m.submodules.answer = answer = HeldAnswer(8 * self.config.mover.beat_bytes)
        for own, inner in zip(self.i, engine.i, strict=True):
            connect(m, wiring.flipped(own), inner)
        m.d.comb += [
            engine.queues.eq(self.queues),
            engine.classes.eq(self.classes),
            self.granted.eq(engine.granted),
            self.done.eq(engine.done),
        ]
        read, fetch, write = engine.read, engine.fetch, engine.write
        reads_sbuf, fetches_sbuf, writes_sbuf = read.p[-1], fetch.p[-1], write.p.address[-1]
        fetches = Signal()
        m.d.comb += [
            fetches.eq(fetch.valid & fetches_sbuf),
            self.hbm_read.eq(read.p),
            self.hbm_fetch.eq(fetch.p),
            self.sbuf_read.p.eq(Mux(fetches, fetch.p, read.p)),
            self.sbuf_read.valid.eq(fetches | (read.valid & reads_sbuf & answer.free)),
            fetch.ready.eq(~fetches_sbuf | self.sbuf_read.ready),
            read.ready.eq(answer.free & (~reads_sbuf | (self.sbuf_read.ready & ~fetches))),
            answer.asked.eq(read.valid & read.ready),
            # Either takes its word a cycle after its address.
            self.sbuf_data.ready.eq(1),
        ]
        read_sbuf, fetched_sbuf = Signal(), Signal()
        m.d.sync += [read_sbuf.eq(reads_sbuf), fetched_sbuf.eq(fetches_sbuf)]
        m.d.comb += [
            answer.word.eq(Mux(read_sbuf, self.sbuf_data.p, self.hbm_data)),
            engine.fetched.eq(Mux(fetched_sbuf, self.sbuf_data.p, self.hbm_fetched)),
        ]
        connect(m, answer.o, engine.data)
        m.d.comb += [
            self.hbm_write.valid.eq(write.valid & ~writes_sbuf),
            self.hbm_write.p.eq(write.p),
            self.sbuf_write.valid.eq(write.valid & writes_sbuf),
            self.sbuf_write.p.mode.eq(WriteMode.STORE),
            self.sbuf_write.p.store.data.eq(write.p.data),
            self.sbuf_write.p.store.mask.eq(write.p.mask),
            self.sbuf_write.p.store.address.eq(write.p.address),
            write.ready.eq(~writes_sbuf | self.sbuf_write.ready),
        ]
        return m
