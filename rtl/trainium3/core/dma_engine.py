"""A DMA engine: its queues, and the mover that serves them."""

from amaranth import Module, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from bitpath.golden.trainium3.declarations.dma import TRAFFIC_CLASSES
from bitpath.rtl.common.unit import CLOCK, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.trainium3.core.config import DmaEngineConfig
from bitpath.rtl.trainium3.dma.dma_mover import DmaMover, DmaMoverConfig, move_layout
from bitpath.rtl.trainium3.dma.dma_queues import DmaQueues, DmaQueuesConfig, QueueSettings, descriptor_layout
from bitpath.rtl.trainium3.dma.read_add_write import store_layout
from bitpath.rtl.trainium3.dma.token_bucket import LENGTH_BITS, ClassSettings
from bitpath.rtl.trainium3.faults import Fault


def queues_config(config: DmaEngineConfig) -> DmaQueuesConfig:
    """Return the configuration of the queues, whose descriptors are those of the mover."""
    body_bits = move_layout(config.mover).size - LENGTH_BITS
    return DmaQueuesConfig(queues=config.queues, depth=config.depth, body_bits=body_bits)


class DmaEngine(wiring.Component):
    """Descriptors wait in the queues. Priorities, classes and turns choose one, and the mover takes it::

        i[q] -> queue -> grant -> mover -> reads and writes

    A descriptor is granted in the cycle in which the mover takes it, and the next one when its time is over, as `DmaQueues`
    and `DmaMover` say.

    Parameters
    ----------
    config : queues and mover.

    Members
    -------
    i : In(stream of descriptor_layout), of each queue; its bits are those of move_layout
    queues, classes : as of `DmaQueues`
    granted, granted_queue : Out(1) and Out(queue number), a descriptor of that queue is granted in this cycle
    read, data, fetch, fetched, write, fault, clear, done : as of `DmaMover`
    """

    def __init__(self, config: DmaEngineConfig):
        self.config = config
        descriptors = stream.Signature(descriptor_layout(queues_config(config)))
        address = stream.Signature(config.mover.writes.address_bits)
        word = 8 * config.mover.beat_bytes
        super().__init__(
            {
                "i": In(descriptors).array(config.queues),
                "queues": In(data.ArrayLayout(QueueSettings, config.queues)),
                "classes": In(data.ArrayLayout(ClassSettings, TRAFFIC_CLASSES)),
                "granted": Out(1),
                "granted_queue": Out(ceil_log2(config.queues)),
                "read": Out(address),
                "data": In(stream.Signature(word)),
                "fetch": Out(address),
                "fetched": In(word),
                "write": Out(stream.Signature(store_layout(config.mover.writes))),
                "fault": Out(Fault),
                "clear": In(1),
                "done": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.dma_queues = queues = DmaQueues(queues_config(self.config))
        m.submodules.dma_mover = mover = DmaMover(self.config.mover)
        for own, inner in zip(self.i, queues.i, strict=True):
            connect(m, flipped(own), inner)
        m.d.comb += [
            queues.queues.eq(self.queues),
            queues.classes.eq(self.classes),
            queues.free.eq(mover.i.ready),
            mover.i.valid.eq(queues.granted),
            Value.cast(mover.i.p).eq(Value.cast(queues.grant.descriptor)),
            self.granted.eq(queues.granted),
            self.granted_queue.eq(queues.grant.queue),
            mover.fetched.eq(self.fetched),
            self.fault.eq(mover.fault),
            mover.clear.eq(self.clear),
            self.done.eq(mover.done),
        ]
        for name in ("read", "fetch", "write"):
            connect(m, getattr(mover, name), flipped(getattr(self, name)))
        connect(m, flipped(self.data), mover.data)
        return m


RECORDS = (
    Unit(
        name="dma_engine",
        config_type=DmaEngineConfig,
        build=DmaEngine,
        summary="Trainium3: a DMA engine, queues with priorities and classes before a mover",
        covered=Covered(DmaEngineConfig(mover=DmaMoverConfig(address_bits=17, descriptor_cycles=8)), 100),
        judges=(Judge(44, DmaEngineConfig(mover=DmaMoverConfig(descriptor_cycles=8)), 30),),
        waves=(
            CLOCK,
            WaveGroup("descriptors", r"i__"),
            WaveGroup("settings", r"(queues|classes)$"),
            WaveGroup("grants", r"grant"),
            WaveGroup("reads", r"(read__|data__)"),
            WaveGroup("writes", r"(fetch|write__|done)"),
            WaveGroup("queues inside", r"dma_queues\."),
            WaveGroup("mover inside", r"dma_mover\."),
        ),
    ),
)
