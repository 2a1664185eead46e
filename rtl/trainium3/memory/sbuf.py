"""SBUF: partitions that all engines read and write at full rate, and DMA ports that give way.

Ref: "Trainium/Inferentia2 Architecture Guide for NKI" and "Trainium3 Architecture Guide for NKI", AWS Neuron documentation.
That DMA waits, and only in the partitions that an engine uses, is chosen.
"""

from functools import reduce
from operator import or_

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped

from bitpath.golden.trainium3.declarations.memory import PARTITION_STARTS
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.common.pipeline.repeat import repeat
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.pipeline.wide import wide_array
from bitpath.rtl.trainium3.dma.read_add_write import beat_layout
from bitpath.rtl.trainium3.faults import Fault, keep_first
from bitpath.rtl.trainium3.memory.config import SBUF_WORD_BYTES, SbufConfig
from bitpath.rtl.trainium3.memory.sbuf_dma import SbufDma
from bitpath.rtl.trainium3.memory.sbuf_partition import SbufPartition


def sbuf_place(config: SbufConfig) -> data.StructLayout:
    """Layout of an engine's access: partitions from ``start`` on, and an 8-byte word of each."""
    return data.StructLayout(
        {
            "start": range(config.partitions),
            "partitions": range(config.partitions + 1),
            "word": config.word_bits,
        }
    )


def sbuf_write(config: SbufConfig) -> data.StructLayout:
    """Layout of an engine's write: a word and a bit for each byte, in every partition of the memory."""
    return data.StructLayout(
        {
            "place": sbuf_place(config),
            "words": wide_array(8 * SBUF_WORD_BYTES, config.partitions),
            "masks": wide_array(SBUF_WORD_BYTES, config.partitions),
        }
    )


