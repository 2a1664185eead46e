"""Operands of VectorE or ScalarE: elements of SBUF and PSUM, one of every lane a cycle."""

from typing import Any

from amaranth import Array, Cat, Const, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from bitpath.golden.formats.catalogue import E8M0, FP32
from bitpath.golden.trainium3.declarations.memory import MAX_PAIRS
from bitpath.golden.trainium3.declarations.quad_mx import QUADRANT, SCALE_OFFSETS, SCALE_PARTITIONS
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.pipeline.word_memory import wide_array
from bitpath.rtl.trainium3.array.psum_column import WORD_BYTES
from bitpath.rtl.trainium3.array.psum_memory import psum_access
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.instruction import Second, operand_layout, pattern_layout
from bitpath.rtl.trainium3.dma.dma_cast import log_bytes
from bitpath.rtl.trainium3.memory.access_walker import AccessWalker
from bitpath.rtl.trainium3.memory.sbuf import QUARTERS, SBUF_WORD_BYTES, sbuf_place, sbuf_write
from bitpath.rtl.trainium3.memory.scale_fetch import SCALES

# Lanes and partitions: an operand may start in any quarter of the partitions.


def turned(words: Value, quarters: Value, width: int) -> Value:
    """Return words of ``width`` bits, of a multiple of four partitions, rotated down by `quarters` quarters."""
    step = len(words) // QUARTERS
    assert step % width == 0
    return Array(Cat(words[k * step :], words[: k * step]) for k in range(QUARTERS))[quarters]


WORD_BITS = exact_log2(SBUF_WORD_BYTES)
DEPTH = 4
"""Elements that wait for the lanes."""
LANE_BITS = FP32.width
BEAT_BITS = 8 * SBUF_WORD_BYTES
"""Elements of a lane that come together lie in a word of SBUF."""


def walk(m: Module, config: CoreConfig, walker: Any, operand: Any, log: Value) -> None:
    """Give a walker an operand's groups of ``2**log`` elements, as elements of that many times the size."""
    pairs, own = operand.pattern.pairs, walker.i.p
    m.d.comb += [
        own.offset.eq(operand.pattern.offset >> log),
        own.size.eq(log_bytes(operand.dtype) + log),
        own.limit.eq(1 << config.walk.address_bits),
        own.pairs[0].step.eq(pairs[0].step),
        own.pairs[0].num.eq(pairs[0].num >> log),
    ]
    for given, pair in zip(own.pairs[1:], pairs[1:], strict=True):
        m.d.comb += [given.step.eq(pair.step >> log), given.num.eq(pair.num)]


