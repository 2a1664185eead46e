"""DMA of a core: descriptor generation, an engine for each eight partitions, and HBM."""

from typing import Any

from amaranth import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect
from amaranth.utils import exact_log2

from bitpath.golden.trainium3.declarations.dma import TRAFFIC_CLASSES
from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.dma_engine import DmaEngine, queues_config
from bitpath.rtl.trainium3.core.instruction import dma_layout
from bitpath.rtl.trainium3.dma.dma_cast import log_bytes
from bitpath.rtl.trainium3.dma.dma_mover import move_fault, move_layout
from bitpath.rtl.trainium3.dma.dma_queues import QueueSettings, descriptor_layout
from bitpath.rtl.trainium3.dma.dtype import Dtype
from bitpath.rtl.trainium3.dma.read_add_write import WriteMode, beat_layout, store_layout
from bitpath.rtl.trainium3.dma.token_bucket import ClassSettings
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.memory.dge import Dge
from bitpath.rtl.trainium3.memory.sbuf import HeldAnswer

# A core's DMA engine between HBM and the DMA port of its eight SBUF partitions.


MOVING = 16
"""More descriptors than an engine's mover has at a time: four before it, one in it, and one for each write on its way."""


class DmaPort(wiring.Component):
    """Sends the engine's reads and writes to the memory that the highest bit of their addresses names.

    SBUF may delay them; HBM answers in the next cycle. A word that is added to is fetched before the next word of the source.

    Parameters
    ----------
    config : the core's.

    Members
    -------
    i, queues, classes, granted, done : as of `DmaEngine`; done_queue : Out, the queue of the descriptor that is done
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
                "done_queue": Out(range(config.queues)),
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
        # The mover ends descriptors in the order of their grants.
        m.submodules.granted = granted = SyncFIFO(width=len(engine.granted_queue), depth=MOVING)
        m.d.comb += [
            granted.w_data.eq(engine.granted_queue),
            granted.w_en.eq(engine.granted),
            granted.r_en.eq(engine.done),
            self.done_queue.eq(granted.r_data),
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


INSTRUCTIONS = 16
"""Instructions of a queue that may be under way, as many as descriptors keep its engines busy."""
COPIED = {WriteMode.STORE: Dtype.UINT8, WriteMode.ADD_BF16: Dtype.BF16, WriteMode.ADD_FP32: Dtype.FP32}
"""Dtype of a copy's elements on their way: a store moves bytes."""


