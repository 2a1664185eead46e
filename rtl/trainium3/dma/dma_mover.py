"""The mover of a DMA engine: reads a run, casts it, and stores it or adds it at its destination."""

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out, connect, flipped

from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.trainium3.dma.config import DmaMoverConfig
from bitpath.rtl.trainium3.dma.destination_align import DestinationAlign, destination_layout
from bitpath.rtl.trainium3.dma.dma_cast import DmaCast, Pair, log_bytes
from bitpath.rtl.trainium3.dma.dtype import Dtype
from bitpath.rtl.trainium3.dma.read_add_write import ReadAddWrite, WriteMode, store_layout
from bitpath.rtl.trainium3.dma.read_issue import COUNT_BITS, ReadIssue
from bitpath.rtl.trainium3.dma.source_align import SourceAlign, source_layout
from bitpath.rtl.trainium3.dma.token_bucket import LENGTH_BITS
from bitpath.rtl.trainium3.faults import Fault, keep_first

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
    """Return what is wrong with a descriptor, whatever its memories are: OPERATION, a mode that there is not; DTYPE, an unknown dtype,
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