def elements_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of a beat: one or more elements of each lane in the low bits of a word, lane 0 the first partition of the operand.

    ``second`` marks those of the second operand, ``last`` the first operand's last ones.
    """
    return data.StructLayout({"elements": wide_array(BEAT_BITS, config.size), "second": 1, "last": 1})


class LaneReader(wiring.Component):
    """Reads both operands of an instruction. A column comes first; elements of a tensor each before the first operand's.

    Latency: the first beat is offered five cycles after ``start``. Throughput: a beat of ``2**together`` elements of each lane a cycle;
    PSUM may delay it. A column has beats of one element.

    Parameters
    ----------
    config : the core's.

    Members
    -------
    start : In(1); the other inputs stay as they are until the last element is taken
    x, y : In(operand_layout); second : In(Second); partitions : In; together : In, the logarithm of a beat's elements
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
                "together": In(2),
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
        has_y, tensor = self.second != Second.IMMEDIATE, self.second == Second.TENSOR
        for name, operand, wanted, log in (
            ("x", self.x, 1, self.together),
            ("y", self.y, has_y, Mux(tensor, self.together, 0)),
        ):
            walker = instantiate(m, platform, f"walker_{name}", AccessWalker, config.walk)
            walk(m, config, walker, operand, log)
            m.d.comb += [walker.i.valid.eq(self.start & wanted), walker.clear.eq(0)]
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
            m.d.sync += turn.eq(has_y)
        with m.Elif(asked):
            m.d.sync += turn.eq(tensor & ~turn)

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
            found.append(Mux(held.psum, psum_word[:LANE_BITS], word)[:BEAT_BITS])
        m.d.comb += [
            Value.cast(beat.elements).eq(turned(Cat(found), held.start, BEAT_BITS)),
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


# Results of VectorE or ScalarE to SBUF or PSUM.


PSUM_BITS = exact_log2(WORD_BYTES)


def results_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of a beat of each lane's results in the low bits of a word, and the scales of each eight, which ``scaled`` writes."""
    scales = wide_array(E8M0.width, max(1, config.size // SCALE_PARTITIONS))
    return data.StructLayout({"results": wide_array(BEAT_BITS, config.size), "scales": scales, "scaled": 1})


class LaneWriter(wiring.Component):
    """Writes results at a pattern, and scales byte after byte. A result with scales takes two cycles, others one.

    Parameters
    ----------
    config : the core's.

    Members
    -------
    start : In(1); the other inputs stay as they are until the last result is written
    place : In(operand_layout), partitions : In, together : In, as `LaneReader` has it, scales, scale_offset : In, where results and scales are written
    i : In(stream of results_layout)
    write : Out(stream of sbuf_write, always ready), access : Out(stream of psum_access), of writes
    done : Out(1), the last result is written in this cycle
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "start": In(1),
                "place": In(operand_layout(config)),
                "partitions": In(range(config.size + 1)),
                "together": In(2),
                "scales": In(config.walk.address_bits),
                "scale_offset": In(range(len(SCALE_OFFSETS))),
                "i": In(stream.Signature(results_layout(config))),
                "write": Out(stream.Signature(sbuf_write(config.sbuf), always_ready=True)),
                "access": Out(stream.Signature(psum_access(config.psum))),
                "done": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, place = self.config, self.place
        walker = instantiate(m, platform, "walker", AccessWalker, config.walk)
        there, writes, scaled, scales_written = Signal(), Signal(), Signal(), Signal()
        byte = walker.o.p.byte
        walk(m, config, walker, place, self.together)
        m.d.comb += [
            walker.i.valid.eq(self.start),
            scaled.eq(self.i.p.scaled if config.has_mx else 0),
            there.eq(self.i.valid & walker.o.valid & (~scaled | scales_written)),
            writes.eq(there & (~place.psum | self.access.ready)),
            walker.o.ready.eq(writes),
            self.i.ready.eq(writes),
            self.done.eq(writes & walker.o.p.last),
        ]
        # Lanes 0 to partitions - 1, and the bytes of a beat.
        lanes = Signal(config.size)
        back = Signal(range(QUARTERS))
        mask, size = Signal(SBUF_WORD_BYTES), Signal(2)
        m.d.comb += [
            lanes.eq((1 << self.partitions) - 1),
            back.eq(-place.start),
            size.eq(log_bytes(place.dtype) + self.together),
            mask.eq(Array(Const((1 << (1 << log)) - 1, SBUF_WORD_BYTES) for log in range(WORD_BITS + 1))[size]),
        ]
        columns = turned(lanes, back, 1)
        values = turned(Value.cast(self.i.p.results), back, BEAT_BITS)
        word = self.write.p
        m.d.comb += [
            self.access.valid.eq(there & place.psum),
            self.access.p.write.eq(1),
            self.access.p.address.eq(byte >> PSUM_BITS),
            self.access.p.mask.eq(mask << byte[:PSUM_BITS]),
            self.access.p.columns.eq(columns),
        ]
        shifted = [values.word_select(p, BEAT_BITS) for p in range(config.size)]
        for p, value in enumerate(shifted):
            m.d.comb += self.access.p.values[p].eq(value[:LANE_BITS] << (byte[:PSUM_BITS] << 3))

        # Scales of eight lanes lie in a row of their quadrant.
        at, scale_lanes, scale_bytes = Signal(config.walk.address_bits), [], []
        for p in range(config.size):
            row = p % QUADRANT - (self.scale_offset << exact_log2(SCALES))
            found = (row >= 0) & (row < SCALES) & (self.partitions > p // QUADRANT * QUADRANT)
            quadrant = p // QUADRANT * SCALES
            own = [self.i.p.scales[quadrant + j] for j in range(SCALES) if quadrant + j < len(self.i.p.scales)]
            scale_lanes.append(found if config.has_mx else Const(0))
            scale_bytes.append(Array(own)[row[: exact_log2(SCALES)]] if config.has_mx else Const(0, E8M0.width))
        scaling = Signal()
        m.d.comb += scaling.eq(self.i.valid & scaled & ~scales_written)
        with m.If(self.start):
            m.d.sync += [at.eq(self.scales), scales_written.eq(0)]
        with m.If(scaling):
            m.d.sync += [at.eq(at + 1), scales_written.eq(1)]
        with m.If(writes):
            m.d.sync += scales_written.eq(0)
        m.d.comb += [
            self.write.valid.eq(scaling | (there & ~place.psum)),
            word.place.start.eq(Mux(scaling, 0, place.start << exact_log2(config.size // QUARTERS))),
            word.place.partitions.eq(self.partitions),
            word.place.word.eq(Mux(scaling, at, byte) >> WORD_BITS),
        ]
        for p, value in enumerate(shifted):
            element = value << (byte[:WORD_BITS] << 3)
            m.d.comb += [
                word.words[p].eq(Mux(scaling, scale_bytes[p].replicate(SBUF_WORD_BYTES), element)),
                word.masks[p].eq(
                    Mux(
                        scaling,
                        Mux(scale_lanes[p], 1 << at[:WORD_BITS], 0),
                        Mux(columns[p], mask << byte[:WORD_BITS], 0),
                    )
                ),
            ]
        return m


# Check of an access pattern before anything is read or written.


CHECK_CYCLES = MAX_PAIRS + 1
"""Cycles from ``start`` to a valid answer."""


class PatternCheck(wiring.Component):
    """Counts a pattern's elements, and gives its fault; takes a pair a cycle, :data:`CHECK_CYCLES` in all.

    Parameters
    ----------
    config : the core's.

    Members
    -------
    start : In(1), the pattern is a new one
    pattern : In(pattern_layout); size : In(2), the logarithm of an element's bytes; limit : In, bytes of the memory
    count : Out, elements of the pattern
    empty, outside : Out(1), a pair has no elements; an element is outside the memory
    """

    def __init__(self, config: CoreConfig):
        self.config = config
        super().__init__(
            {
                "start": In(1),
                "pattern": In(pattern_layout(config)),
                "size": In(2),
                "limit": In(config.walk.address_bits + 1),
                "count": Out(MAX_PAIRS * config.num_bits),
                "empty": Out(1),
                "outside": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, pattern = self.config, self.pattern
        pair = Signal(range(MAX_PAIRS + 1), init=MAX_PAIRS)
        shape = signed(max(config.step_bits + config.num_bits, config.walk.address_bits) + 4)
        low, high, reach = Signal(shape), Signal(shape), Signal(shape)
        step = Array(each.step for each in pattern.pairs)[pair[: len(pair) - 1]]
        num = Array(each.num for each in pattern.pairs)[pair[: len(pair) - 1]]
        m.d.comb += [
            reach.eq(step * (num - 1)),
            self.outside.eq((low < 0) | (((high + 1) << self.size) > self.limit)),
        ]
        with m.If(self.start):
            m.d.sync += [
                low.eq(pattern.offset),
                high.eq(pattern.offset),
                pair.eq(0),
                self.count.eq(1),
                self.empty.eq(0),
            ]
        with m.Elif(pair != MAX_PAIRS):
            m.d.sync += [
                low.eq(low + Mux(reach < 0, reach, 0)),
                high.eq(high + Mux(reach < 0, 0, reach)),
                self.count.eq(self.count * num),
                self.empty.eq(self.empty | (num == 0)),
                pair.eq(pair + 1),
            ]
        return m
