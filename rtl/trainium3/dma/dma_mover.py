"""The mover of a DMA engine: reads a run, casts it, and stores it or adds it at its destination."""

from dataclasses import dataclass
from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import bits_for, exact_log2

from bitpath.rtl.common.config import UnitConfig, in_range, power_of_two, require_range
from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.common.unit import CLOCK, INPUTS, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.trainium3.dma.dma_cast import BEAT_BYTES, TIMES, DmaCast, DmaCastConfig, Pair, cast_layout, log_bytes
from bitpath.rtl.trainium3.dma.dtype import Dtype
from bitpath.rtl.trainium3.dma.read_add_write import (
    ReadAddWrite,
    ReadAddWriteConfig,
    WriteMode,
    beat_layout,
    store_layout,
)
from bitpath.rtl.trainium3.dma.token_bucket import LENGTH_BITS
from bitpath.rtl.trainium3.faults import Fault, keep_first


@dataclass(frozen=True, kw_only=True)
class DmaMoverConfig(UnitConfig, unit="dma_mover"):
    """Configuration of the mover of a DMA engine.

    Attributes
    ----------
    beat_bytes : bytes of a beat and of a word of memory, a power of two from 4 to 32; the machine's have 32.
    address_bits : bits of a byte's address, in both memories, which have 8 words or more.
    descriptor_cycles : cycles of the shortest descriptor, 4 to 90; the machine's take 90.
    checks : whether descriptors are checked; without it they must be right.
    """

    beat_bytes: int = power_of_two(4, BEAT_BYTES, 4)
    address_bits: int = 8
    descriptor_cycles: int = in_range(4, TIMES.descriptor_cycles, TIMES.descriptor_cycles)
    checks: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require_range("dma_mover", "address_bits", self.address_bits, self.offset_bits + 3, 40)

    @property
    def offset_bits(self) -> int:
        """Bits of a byte's place in a word."""
        return exact_log2(self.beat_bytes)

    @property
    def writes(self) -> ReadAddWriteConfig:
        """The configuration of read-add-write behind the mover, which has no other modes than those of checked descriptors."""
        bits = self.address_bits - self.offset_bits
        return ReadAddWriteConfig(beat_bytes=self.beat_bytes, address_bits=bits, checks=False)

    @property
    def cast(self) -> DmaCastConfig:
        """The configuration of the cast in the mover."""
        return DmaCastConfig(beat_bytes=self.beat_bytes, checks=False)


# Reads of a DMA descriptor at the pace of the machine's bus.


COUNT_BITS = LENGTH_BITS + 1
"""Bits of a number of bytes or of beats, of 1 to 65,536."""


def run_layout(config: DmaMoverConfig) -> data.StructLayout:
    """Layout of a run to read: its first byte's address, its bytes, and the beats that it takes on the bus.

    ``step`` is the log of the beats for each word: 0, or 1 or 2 where a cast makes the elements wider.
    """
    return data.StructLayout(
        {"address": config.address_bits, "bytes": COUNT_BITS, "beats": COUNT_BITS, "step": range(3)}
    )


