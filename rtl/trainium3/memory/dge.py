"""Descriptor generation (DGE): a copy command to the descriptors of its runs.

A descriptor moves bytes that are contiguous at source and destination, in one SBUF partition, at most ``2**cut_bits`` of them.

Ref: "Trainium/Inferentia2 Architecture Guide for NKI", "Descriptor generation" and "DMA overview", AWS Neuron documentation;
aws-neuron-driver for the length of a descriptor.
"""

from amaranth import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from bitpath.golden.trainium3.declarations.dma import DMA_ENGINES, DMA_QUEUES
from bitpath.golden.trainium3.declarations.memory import ENGINE_PARTITIONS
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.trainium3.faults import Fault, keep_first
from bitpath.rtl.trainium3.memory.config import DgeConfig
from bitpath.rtl.trainium3.memory.dge_side import SETUP_STEPS, DgeSide, dge_pattern

LARGEST_SIZE = 2
"""Largest element size: 2**2 bytes."""


def dge_command(config: DgeConfig) -> data.StructLayout:
    """Layout of a copy: both patterns, the partitions of each, the logarithm of an element's bytes, and the queue."""
    pattern = dge_pattern(config)
    return data.StructLayout(
        {
            "source": pattern,
            "destination": pattern,
            "partitions": range(PARTITIONS + 1),
            "size": 2,
            "queue": range(DMA_QUEUES),
        }
    )


def dge_address(config: DgeConfig) -> data.StructLayout:
    """Layout of an address: a byte of HBM, or in SBUF ``partition << partition_bits | byte``."""
    return data.StructLayout({"byte": config.byte_bits, "sbuf": 1})


def dge_descriptor(config: DgeConfig) -> data.StructLayout:
    """Layout of a descriptor: engine, queue, addresses, length in bytes, and whether it is its command's first or last."""
    address = dge_address(config)
    return data.StructLayout(
        {
            "engine": range(DMA_ENGINES),
            "queue": range(DMA_QUEUES),
            "source": address,
            "destination": address,
            "length": config.cut_bits + 1,
            "first": 1,
            "last": 1,
        }
    )


