"""Operands of VectorE or ScalarE: elements of SBUF and PSUM, one of every lane a cycle."""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.pipeline.wide import wide_array
from bitpath.rtl.trainium3.array.psum_memory import psum_access
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.instruction import Second, operand_layout
from bitpath.rtl.trainium3.core.quarters import turned
from bitpath.rtl.trainium3.dma.dma_cast import log_bytes
from bitpath.rtl.trainium3.memory.access_walker import AccessWalker
from bitpath.rtl.trainium3.memory.config import SBUF_WORD_BYTES
from bitpath.rtl.trainium3.memory.sbuf import sbuf_place

WORD_BITS = exact_log2(SBUF_WORD_BYTES)
DEPTH = 4
"""Elements that wait for the lanes."""
LANE_BITS = FP32.width


def elements_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of an element of each lane in the low bits of 32, lane 0 the first partition of the operand.

    ``second`` marks those of the second operand, ``last`` the first operand's last ones.
    """
    return data.StructLayout({"elements": wide_array(LANE_BITS, config.size), "second": 1, "last": 1})


class LaneReader(wiring.Component):
    """Reads both operands of an instruction. A column comes first; elements of a tensor each before the first operand's.

    Latency: the first element is offered five cycles after ``start``. Throughput: an element of each lane a cycle; PSUM may delay it.

    Parameters
    ----------
    config : the core's.

    Members
    -------
    start : In(1); the other inputs stay as they are until the last element is taken
    x, y : In(operand_layout); second : In(Second); partitions : In
    read : Out(stream of sbuf_place, always ready), data : In, SBUF's words
    access : Out(stream of psum_access), of reads; words : In, PSUM's words, a cycle after they are asked for
    o : Out(stream of elements_layout)
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "start": In(1),
                "x": In(operand_layout(config)),
                "y": In(operand_layout(config)),
                "second": In(Second),
                "partitions": In(range(config.size + 1)),
                "read": Out(stream.Signature(sbuf_place(config.sbuf), always_ready=True)),
                "data": In(8 * SBUF_WORD_BYTES * config.size),
                "access": Out(stream.Signature(psum_access(config.psum))),
                "words": In(LANE_BITS * config.size),
                "o": Out(stream.Signature(elements_layout(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        walkers = []
        for name, operand, wanted in (("x", self.x, 1), ("y", self.y, self.second != Second.IMMEDIATE)):
            walker = instantiate(m, platform, f"walker_{name}", AccessWalker, config.walk)
            m.d.comb += [
                walker.i.valid.eq(self.start & wanted),
                walker.i.p.pairs.eq(operand.pattern.pairs),
                walker.i.p.offset.eq(operand.pattern.offset),
                walker.i.p.size.eq(log_bytes(operand.dtype)),
                walker.i.p.limit.eq(1 << config.walk.address_bits),
                walker.clear.eq(0),
            ]
            walkers.append(walker)

        # Whose turn it is: the second operand's until it has given its column, or the element of the present one.
        turn, asks, asked = Signal(), Signal(), Signal()
        x, y = (walker.o for walker in walkers)
        operand = Signal(operand_layout(config))
        byte = Signal(config.walk.address_bits)
        level = Signal(range(DEPTH + 1))
        m.d.comb += [
            operand.eq(Mux(turn, self.y.as_value(), self.x.as_value())),
            byte.eq(Mux(turn, y.p.byte, x.p.byte)),
            asks.eq(Mux(turn, y.valid, x.valid) & (level != DEPTH)),
            self.read.valid.eq(asks & ~operand.psum),
            self.read.p.start.eq(operand.start << exact_log2(config.size // 4)),
            self.read.p.partitions.eq(self.partitions),
            self.read.p.word.eq(byte >> WORD_BITS),
            self.access.valid.eq(asks & operand.psum),
            self.access.p.address.eq(byte >> exact_log2(LANE_BITS // 8)),
            asked.eq(asks & (~operand.psum | self.access.ready)),
            x.ready.eq(asked & ~turn),
            y.ready.eq(asked & turn),
        ]
        with m.If(self.start):
            m.d.sync += turn.eq(self.second != Second.IMMEDIATE)
        with m.Elif(asked):
            m.d.sync += turn.eq((self.second == Second.TENSOR) & ~turn)

        # The words come a cycle later.
        came = Signal()
        held = Signal(
            data.StructLayout({"byte": WORD_BITS, "start": 2, "psum": 1, "second": 1, "last": 1}), reset_less=True
        )
        m.d.sync += [
            came.eq(asked),
            held.byte.eq(byte),
            held.start.eq(operand.start),
            held.psum.eq(operand.psum),
            held.second.eq(turn),
            held.last.eq(~turn & x.p.last),
        ]
        beat = Signal(elements_layout(config))
        found = []
        for p in range(config.size):
            word = self.data.word_select(p, 8 * SBUF_WORD_BYTES) >> (held.byte << 3)
            psum_word = self.words.word_select(p, LANE_BITS) >> (held.byte[: WORD_BITS - 1] << 3)
            found.append(Mux(held.psum, psum_word, word)[:LANE_BITS])
        m.d.comb += [
            Value.cast(beat.elements).eq(turned(Cat(found), held.start, LANE_BITS)),
            beat.second.eq(held.second),
            beat.last.eq(held.last),
        ]
        fifo = SyncFIFOBuffered(width=elements_layout(config).size, depth=DEPTH)
        m.submodules.fifo = fifo
        m.d.comb += [
            fifo.w_data.eq(beat),
            fifo.w_en.eq(came),
            self.o.valid.eq(fifo.r_rdy),
            Value.cast(self.o.p).eq(fifo.r_data),
            fifo.r_en.eq(self.o.ready),
        ]
        m.d.sync += level.eq(level + asked - (self.o.valid & self.o.ready))
        return m
