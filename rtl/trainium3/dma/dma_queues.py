"""Queues of a DMA engine, with priorities and traffic classes."""

from dataclasses import dataclass

from amaranth import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, ceil_log2

from bitpath.golden.trainium3.declarations.dma import DMA_QUEUES, PRIORITIES, TRAFFIC_CLASSES
from bitpath.rtl.common.config import UnitConfig, in_range, power_of_two
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.trainium3.dma.token_bucket import LENGTH_BITS, ClassSettings, TokenBucket


@dataclass(frozen=True, kw_only=True)
class DmaQueuesConfig(UnitConfig, unit="dma_queues"):
    """Configuration of the queues of a DMA engine.

    Attributes
    ----------
    queues : a power of two from 2 to 16; the machine's engines have 16.
    depth : descriptors that a queue holds.
    body_bits : bits of a descriptor beside its length.
    """

    queues: int = power_of_two(2, DMA_QUEUES, 4)
    depth: int = in_range(1, 1 << 10, 2)
    body_bits: int = in_range(1, 1 << 10, 8)


# Arbiter with strict priorities and round robin among equals.


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


class QueueSettings(data.Struct):
    """Priority of a queue, the lower one served first, and its traffic class."""

    priority: PRIORITY_BITS
    traffic_class: bits_for(TRAFFIC_CLASSES - 1)


def descriptor_layout(config: DmaQueuesConfig) -> data.StructLayout:
    """Layout of a descriptor: bytes, 0 for 65,536, and what only the mover reads."""
    return data.StructLayout({"length": LENGTH_BITS, "body": config.body_bits})


def grant_layout(config: DmaQueuesConfig) -> data.StructLayout:
    """Layout of a grant: a descriptor and its queue."""
    return data.StructLayout({"descriptor": descriptor_layout(config), "queue": ceil_log2(config.queues)})


class DmaQueues(wiring.Component):
    """A FIFO of descriptors for each queue; in a cycle in which the mover is free one of their heads is granted, if any may be.

    A head may be granted from the cycle after its transfer into an empty queue on, while its class has tokens. Strict priority and
    round robin among equals choose one. A grant is not an offer: it is made and taken in one cycle, since what arrives in
    the next one may change the choice.

    Parameters
    ----------
    config : numbers of queues and of descriptors in each, bits of a descriptor.

    Members
    -------
    i : In(stream of descriptor_layout), of each queue
    queues : In(array of QueueSettings)
    classes : In(array of ClassSettings)
    free : In(1), the mover takes a descriptor in this cycle
    granted : Out(1), ``grant`` is taken in this cycle
    grant : Out(grant_layout)
    """

    def __init__(self, config: DmaQueuesConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(descriptor_layout(config))).array(config.queues),
                "queues": In(data.ArrayLayout(QueueSettings, config.queues)),
                "classes": In(data.ArrayLayout(ClassSettings, TRAFFIC_CLASSES)),
                "free": In(1),
                "granted": Out(1),
                "grant": Out(grant_layout(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        count = self.config.queues
        arbiter = instantiate(m, platform, "arbiter", StrictPriority, count)
        opens = Array(Signal(name=f"open_{each}") for each in range(TRAFFIC_CLASSES))
        heads = Array(Signal(descriptor_layout(self.config), name=f"head_{each}").as_value() for each in range(count))
        requests = []
        for k in range(count):
            settings = self.queues[k]
            m.submodules[f"fifo_{k}"] = fifo = SyncFIFO(
                width=descriptor_layout(self.config).size, depth=self.config.depth
            )
            m.d.comb += [
                fifo.w_data.eq(Value.cast(self.i[k].p)),
                fifo.w_en.eq(self.i[k].valid),
                self.i[k].ready.eq(fifo.w_rdy),
                heads[k].eq(fifo.r_data),
                fifo.r_en.eq(self.granted & (self.grant.queue == k)),
                arbiter.priorities[k].eq(settings.priority),
            ]
            requests.append(fifo.r_rdy & opens[settings.traffic_class])
        m.d.comb += [
            arbiter.requests.eq(Cat(requests)),
            arbiter.serve.eq(self.free),
            self.granted.eq(self.free & arbiter.found),
            self.grant.queue.eq(arbiter.choice),
            self.grant.descriptor.eq(Mux(arbiter.found, heads[arbiter.choice], 0)),
        ]
        chosen = Signal(QueueSettings)
        m.d.comb += chosen.eq(self.queues[arbiter.choice])
        for k in range(TRAFFIC_CLASSES):
            bucket = instantiate(m, platform, f"bucket_{k}", TokenBucket)
            m.d.comb += [
                bucket.settings.eq(self.classes[k]),
                bucket.take.eq(self.granted & (chosen.traffic_class == k)),
                bucket.length.eq(self.grant.descriptor.length),
                opens[k].eq(bucket.open),
            ]
        return m


RECORDS = (
    Unit(
        name="dma_queues",
        config_type=DmaQueuesConfig,
        build=DmaQueues,
        summary="Trainium3: queues of a DMA engine with priorities and traffic classes",
        covered=Covered(DmaQueuesConfig(), 200),
        judges=(Judge(42, DmaQueuesConfig(), 120),),
        waves=(
            CLOCK,
            WaveGroup("descriptors", r"i__"),
            WaveGroup("settings", r"(queues|classes)"),
            WaveGroup("decision", r"(free|granted|grant|arbiter)"),
            WaveGroup("tokens", r"(open|bucket)"),
            WaveGroup("queues", r"(head|fifo)"),
        ),
    ),
)