class ReadIssue(wiring.Component):
    """Asks for the words of a run: a counter gains 55 a cycle, a beat takes 64, and each beat or every second or fourth reads a word.

    A run that lies in a word more than it has beats reads that word in the first cycle without a beat. The next run is taken
    ``max(descriptor_cycles, ceil(beats * 64 / 55))`` cycles after this one; a word that is not taken at once delays the rest.

    Parameters
    ----------
    config : bytes of a word, bits of an address, shortest run.

    Members
    -------
    i : In(stream of run_layout)
    o : Out(stream of addresses of words)
    """

    def __init__(self, config: DmaMoverConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(run_layout(config))),
                "o": Out(stream.Signature(config.writes.address_bits)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, run = self.config, self.i.p
        size, offset_bits = config.beat_bytes, config.offset_bits
        busy = Signal()
        more = Signal()
        age = Signal(range(config.descriptor_cycles + 1))
        counter = Signal(range(TIMES.beat_price))
        beats = Signal(COUNT_BITS)
        phase = Signal(2)
        mask = Signal(2)
        address = Signal(config.writes.address_bits)

        gained = Signal(range(TIMES.beat_price + TIMES.beat_gain))
        due = Signal()
        reads = Signal()
        waits = Signal()
        last = Signal()
        m.d.comb += [
            gained.eq(counter + TIMES.beat_gain),
            due.eq(beats.any() & (gained >= TIMES.beat_price)),
            reads.eq(due & ~phase.any()),
            self.o.p.eq(address),
            self.o.valid.eq(busy & (reads | (more & ~due))),
            waits.eq(self.o.valid & ~self.o.ready),
            last.eq((beats == due) & ~(more & due) & ~waits & (age >= config.descriptor_cycles - 1)),
            self.i.ready.eq(~busy),
        ]
        with m.If(busy):
            m.d.sync += age.eq(Mux(age == config.descriptor_cycles, age, age + 1))
            with m.If(~waits):
                m.d.sync += [
                    counter.eq(Mux(due, gained - TIMES.beat_price, Mux(beats.any(), gained, 0))),
                    beats.eq(beats - due),
                    phase.eq(Mux(due, (phase + 1) & mask, phase)),
                    address.eq(address + self.o.valid),
                    more.eq(more & due),
                    busy.eq(~last),
                ]
        with m.Elif(self.i.valid):
            # Words beyond those of a run that begins at a word's first byte.
            first = Signal(range(2 * size))
            tail = Signal(offset_bits)
            m.d.comb += [
                tail.eq(run.bytes - 1),
                first.eq(run.address[:offset_bits] + tail),
            ]
            m.d.sync += [
                busy.eq(1),
                age.eq(1),
                counter.eq(TIMES.beat_gain),
                beats.eq(run.beats),
                phase.eq(0),
                mask.eq((1 << run.step) - 1),
                address.eq(run.address[offset_bits:]),
                more.eq(first >= size),
            ]
        return m


# Words of a DMA read as beats that begin with the run's first byte.


def source_layout(config: DmaMoverConfig) -> data.StructLayout:
    """Layout of a run to align: place of its first byte in a word, its bytes, and the dtypes of its cast.

    ``step`` is as in ``run_layout``: a beat has the word's bytes, their half or their quarter.
    """
    return data.StructLayout({"offset": config.offset_bits, "bytes": COUNT_BITS, "step": range(3), "pair": Pair})


class SourceAlign(wiring.Component):
    """Cuts a run out of its words, beat by beat::

        words    | held            | next            |
                   >--- place ---->|<- a beat ->|

    A beat that reaches into the next word waits for it. Bytes behind a run's last one, and behind a part of a word, are 0.
    Throughput is a beat a cycle, but for a cycle or two between runs.

    Parameters
    ----------
    config : bytes of a word.

    Members
    -------
    run : In(stream of source_layout)
    i : In(stream of words), of all runs in their order
    o : Out(stream of cast_layout)
    """

    def __init__(self, config: DmaMoverConfig):
        self.config = config
        super().__init__(
            {
                "run": In(stream.Signature(source_layout(config))),
                "i": In(stream.Signature(8 * config.beat_bytes)),
                "o": Out(stream.Signature(cast_layout(config.beat_bytes))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        size = self.config.beat_bytes
        busy = Signal()
        full = Signal()
        held = Signal(8 * size, reset_less=True)
        place = Signal(range(size))
        left = Signal(COUNT_BITS)
        step = Signal(range(3))
        pair = Signal(Pair)

        whole = Signal(range(size + 1))
        taken = Signal(range(size + 1))
        end = Signal(range(2 * size + 1))
        shifted = Signal(8 * size)
        finishes = Signal()
        crosses = Signal()
        leaves = Signal()
        loads = Signal()
        m.d.comb += [
            whole.eq(Const(size, bits_for(size)) >> step),
            finishes.eq(left <= whole),
            taken.eq(Mux(finishes, left, whole)),
            end.eq(place + taken),
            crosses.eq(end > size),
            self.o.valid.eq(busy & full & (~crosses | self.i.valid)),
            shifted.eq(Cat(held, self.i.p) >> Cat(Const(0, 3), place)),
            self.o.p.data.eq(Cat(shifted.word_select(k, 8) & (taken > k).replicate(8) for k in range(size))),
            self.o.p.pair.eq(pair),
            leaves.eq(self.o.valid & self.o.ready),
            # The next word, where the beat needs it, or to follow a word that it ends.
            loads.eq(busy & (~full | (leaves & (crosses | (~finishes & (end == size)))))),
            self.i.ready.eq(loads),
            self.run.ready.eq(~busy),
        ]
        with m.If(loads & self.i.valid):
            m.d.sync += held.eq(self.i.p)
        with m.If(~busy):
            m.d.sync += [
                busy.eq(self.run.valid),
                place.eq(self.run.p.offset),
                left.eq(self.run.p.bytes),
                step.eq(self.run.p.step),
                pair.eq(self.run.p.pair),
            ]
        with m.If(leaves):
            m.d.sync += [
                left.eq(left - taken),
                place.eq(end),
                busy.eq(~finishes),
                full.eq(~finishes & ((end < size) | self.i.valid)),
            ]
        with m.Elif(loads):
            m.d.sync += full.eq(self.i.valid)
        return m


# Beats of a DMA run as words with masks at its destination.


def destination_layout(config: DmaMoverConfig) -> data.StructLayout:
    """Layout of a run to write: its first byte's address, its bytes, its mode of writing, and if a semaphore counts it.

    ``step`` is the log of the beats that fill a word: 0, or 1 or 2 where a cast makes the elements narrower.
    """
    return data.StructLayout(
        {"address": config.address_bits, "bytes": COUNT_BITS, "step": range(3), "mode": WriteMode, "signals": 1}
    )


class DestinationAlign(wiring.Component):
    """Moves beats to their place in the words at a run's destination; a word is offered when it is full, or at the run's end::

        beat           | b0 b1 b2 b3 |                  its first bytes count: all, a half or a quarter
        word and rest  | xx xx b0 b1 | b2 b3 .. .. |    xx held from before; the rest is held, or offered at the end

    Throughput is a beat a cycle, but for a cycle or two between runs.

    Parameters
    ----------
    config : bytes of a word, bits of an address.

    Members
    -------
    run : In(stream of destination_layout)
    i : In(stream of beats); bytes behind those that count are 0, as the cast leaves them
    o : Out(stream of beat_layout)
    signals : Out(1), the offered word is the last of a run that a semaphore counts
    """

    def __init__(self, config: DmaMoverConfig):
        self.config = config
        super().__init__(
            {
                "run": In(stream.Signature(destination_layout(config))),
                "i": In(stream.Signature(8 * config.beat_bytes)),
                "o": Out(stream.Signature(beat_layout(config.writes))),
                "signals": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        size, offset_bits = self.config.beat_bytes, self.config.offset_bits
        busy = Signal()
        rest = Signal()
        held = Signal(data.StructLayout({"data": 8 * size, "mask": size}), reset_less=True)
        place = Signal(range(size))
        left = Signal(COUNT_BITS)
        run = Signal(destination_layout(self.config))
        word = Signal(self.config.writes.address_bits)

        whole = Signal(range(size + 1))
        taken = Signal(range(size + 1))
        end = Signal(range(2 * size + 1))
        finishes = Signal()
        beyond = Signal()
        fills = Signal()
        takes = Signal()
        offered = Signal()
        m.d.comb += [
            whole.eq(Const(size, bits_for(size)) >> run.step),
            finishes.eq(left <= whole),
            taken.eq(Mux(finishes, left, whole)),
            end.eq(place + taken),
            beyond.eq(end > size),
            fills.eq(finishes | (end >= size)),
        ]
        moved = Signal(2 * 8 * size)
        masked = Signal(2 * size)
        m.d.comb += [
            moved.eq(held.data | (self.i.p << Cat(Const(0, 3), place))),
            masked.eq(held.mask | (((Const(1, size + 1) << taken) - 1)[:size] << place)),
            self.o.p.store.data.eq(Mux(rest, held.data, moved[: 8 * size])),
            self.o.p.store.mask.eq(Mux(rest, held.mask, masked[:size])),
            self.o.p.store.address.eq(word),
            self.o.p.mode.eq(run.mode),
            self.o.valid.eq(busy & (rest | (self.i.valid & fills))),
            self.i.ready.eq(busy & ~rest & (~fills | self.o.ready)),
            self.run.ready.eq(~busy),
            self.signals.eq(run.signals & (rest | (finishes & ~beyond))),
            takes.eq(self.i.valid & self.i.ready),
            offered.eq(self.o.valid & self.o.ready),
        ]
        with m.If(offered):
            m.d.sync += word.eq(word + 1)
        with m.If(takes):
            m.d.sync += [
                held.data.eq(Mux(fills, moved[8 * size :], moved[: 8 * size])),
                held.mask.eq(Mux(fills, masked[size:], masked[:size])),
                place.eq(end),
                left.eq(left - taken),
                rest.eq(finishes & beyond),
                busy.eq(~finishes | beyond),
            ]
        with m.If(rest & offered):
            m.d.sync += [rest.eq(0), busy.eq(0)]
        with m.If(~busy):
            m.d.sync += [
                busy.eq(self.run.valid),
                run.eq(self.run.p),
                place.eq(self.run.p.address),
                word.eq(self.run.p.address[offset_bits:]),
                left.eq(self.run.p.bytes),
                held.mask.eq(0),
                held.data.eq(0),
            ]
        return m


RUNS = 4
"""Runs that may be on their way behind their reads."""
WRITES = 2
"""Beats that may be on their way in read-add-write."""


def move_layout(config: DmaMoverConfig) -> data.StructLayout:
    """Layout of a descriptor for the mover: its length, then what `descriptor_layout` calls the body.

    ``source`` and ``destination`` are bytes' addresses, ``length`` the bytes of the side with wider elements, 0 for 65,536. A
    run that is cast or added consists of whole elements, and one that is added begins at an element's place. A run whose
    ``signals`` is set moves the semaphore.
    """
    return data.StructLayout(
        {
            "length": LENGTH_BITS,
            "source": config.address_bits,
            "destination": config.address_bits,
            "pair": Pair,
            "mode": WriteMode,
            "signals": 1,
        }
    )


def move_fault(move: Any) -> Value:
    """Return the fault of a descriptor, whatever its memories are: OPERATION, an unknown mode; DTYPE, an unknown dtype,
    or one that is not added; RANGE, bytes that are no whole elements, or a sum at no element's place."""
    sides = (move.pair.source, move.pair.destination)
    codes, widths = [Value.cast(side) for side in sides], [log_bytes(side) for side in sides]
    length = Cat(move.length, ~move.length.any())
    adds = move.mode != WriteMode.STORE
    added = Mux(move.mode == WriteMode.ADD_FP32, Dtype.FP32, Dtype.BF16)
    odd = [(length & ((1 << width) - 1)).any() for width in widths]
    return first_of(
        (~Value.cast(move.mode).matches(*WriteMode), Fault.OPERATION),
        (
            Cat(~code.matches(*Dtype) for code in codes).any() | (adds & Cat(code != added for code in codes).any()),
            Fault.DTYPE,
        ),
        (Cat(odd).any() | (adds & (move.destination & ((1 << widths[1]) - 1)).any()), Fault.RANGE),
    )


class DmaMover(wiring.Component):
    """Moves descriptors one after the other, in order::

        i -> reads at the bus's pace -> read .. data -> align -> cast -> align -> read-add-write -> write

    A refused descriptor moves nothing and does not signal; the next one can be taken in the next cycle.

    A descriptor is taken ``max(descriptor_cycles, ceil(beats * 64 / 55))`` cycles after the one before, with a beat for
    each 32 bytes (``beat_bytes``) of its wider side, unless a memory delays it; the last writes follow a few cycles later.

    Parameters
    ----------
    config : bytes of a beat, bits of an address, shortest descriptor, and whether descriptors are checked.

    Members
    -------
    i : In(stream of move_layout)
    read : Out(stream of addresses of words), from the source
    data : In(stream of words), in the order of `read`
    fetch, fetched, write : as of `ReadAddWrite`, at the destination
    fault : Out(Fault), of the first refused descriptor since reset or ``clear``, as :func:`move_fault` has it
    clear : In(1), clears ``fault``
    done : Out(1), the write that is taken in this cycle is the last of a descriptor that signals
    """

    def __init__(self, config: DmaMoverConfig):
        self.config = config
        word = 8 * config.beat_bytes
        address = stream.Signature(config.writes.address_bits)
        super().__init__(
            {
                "i": In(stream.Signature(move_layout(config))),
                "read": Out(address),
                "data": In(stream.Signature(word)),
                "fetch": Out(address),
                "fetched": In(word),
                "write": Out(stream.Signature(store_layout(config.writes))),
                "fault": Out(Fault),
                "clear": In(1),
                "done": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, i = self.config, self.i
        m.submodules.issue = issue = ReadIssue(config)
        m.submodules.source = source = SourceAlign(config)
        m.submodules.cast = cast = DmaCast(config.cast)
        m.submodules.destination = destination = DestinationAlign(config)
        m.submodules.read_add_write = write = ReadAddWrite(config.writes)
        m.submodules.sources = sources = SyncFIFO(width=source_layout(config).size, depth=RUNS)
        m.submodules.destinations = destinations = SyncFIFO(width=destination_layout(config).size, depth=RUNS)
        m.submodules.marks = marks = SyncFIFO(width=1, depth=WRITES)

        # The narrower side has a half or a quarter of the bytes, and its beats are parts of a word.
        length = Signal(COUNT_BITS)
        widths = [log_bytes(dtype) for dtype in (i.p.pair.source, i.p.pair.destination)]
        narrow = [Signal(range(3), name=f"narrow_{side}") for side in ("source", "destination")]
        m.d.comb += [
            length.eq(Cat(i.p.length, ~i.p.length.any())),
            narrow[0].eq(Mux(widths[1] > widths[0], widths[1] - widths[0], 0)),
            narrow[1].eq(Mux(widths[0] > widths[1], widths[0] - widths[1], 0)),
        ]
        wrong, moves, room = Signal(Fault), Signal(), Signal()
        if config.checks:
            m.d.comb += wrong.eq(move_fault(i.p))
        keep_first(m, self.fault, Mux(i.valid & i.ready, wrong.as_value(), Fault.NONE), self.clear)
        m.d.comb += [
            moves.eq(i.valid & (wrong == Fault.NONE)),
            room.eq(sources.w_rdy & destinations.w_rdy),
            i.ready.eq(issue.i.ready & room),
            issue.i.valid.eq(moves & room),
            issue.i.p.address.eq(i.p.source),
            issue.i.p.bytes.eq(length >> narrow[0]),
            issue.i.p.beats.eq((length + (config.beat_bytes - 1)) >> config.offset_bits),
            issue.i.p.step.eq(narrow[0]),
        ]
        run = Signal(source_layout(config))
        m.d.comb += [
            run.offset.eq(i.p.source),
            run.bytes.eq(length >> narrow[0]),
            run.step.eq(narrow[0]),
            run.pair.eq(i.p.pair),
        ]
        target = Signal(destination_layout(config))
        m.d.comb += [
            target.address.eq(i.p.destination),
            target.bytes.eq(length >> narrow[1]),
            target.step.eq(narrow[1]),
            target.mode.eq(i.p.mode),
            target.signals.eq(i.p.signals),
        ]
        for fifo, payload, taker in ((sources, run, source.run), (destinations, target, destination.run)):
            m.d.comb += [
                fifo.w_data.eq(Value.cast(payload)),
                fifo.w_en.eq(moves & i.ready),
                Value.cast(taker.payload).eq(fifo.r_data),
                taker.valid.eq(fifo.r_rdy),
                fifo.r_en.eq(taker.ready),
            ]

        connect(m, issue.o, flipped(self.read))
        connect(m, flipped(self.data), source.i)
        connect(m, source.o, cast.i)
        connect(m, cast.o, destination.i)
        connect(m, destination.o, write.i)
        connect(m, write.fetch, flipped(self.fetch))
        connect(m, write.write, flipped(self.write))
        m.d.comb += [
            write.fetched.eq(self.fetched),
            marks.w_data.eq(destination.signals),
            marks.w_en.eq(destination.o.valid & destination.o.ready),
            marks.r_en.eq(self.write.valid & self.write.ready),
            self.done.eq(self.write.valid & self.write.ready & marks.r_data),
        ]
        return m


RECORDS = (
    Unit(
        name="dma_mover",
        config_type=DmaMoverConfig,
        build=DmaMover,
        summary="Trainium3: DMA descriptors read, cast, and stored or added at the bus's pace",
        covered=Covered(DmaMoverConfig(descriptor_cycles=8), 60),
        judges=(Judge(43, DmaMoverConfig(descriptor_cycles=8), 30),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("reads", r"(read__|issue)"),
            WaveGroup("words", r"(data__|source)"),
            WaveGroup("cast", r"cast"),
            WaveGroup("beats at the destination", r"destination"),
            WaveGroup("writes", r"(fetch|write|read_add_write|marks|done)"),
        ),
    ),
)
