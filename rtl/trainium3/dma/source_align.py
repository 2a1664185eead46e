"""Words of a DMA read as beats that begin with the run's first byte."""

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from bitpath.rtl.trainium3.dma.config import DmaMoverConfig
from bitpath.rtl.trainium3.dma.dma_cast import Pair, cast_layout
from bitpath.rtl.trainium3.dma.read_issue import COUNT_BITS


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
