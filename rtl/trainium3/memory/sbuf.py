"""SBUF: partitions that all engines read and write at full rate, and DMA ports that give way.

Ref: "Trainium/Inferentia2 Architecture Guide for NKI" and "Trainium3 Architecture Guide for NKI", AWS Neuron documentation.
That DMA waits, and only in the partitions that an engine uses, is chosen.
"""

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from amaranth import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import exact_log2

from bitpath.golden.trainium3.declarations.memory import ENGINE_PARTITIONS, PARTITION_STARTS
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS, QUADRANT
from bitpath.rtl.common.config import UnitConfig, in_range, power_of_two, require_range
from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.common.pipeline.repeat import repeat
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.pipeline.word_memory import wide_array
from bitpath.rtl.common.unit import CLOCK, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.trainium3.dma.read_add_write import (
    ReadAddWrite,
    ReadAddWriteConfig,
    WriteMode,
    adder_ports,
    beat_layout,
)
from bitpath.rtl.trainium3.faults import Fault, keep_first

# A stream of answers that come one cycle after their requests.


class HeldAnswer(wiring.Component):
    """Offers the word that a memory shows, and keeps it until it is taken.

    Latency: an answer is offered in the cycle after ``asked``. Throughput: one a cycle.

    Parameters
    ----------
    shape : shape of an answer.

    Members
    -------
    asked : In(1), a read is served in this cycle; only while ``free``
    free : Out(1), no answer waits
    word : In(shape), what the read found, one cycle after ``asked``
    o : Out(stream of shape)
    """

    def __init__(self, shape: Any):
        super().__init__({"asked": In(1), "free": Out(1), "word": In(shape), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        arriving, waiting = Signal(), Signal()
        held = Signal.like(Value.cast(self.word), reset_less=True)
        offered = Value.cast(self.o.p)
        m.d.comb += [
            self.o.valid.eq(arriving | waiting),
            offered.eq(Mux(arriving, Value.cast(self.word), held)),
            self.free.eq(~self.o.valid | self.o.ready),
        ]
        m.d.sync += [arriving.eq(self.asked), waiting.eq(self.o.valid & ~self.o.ready), held.eq(offered)]
        return m


SBUF_WORD_BYTES = 8
"""Bytes that an engine reads or writes in an SBUF partition and cycle."""
QUARTERS = PARTITIONS // QUADRANT
"""Parts of the partitions at which an access may start."""


@dataclass(frozen=True, kw_only=True)
class SbufConfig(UnitConfig, unit="sbuf"):
    """Configuration of SBUF; the machine has 128 partitions of 256 KiB, in four quadrants.

    Attributes
    ----------
    partitions : a power of two from 4 to 128.
    partition_bytes : a power of two from 64 to 4096.
    banks : 8-byte words of a DMA access: 2, or 4 as on the machine.
    tile_readers : read ports that read a word of its own in each quarter of the partitions, before all others; they are not checked.
    readers : read ports without a write port, before those of ``engines``.
    engines : engines with a read port and a write port each.
    wait_bits : bits of the counter of a DMA port's waits, which stops at its largest value.
    adds : whether a DMA port has read-add-write; without it every beat stores.
    checks : whether the accesses are checked; without it they must be right.
    """

    partitions: int = power_of_two(4, PARTITIONS, 8)
    partition_bytes: int = power_of_two(64, 4096, 64)
    banks: int = power_of_two(2, 4, 2)
    tile_readers: int = 0
    readers: int = 0
    engines: int = in_range(1, 6, 2)
    wait_bits: int = in_range(1, 32, 5)
    adds: bool = True
    checks: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_range("sbuf", "readers", self.readers, 0, 7 - self.engines)
        require_range("sbuf", "tile_readers", self.tile_readers, 0, 7 - self.engines - self.readers)

    @property
    def read_ports(self) -> int:
        return self.tile_readers + self.readers + self.engines

    @property
    def group(self) -> int:
        """Partitions of a DMA port."""
        return min(ENGINE_PARTITIONS, self.partitions)

    @property
    def groups(self) -> int:
        return self.partitions // self.group

    @property
    def dma_bytes(self) -> int:
        """Bytes of a row, which a DMA access takes."""
        return self.banks * SBUF_WORD_BYTES

    @property
    def word_bits(self) -> int:
        """Bits of a word's place in its partition."""
        return exact_log2(self.partition_bytes // SBUF_WORD_BYTES)

    @property
    def row_bits(self) -> int:
        """Bits of a row's place in its partition."""
        return exact_log2(self.partition_bytes // self.dma_bytes)

    @property
    def beats(self) -> ReadAddWriteConfig:
        """Beats of a DMA port: the address of a row, with its partition above it."""
        return ReadAddWriteConfig(
            beat_bytes=self.dma_bytes, address_bits=self.row_bits + exact_log2(self.group), checks=self.checks
        )


# The DMA port of eight SBUF partitions: reads, masked writes and read-add-write, which give way to the engines.


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


# One SBUF partition: banks of 8-byte words, which the DMA port reads and writes together.


class SbufPartition(wiring.Component):
    """Every port reads or writes a word in each cycle; DMA takes the first read port and the first write port.

    Word w is in bank ``w % banks``. A word that is written in the cycle of its read is read as it was. Of two engines that
    write one byte at once either wins.

    Parameters
    ----------
    config : that of the memory.

    Members
    -------
    read_word : In, the word of each read port; read_data : Out, a cycle later
    write_mask, write_word, write_data : In, of each write port; a mask of zero writes nothing
    dma_reads : In(1), dma_read_row : In; dma_read_data : Out, the row's bytes a cycle later
    dma_writes : In(1), dma_write_row, dma_mask, dma_data : In
    """

    def __init__(self, config: SbufConfig):
        self.config = config
        super().__init__(self.ports(config))

    @staticmethod
    def ports(config: SbufConfig) -> dict[str, wiring.Member]:
        """Return the members of one partition."""
        return {
            "read_word": In(config.read_ports * config.word_bits),
            "read_data": Out(config.read_ports * SBUF_WORD_BYTES * 8),
            "write_mask": In(config.engines * SBUF_WORD_BYTES),
            "write_word": In(config.engines * config.word_bits),
            "write_data": In(config.engines * SBUF_WORD_BYTES * 8),
            "dma_reads": In(1),
            "dma_read_row": In(config.row_bits),
            "dma_read_data": Out(8 * config.dma_bytes),
            "dma_writes": In(1),
            "dma_write_row": In(config.row_bits),
            "dma_mask": In(config.dma_bytes),
            "dma_data": In(8 * config.dma_bytes),
        }

    def elaborate(self, platform):
        m = Module()
        config, bank_bits = self.config, exact_log2(self.config.banks)
        found: list[list[Any]] = [[] for _ in range(config.read_ports)]
        for bank in range(config.banks):
            cells = memory.Memory(shape=8 * SBUF_WORD_BYTES, depth=1 << config.row_bits, init=[])
            m.submodules[f"bank_{bank}"] = cells
            for port, words in enumerate(found):
                read_port = cells.read_port()
                row = self.read_word.word_select(port, config.word_bits)[bank_bits:]
                m.d.comb += read_port.addr.eq(Mux(self.dma_reads, self.dma_read_row, row) if port == 0 else row)
                words.append(read_port.data)
            for port in range(config.engines):
                write_port = cells.write_port(granularity=8)
                to = self.write_word.word_select(port, config.word_bits)
                row, mask = to[bank_bits:], self.write_mask.word_select(port, SBUF_WORD_BYTES)
                enable = Mux(to[:bank_bits] == bank, mask, 0)
                data = self.write_data.word_select(port, 8 * SBUF_WORD_BYTES)
                if port == 0:
                    row = Mux(self.dma_writes, self.dma_write_row, row)
                    enable = Mux(self.dma_writes, self.dma_mask.word_select(bank, SBUF_WORD_BYTES), enable)
                    data = Mux(self.dma_writes, self.dma_data.word_select(bank, 8 * SBUF_WORD_BYTES), data)
                m.d.comb += [write_port.addr.eq(row), write_port.data.eq(data), write_port.en.eq(enable)]
        for port, words in enumerate(found):
            chosen = Signal(bank_bits, name=f"bank_of_{port}", reset_less=True)
            m.d.sync += chosen.eq(self.read_word.word_select(port, config.word_bits)[:bank_bits])
            m.d.comb += self.read_data.word_select(port, 8 * SBUF_WORD_BYTES).eq(Array(words)[chosen])
        m.d.comb += self.dma_read_data.eq(Cat(found[0]))
        return m


def sbuf_place(config: SbufConfig) -> data.StructLayout:
    """Layout of an engine's access: partitions from ``start`` on, and an 8-byte word of each."""
    return data.StructLayout(
        {
            "start": range(config.partitions),
            "partitions": range(config.partitions + 1),
            "word": config.word_bits,
        }
    )


def sbuf_tiles(config: SbufConfig) -> data.StructLayout:
    """Layout of a tile reader's access: a bit for each partition that it reads, and the 8-byte word of each quarter."""
    return data.StructLayout({"partitions": config.partitions, "words": data.ArrayLayout(config.word_bits, QUARTERS)})


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
    tile_read : In(stream of sbuf_tiles, always ready), of each tile reader
    read : In(stream of sbuf_place, always ready), of each other engine, those that only read first
    data : Out(stream of a word for each partition, always ready), of each engine, the tile readers' first
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
        others = config.readers + config.engines
        super().__init__(
            {
                "read": In(stream.Signature(sbuf_place(config), always_ready=True)).array(others),
                "data": Out(stream.Signature(words, always_ready=True)).array(config.read_ports),
                "write": In(stream.Signature(sbuf_write(config), always_ready=True)).array(config.engines),
                "dma_read": In(stream.Signature(config.beats.address_bits)).array(config.groups),
                "dma_data": Out(row).array(config.groups),
                "dma_write": In(stream.Signature(beat_layout(config.beats))).array(config.groups),
                "fault": Out(Fault),
                "waits": Out(data.ArrayLayout(config.wait_bits, config.groups)),
                "clear": In(1),
            }
            | (
                {
                    "tile_read": In(stream.Signature(sbuf_tiles(config), always_ready=True)).array(config.tile_readers),
                }
                if config.tile_readers
                else {}
            )
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        tiles = [*self.tile_read] if config.tile_readers else []
        ports = [(read.valid, read.p) for read in self.read] + [(write.valid, write.p.place) for write in self.write]
        uses = [Signal(config.partitions, name=f"uses_{number}") for number in range(len(tiles) + len(ports))]
        first = Signal(Fault)
        m.d.comb += [use.eq(Mux(read.valid, read.p.partitions, 0)) for read, use in zip(tiles, uses, strict=False)]
        for (valid, place), use in reversed([*zip(ports, uses[len(tiles) :], strict=True)]):
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
            m.d.sync += [shown.eq(use), self.data[port].valid.eq([*tiles, *self.read][port].valid)]
            reads[port] = shown
        faults = [self._group(m, platform, group, reads, writes, used) for group in range(config.groups)]
        found = first_of((first != Fault.NONE, first.as_value()), *((fault != Fault.NONE, fault) for fault in faults))
        keep_first(m, self.fault, found, self.clear)
        return m

    def _fault(self, place) -> Value:
        """Return the fault of partitions and start; the rules are scaled to the configuration's quadrants."""
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
        tiles = self.tile_read if config.tile_readers else ()
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
        # Tile readers have a word of each partition's own.
        own_words = [[read.p.words[p * QUARTERS // config.partitions] for read in tiles] for p in each]
        words_at = [read.p.word for read in self.read]
        masks = (Mux(writes[port][p], self.write[port].p.masks[p], 0) for p in each for port in writers)
        values = {
            "read_word": Cat(Cat(*own, *words_at) for own in (own_words if tiles else [[]])),
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
        spread += ("read_word",) if tiles else ()
        repeat(m, platform, f"cells_{group}", values, SbufPartition, (config,), config.group, spread=spread)
        return dma.fault


RECORDS = (
    Unit(
        name="sbuf",
        config_type=SbufConfig,
        build=Sbuf,
        summary="Trainium3: SBUF, engines at full rate and DMA ports that give way",
        covered=Covered(SbufConfig(), 100),
        judges=(Judge(37, SbufConfig(), 40),),
        waves=(
            CLOCK,
            WaveGroup("engines", r"(read__|write__|data__|uses|shown|used|first)"),
            WaveGroup("DMA", r"dma_"),
            WaveGroup("faults and waits", r"(fault|clear|waits)"),
            WaveGroup("cells", r"cells_"),
        ),
    ),
)
