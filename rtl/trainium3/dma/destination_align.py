"""Beats of a DMA run as words with masks at its destination."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from bitpath.rtl.trainium3.dma.config import DmaMoverConfig
from bitpath.rtl.trainium3.dma.read_add_write import WriteMode, beat_layout
from bitpath.rtl.trainium3.dma.read_issue import COUNT_BITS


def destination_layout(config: DmaMoverConfig) -> data.StructLayout:
    """Layout of a run to write: its first byte's address, its bytes, what it does to the words, and if a semaphore counts it.

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