class Dge(wiring.Component):
    """Walks both patterns run by run; joins runs that continue on both sides.

    Latency: the first descriptor of several comes ``SETUP_STEPS + 5`` cycles after its command. Throughput: one descriptor a
    cycle, where each lies in one run on both sides. A stall of ``o`` holds the walk. A rejected command gives no descriptor.

    Parameters
    ----------
    config : widths of addresses and patterns.

    Members
    -------
    i : In(stream of dge_command)
    o : Out(stream of dge_descriptor)
    fault : Out(Fault), of the first command that was rejected since reset or ``clear``: DTYPE, a size that no element has;
        PARTITIONS, NUM, COUNT or RANGE
    clear : In(1), clears ``fault``
    busy : Out(1), a command is inside
    """

    def __init__(self, config: DgeConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(dge_command(config))),
                "o": Out(stream.Signature(dge_descriptor(config))),
                "fault": Out(Fault),
                "clear": In(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        command = Signal(dge_command(self.config), reset_less=True)
        m.submodules.source = source = DgeSide(self.config)
        m.submodules.destination = destination = DgeSide(self.config)
        load, setup, start, advance = Signal(), Signal(), Signal(), Signal()
        chunk = Signal(self.config.cut_bits + 1)
        step = Signal(range(SETUP_STEPS), reset_less=True)
        for side, pattern in ((source, command.source), (destination, command.destination)):
            m.d.comb += [
                side.pattern.eq(pattern),
                side.partitions.eq(command.partitions),
                side.size.eq(command.size),
                side.load.eq(load),
                side.setup.eq(setup),
                side.step.eq(step),
                side.start.eq(start),
                side.advance.eq(advance),
                side.chunk.eq(chunk),
            ]
        found, finished = Signal(Fault), Signal()
        m.d.comb += found.eq(self._fault(command, source, destination))
        with m.FSM() as fsm:
            with m.State("IDLE"):
                m.d.comb += self.i.ready.eq(1)
                m.d.sync += command.eq(self.i.p)
                with m.If(self.i.valid):
                    m.next = "LOAD"
            with m.State("LOAD"):
                m.d.comb += load.eq(1)
                m.d.sync += step.eq(0)
                m.next = "SETUP"
            with m.State("SETUP"):
                m.d.comb += setup.eq(1)
                m.d.sync += step.eq(step + 1)
                with m.If(step == SETUP_STEPS - 1):
                    m.next = "CHECK"
            with m.State("CHECK"):
                m.d.comb += start.eq(1)
                m.next = "WALK"
                with m.If(found != Fault.NONE):
                    m.next = "IDLE"
            with m.State("WALK"):
                with m.If(finished):
                    m.next = "FLUSH"
            with m.State("FLUSH"):
                with m.If(~self.o.valid | self.o.ready):
                    m.next = "IDLE"
        keep_first(m, self.fault, Mux(fsm.ongoing("CHECK"), found.as_value(), Fault.NONE), self.clear)
        m.d.comb += self.busy.eq(~fsm.ongoing("IDLE") | self.o.valid)
        self._runs(m, command, source, destination, chunk, advance, finished, start, fsm)
        return m

    def _fault(self, command, source: DgeSide, destination: DgeSide) -> Value:
        """What is wrong with a command."""
        sides = ((source, command.source), (destination, command.destination))
        beyond = [side.sbuf & (side.start + command.partitions > PARTITIONS) for _, side in sides]
        bad_partitions = (command.partitions == 0) | beyond[0] | beyond[1]
        return first_of(
            (command.size > LARGEST_SIZE, Fault.DTYPE),
            (bad_partitions, Fault.PARTITIONS),
            (source.empty | destination.empty, Fault.NUM),
            (source.count != destination.count, Fault.COUNT),
            (source.outside | destination.outside, Fault.RANGE),
        )

    def _runs(self, m: Module, command, source, destination, chunk, advance, finished, start, fsm) -> None:
        """Take the longest chunk that stays in a run of both sides, and join it to the descriptor before where it continues."""
        config = self.config
        present = Signal(dge_descriptor(config), reset_less=True)
        boundary = Signal(reset_less=True)
        there = Signal()
        # Where the present descriptor would continue.
        ends = [Signal(config.byte_bits, name=f"{name}_end", reset_less=True) for name in ("source", "destination")]
        begins = [
            self._address(side, pattern, command.size)
            for side, pattern in ((source, command.source), (destination, command.destination))
        ]
        number = Signal(range(DMA_ENGINES), reset_less=True)
        partition = Signal(range(PARTITIONS), reset_less=True)
        longest = 1 << config.cut_bits
        in_sbuf = command.source.sbuf | command.destination.sbuf
        joins, bytes_, room = Signal(), Signal(config.cut_bits + 1), Signal(config.cut_bits + 1)
        free = ~self.o.valid | self.o.ready
        partition_ends = advance & source.last & (source.left == chunk)
        m.d.comb += [
            joins.eq(there & ~boundary & (present.length != longest) & (begins[0] == ends[0]) & (begins[1] == ends[1])),
            room.eq(Mux(joins, longest - present.length, longest) >> command.size),
            chunk.eq(room),
            bytes_.eq(chunk << command.size),
            advance.eq(fsm.ongoing("WALK") & (joins | ~there | free)),
            finished.eq(partition_ends & (partition == command.partitions - 1)),
        ]
        with m.If((source.left < room) & (source.left <= destination.left)):
            m.d.comb += chunk.eq(source.left)
        with m.Elif(destination.left < room):
            m.d.comb += chunk.eq(destination.left)

        leaves = Signal()
        m.d.comb += leaves.eq(free & ((advance & there & ~joins) | fsm.ongoing("FLUSH")))
        with m.If(self.o.ready):
            m.d.sync += self.o.valid.eq(0)
        with m.If(leaves):
            m.d.sync += [self.o.valid.eq(1), self.o.p.eq(present), self.o.p.last.eq(fsm.ongoing("FLUSH"))]
        with m.If(advance):
            m.d.sync += [there.eq(1), boundary.eq(partition_ends & in_sbuf), partition.eq(partition + partition_ends)]
            m.d.sync += [end.eq(begin + bytes_) for end, begin in zip(ends, begins, strict=True)]
            with m.If(joins):
                m.d.sync += present.length.eq(present.length + bytes_)
            with m.Else():
                sbuf_partition = Mux(command.destination.sbuf, destination.partition, source.partition)
                m.d.sync += [
                    present.source.byte.eq(begins[0]),
                    present.destination.byte.eq(begins[1]),
                    present.length.eq(bytes_),
                    present.first.eq(~there),
                    present.engine.eq(Mux(in_sbuf, sbuf_partition >> exact_log2(ENGINE_PARTITIONS), number)),
                    number.eq(number + 1),
                ]
        with m.If(start):
            m.d.sync += [there.eq(0), number.eq(0), partition.eq(0), present.queue.eq(command.queue)]
            m.d.sync += [
                present.source.sbuf.eq(command.source.sbuf),
                present.destination.sbuf.eq(command.destination.sbuf),
            ]

    def _address(self, side: DgeSide, pattern, size: Value) -> Value:
        """The byte of a side's next element, without the flag of its memory."""
        own = (side.address << size)[: self.config.byte_bits]
        return Mux(pattern.sbuf, (side.partition << self.config.partition_bits) | own, own)