def host_members(config: CoreConfig) -> dict[str, wiring.Member]:
    """Return the members that the host drives: settings of the queues, and a port of HBM."""
    word = 8 * config.mover.beat_bytes
    return {
        "queues": In(data.ArrayLayout(QueueSettings, config.queues)),
        "classes": In(data.ArrayLayout(ClassSettings, TRAFFIC_CLASSES)),
        "host_address": In(exact_log2(config.hbm_bytes // config.mover.beat_bytes)),
        "host_write": In(1),
        "host_word": In(word),
        "host_data": Out(word),
    }


class CoreDma(wiring.Component):
    """Takes DMA instructions while others are under way; a refused one moves nothing.

    An instruction ends when each engine has moved its part; those of a queue end in their order.

    Copies between two places of SBUF are refused, since an engine reaches the partitions of its own port alone.

    Parameters
    ----------
    config : the core's.

    Members
    -------
    i : In(stream of dma_layout)
    fault : Out(Fault), other than NONE for one cycle if the instruction is refused
    busy : Out(1), an instruction is inside, or bytes are on their way
    ended : Out, instructions of each queue that have ended since reset or ``clear``, a refused one's among them
    clear : In(1), while nothing is inside: clears ``ended``
    queues, classes : as of `DmaEngine`, for all engines
    granted : Out, a bit for each engine: it begins a descriptor
    read, data, write : as of `DmaPort`'s side of SBUF, of each engine
    host_address, host_write, host_word : In, a word of HBM, written if the second is 1; host_data : Out, read, a cycle later
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        sbuf, groups = config.sbuf, config.sbuf.groups
        super().__init__(
            {
                "i": In(stream.Signature(dma_layout(config))),
                "fault": Out(Fault),
                "busy": Out(1),
                "ended": Out(data.ArrayLayout(config.count_bits, config.queues)),
                "clear": In(1),
                "granted": Out(groups),
                "read": Out(stream.Signature(sbuf.beats.address_bits)).array(groups),
                "data": In(stream.Signature(8 * config.mover.beat_bytes)).array(groups),
                "write": Out(stream.Signature(beat_layout(sbuf.beats))).array(groups),
            }
            | host_members(config)
        )

    def elaborate(self, platform):
        m = Module()
        config, groups = self.config, self.config.sbuf.groups
        m.submodules.hbm = hbm = memory.Memory(
            shape=8 * config.mover.beat_bytes, depth=config.hbm_bytes // config.mover.beat_bytes, init=[]
        )
        ports = [self._port(m, platform, number, hbm) for number in range(groups)]
        host_read, host_write = hbm.read_port(), hbm.write_port()
        m.d.comb += [
            host_read.addr.eq(self.host_address),
            self.host_data.eq(host_read.data),
            host_write.addr.eq(self.host_address),
            host_write.data.eq(self.host_word),
            host_write.en.eq(self.host_write),
        ]

        dge = instantiate(m, platform, "dge", Dge, config.dge)
        copy, i = self.i.p.copy, self.i.p
        wrong, mode, may = Signal(Fault), Signal(WriteMode), Signal()
        taken, accepts = Signal(), Signal()
        m.d.comb += [
            wrong.eq(Mux(i.direct, self._direct_fault(i), self._copy_fault(i))),
            dge.i.p.eq(copy),
            dge.clear.eq(1),
            # A cycle has one fault.
            may.eq(accepts & (dge.fault == Fault.NONE)),
            dge.i.valid.eq(self.i.valid & may & ~i.direct & (wrong == Fault.NONE)),
            taken.eq(self.i.valid & self.i.ready),
        ]
        with m.If(dge.i.valid & dge.i.ready):
            m.d.sync += mode.eq(i.mode)
        m.d.comb += self.fault.eq(dge.fault)
        with m.If(taken & (wrong != Fault.NONE)):
            m.d.comb += self.fault.eq(wrong)

        # A direct descriptor waits for those before it, so that a queue keeps the order of its instructions.
        move = Signal(move_layout(config.mover))
        queue, engine = Signal(range(config.queues)), Signal(range(max(2, groups)))
        direct, offers = Signal(), Signal()
        m.d.comb += [
            direct.eq(self.i.valid & may & i.direct & ~dge.busy & (wrong == Fault.NONE)),
            offers.eq(dge.o.valid | direct),
            move.signals.eq(offers),
        ]
        with m.If(direct):
            m.d.comb += [
                *(move[name].eq(i[name]) for name in ("length", "source", "destination", "pair", "mode")),
                queue.eq(i.queue),
                engine.eq(i.engine),
            ]
        with m.Else():
            m.d.comb += [
                move.length.eq(dge.o.p.length),
                *(move[side].eq(self._address(dge.o.p[side])) for side in ("source", "destination")),
                move.mode.eq(mode),
                queue.eq(dge.o.p.queue),
                engine.eq(dge.o.p.engine[: exact_log2(groups)]),
            ]
            for side in ("source", "destination"):
                with m.Switch(mode):
                    for each, dtype in COPIED.items():
                        with m.Case(each):
                            m.d.comb += move.pair[side].eq(dtype)
        room = Signal()
        descriptor = Signal(descriptor_layout(queues_config(config.dma_engine)))
        m.d.comb += [
            Value.cast(descriptor).eq(Value.cast(move)),
            room.eq(Array(Array(each.ready for each in port.i)[queue] for port in ports)[engine]),
            dge.o.ready.eq(room),
            self.i.ready.eq(may & Mux((wrong == Fault.NONE) & i.direct, direct & room, dge.i.ready)),
        ]
        for number, port in enumerate(ports):
            for k, own in enumerate(port.i):
                m.d.comb += [own.p.eq(descriptor), own.valid.eq(offers & (engine == number) & (queue == k))]
        sent = [offers & room & (engine == number) for number in range(groups)]
        under_way = self._count(m, ports, sent, queue, taken, ~dge.busy, accepts)
        m.d.comb += self.busy.eq(dge.busy | under_way)
        return m

    def _count(
        self, m: Module, ports: list[Any], sent: list[Value], queue: Value, taken: Value, walked: Value, accepts: Value
    ) -> Value:
        """Count the instructions of each queue that have ended. Return whether one is under way.

        An instruction is ``inside`` until all its descriptors are in queues; then a FIFO keeps how many of the queue each engine
        has moved when it ends.
        """
        config = self.config
        marks = data.ArrayLayout(config.count_bits, config.sbuf.groups)
        inside, own = Signal(), Signal(range(config.queues))
        rooms, under_way = [], []
        closes = inside & walked
        for q in range(config.queues):
            given, moved = (Signal(marks, name=f"{name}_{q}") for name in ("given", "moved"))
            for number, port in enumerate(ports):
                m.d.sync += [
                    given[number].eq(given[number] + (sent[number] & (queue == q))),
                    moved[number].eq(moved[number] + (port.done & (port.done_queue == q))),
                ]
            m.submodules[f"ends_{q}"] = ends = SyncFIFO(width=marks.size, depth=INSTRUCTIONS)
            end = data.View(marks, ends.r_data)
            behind = [(moved[number] - end[number])[config.count_bits - 1] for number in range(config.sbuf.groups)]
            ended, count = Signal(name=f"ended_{q}"), Signal(config.count_bits, name=f"count_{q}")
            m.d.comb += [
                ends.w_data.eq(given),
                ends.w_en.eq(closes & (own == q)),
                ended.eq(ends.r_rdy & ~Cat(behind).any()),
                ends.r_en.eq(ended),
                self.ended[q].eq(count + ended),
            ]
            m.d.sync += count.eq(Mux(self.clear, 0, self.ended[q]))
            rooms.append(ends.w_rdy)
            under_way.append(ends.r_level > ended)
        m.d.comb += accepts.eq(~inside | (walked & Array(rooms)[own]))
        i = self.i.p
        with m.If(taken):
            m.d.sync += [inside.eq(1), own.eq(Mux(i.direct, i.queue, i.copy.queue))]
        with m.Elif(accepts):
            m.d.sync += inside.eq(0)
        return inside | Cat(under_way).any()

    def _port(self, m: Module, platform: Any, number: int, hbm: memory.Memory) -> Any:
        """Add an engine with its ports of HBM."""
        port = instantiate(m, platform, f"port_{number}", DmaPort, self.config)
        read, fetch, write = hbm.read_port(), hbm.read_port(), hbm.write_port(granularity=8)
        m.d.comb += [
            port.queues.eq(self.queues),
            port.classes.eq(self.classes),
            self.granted[number].eq(port.granted),
            read.addr.eq(port.hbm_read),
            fetch.addr.eq(port.hbm_fetch),
            port.hbm_data.eq(read.data),
            port.hbm_fetched.eq(fetch.data),
            write.addr.eq(port.hbm_write.p.address),
            write.data.eq(port.hbm_write.p.data),
            write.en.eq(Mux(port.hbm_write.valid, port.hbm_write.p.mask, 0)),
        ]
        connect(m, port.sbuf_read, wiring.flipped(self.read[number]))
        connect(m, wiring.flipped(self.data[number]), port.sbuf_data)
        connect(m, port.sbuf_write, wiring.flipped(self.write[number]))
        return port

    def _address(self, address: Value) -> Value:
        """The mover's address of the DGE's: the place in the engine's partitions, with the memory above it."""
        config = self.config
        place = address.byte[: config.mover.address_bits - 1]
        inside = exact_log2(config.sbuf.group * config.partition_bytes)
        return Cat(Mux(address.sbuf, address.byte[:inside], place)[: config.mover.address_bits - 1], address.sbuf)

    def _copy_fault(self, i: Value) -> Value:
        """Return faults that the DGE cannot find: they depend on the size of this core and the reach of its engines."""
        sides = (i.copy.source, i.copy.destination)
        beyond = [side.sbuf & (side.start + i.copy.partitions > self.config.size) for side in sides]
        narrow = ((i.mode == WriteMode.ADD_BF16) & (i.copy.size != 1)) | (
            (i.mode == WriteMode.ADD_FP32) & (i.copy.size != 2)
        )
        wrong_mode = i.mode.as_value() > WriteMode.ADD_FP32.value
        elsewhere = (sides[0].sbuf & sides[1].sbuf) | (i.copy.queue >= self.config.queues)
        return first_of(
            (wrong_mode | elsewhere, Fault.OPERATION),
            (narrow, Fault.DTYPE),
            (beyond[0] | beyond[1], Fault.PARTITIONS),
        )

    def _direct_fault(self, i: Value) -> Value:
        """Return the fault of a descriptor, which stays in HBM or in a partition."""
        config = self.config
        length = Cat(i.length, ~i.length.any())
        widths = [log_bytes(i.pair[side]) for side in ("source", "destination")]
        wider = Mux(widths[0] > widths[1], *widths)
        own, outside = move_fault(i), []
        for side, width in zip(("source", "destination"), widths, strict=True):
            place, in_sbuf = i[side][:-1], i[side][-1]
            end = Mux(in_sbuf, place[: exact_log2(config.partition_bytes)], place) + (length >> (wider - width)[:2])
            outside.append(end > Mux(in_sbuf, config.partition_bytes, config.hbm_bytes))
            outside.append(in_sbuf & (place >= config.sbuf.group * config.partition_bytes))
        beyond = (i.engine >= config.sbuf.groups) | (i.source[-1] & i.destination[-1])
        return first_of(
            (beyond, Fault.OPERATION),
            *((own == fault, fault) for fault in (Fault.OPERATION, Fault.DTYPE, Fault.RANGE)),
            (Cat(outside).any(), Fault.RANGE),
        )