class Sbuf(wiring.Component):
    """Partitions of bytes in four quadrants; eight partitions share a DMA port.

    An engine's access is refused, and sets ``fault``, unless it starts as the guides say: at any quadrant for one quadrant's
    partitions, at the first or third for two, else at 0. A refused read finds zeros, a refused write writes nothing.

    Latency: data come one cycle after their request; a word that is written in that cycle is read as it was. Throughput: 8 bytes
    a partition, port and cycle for engines, which never wait; for DMA see :class:`SbufDma`.

    Parameters
    ----------
    config : sizes and number of engines.

    Members
    -------
    read : In(stream of sbuf_place, always ready), data : Out(stream of a word for each partition, always ready), of each engine,
        those that only read first
    write : In(stream of sbuf_write, always ready), of each engine that writes
    dma_read, dma_data, dma_write : as ``read``, ``data`` and ``write`` of :class:`SbufDma`, of each eight partitions
    fault : Out(Fault), PARTITIONS or START, of the first refused access since reset or ``clear``, or OPERATION of a beat of DMA that
        has no mode and writes nothing; in one cycle engines' reads count as first, then their writes
    waits : Out, for each DMA port the cycles in which it waited for an engine since reset or ``clear``
    clear : In(1), clears ``fault`` and ``waits``
    """

    def __init__(self, config: SbufConfig):
        self.config = config
        words = wide_array(8 * SBUF_WORD_BYTES, config.partitions)
        row = stream.Signature(8 * config.dma_bytes)
        super().__init__(
            {
                "read": In(stream.Signature(sbuf_place(config), always_ready=True)).array(config.read_ports),
                "data": Out(stream.Signature(words, always_ready=True)).array(config.read_ports),
                "write": In(stream.Signature(sbuf_write(config), always_ready=True)).array(config.engines),
                "dma_read": In(stream.Signature(config.beats.address_bits)).array(config.groups),
                "dma_data": Out(row).array(config.groups),
                "dma_write": In(stream.Signature(beat_layout(config.beats))).array(config.groups),
                "fault": Out(Fault),
                "waits": Out(data.ArrayLayout(config.wait_bits, config.groups)),
                "clear": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        ports = [(self.read[port].valid, self.read[port].p) for port in range(config.read_ports)]
        ports += [(self.write[port].valid, self.write[port].p.place) for port in range(config.engines)]
        uses = [Signal(config.partitions, name=f"uses_{number}") for number in range(len(ports))]
        first = Signal(Fault)
        for (valid, place), use in reversed([*zip(ports, uses, strict=True)]):
            fault = self._fault(place) if config.checks else Value.cast(Fault.NONE)
            with m.If(valid & (fault != Fault.NONE)):
                m.d.comb += first.eq(fault)
            with m.Elif(valid):
                m.d.comb += use.eq(((1 << place.partitions) - 1 << place.start)[: config.partitions])
        used = Signal(config.partitions)
        m.d.comb += used.eq(reduce(or_, uses))
        reads, writes = uses[: config.read_ports], uses[config.read_ports :]
        for port, use in enumerate(reads):
            shown = Signal.like(use, name=f"shown_{port}")
            m.d.sync += [shown.eq(use), self.data[port].valid.eq(self.read[port].valid)]
            reads[port] = shown
        faults = [self._group(m, platform, group, reads, writes, used) for group in range(config.groups)]
        found = first_of((first != Fault.NONE, first.as_value()), *((fault != Fault.NONE, fault) for fault in faults))
        keep_first(m, self.fault, found, self.clear)
        return m

    def _fault(self, place) -> Value:
        """What is wrong with partitions and start; the rules are scaled to the configuration's quadrants."""
        config = self.config
        scale = PARTITIONS // config.partitions
        found: Value = Mux(place.start == 0, Fault.NONE, Fault.START)
        for most, starts in reversed(PARTITION_STARTS.items()):
            allowed = place.start.matches(*(start // scale for start in starts))
            found = Mux(place.partitions <= most // scale, Mux(allowed, Fault.NONE, Fault.START), found)
        wrong = (place.partitions == 0) | (place.partitions > config.partitions)
        return Mux(wrong, Fault.PARTITIONS, found)

    def _group(self, m: Module, platform, group: int, shown: list, writes: list, used: Signal) -> Value:
        """Add eight partitions and their DMA port, whose fault it returns."""
        config = self.config
        readers, writers = range(config.read_ports), range(config.engines)
        each = range(group * config.group, (group + 1) * config.group)
        dma = instantiate(m, platform, f"dma_{group}", SbufDma, config)
        connect(m, flipped(self.dma_read[group]), dma.read)
        connect(m, dma.data, flipped(self.dma_data[group]))
        connect(m, flipped(self.dma_write[group]), dma.write)
        m.d.comb += dma.used.eq(used[each.start : each.stop])
        with m.If(self.clear):
            m.d.sync += self.waits[group].eq(0)
        with m.Elif(dma.waits & ~self.waits[group].all()):
            m.d.sync += self.waits[group].eq(self.waits[group] + 1)

        word_bits = 8 * SBUF_WORD_BYTES
        words = Signal(config.group * config.read_ports * word_bits, name=f"words_{group}")
        rows = Signal(config.group * 8 * config.dma_bytes, name=f"rows_{group}")
        for place, p in enumerate(each):
            for port in readers:
                word = words.word_select(place * config.read_ports + port, word_bits)
                m.d.comb += self.data[port].p[p].eq(Mux(shown[port][p], word, 0))
        read_row, write_row = (at[: config.row_bits] for at in (dma.read_at, dma.write_at))
        read_partition, write_partition = (at[config.row_bits :] for at in (dma.read_at, dma.write_at))
        masks = (Mux(writes[port][p], self.write[port].p.masks[p], 0) for p in each for port in writers)
        values = {
            "read_word": Cat(self.read[port].p.word for port in readers),
            "read_data": words,
            "write_mask": Cat(masks),
            "write_word": Cat(self.write[port].p.place.word for port in writers),
            "write_data": Cat(self.write[port].p.words[p] for p in each for port in writers),
            "dma_reads": Cat(dma.reads & (read_partition == place) for place in range(config.group)),
            "dma_read_row": read_row,
            "dma_read_data": rows,
            "dma_writes": Cat(dma.writes & (write_partition == place) for place in range(config.group)),
            "dma_write_row": write_row,
            "dma_mask": dma.mask,
            "dma_data": dma.bytes,
        }
        m.d.comb += dma.found.eq(rows)
        spread = ("read_data", "write_mask", "write_data", "dma_reads", "dma_read_data", "dma_writes")
        repeat(m, platform, f"cells_{group}", values, SbufPartition, (config,), config.group, spread=spread)
        return dma.fault
