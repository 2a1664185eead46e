"""Results of VectorE or ScalarE to SBUF or PSUM."""

from amaranth import Array, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from bitpath.golden.formats.catalogue import E8M0
from bitpath.golden.trainium3.declarations.quad_mx import QUADRANT, SCALE_OFFSETS, SCALE_PARTITIONS
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.pipeline.wide import wide_array
from bitpath.rtl.trainium3.array.psum_column import WORD_BYTES
from bitpath.rtl.trainium3.array.psum_memory import psum_access
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.instruction import operand_layout
from bitpath.rtl.trainium3.core.lane_reader import LANE_BITS, WORD_BITS
from bitpath.rtl.trainium3.core.quarters import QUARTERS, turned
from bitpath.rtl.trainium3.dma.dma_cast import log_bytes
from bitpath.rtl.trainium3.memory.access_walker import AccessWalker
from bitpath.rtl.trainium3.memory.config import SBUF_WORD_BYTES
from bitpath.rtl.trainium3.memory.sbuf import sbuf_write
from bitpath.rtl.trainium3.memory.scale_fetch import SCALES

PSUM_BITS = exact_log2(WORD_BYTES)


def results_layout(config: CoreConfig) -> data.StructLayout:
    """Layout of a result of each lane in the low bits of 32, and the scales of each eight, which ``scaled`` writes."""
    scales = wide_array(E8M0.width, max(1, config.size // SCALE_PARTITIONS))
    return data.StructLayout({"results": wide_array(LANE_BITS, config.size), "scales": scales, "scaled": 1})


class LaneWriter(wiring.Component):
    """Writes results at a pattern, and scales byte after byte. A result with scales takes two cycles, others one.

    Parameters
    ----------
    config : the core's.

    Members
    -------
    start : In(1); the other inputs stay as they are until the last result is written
    place : In(operand_layout), partitions : In, scales, scale_offset : In, where results and scales are written
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
        size, byte = log_bytes(place.dtype), walker.o.p.byte
        m.d.comb += [
            walker.i.valid.eq(self.start),
            walker.i.p.pairs.eq(place.pattern.pairs),
            walker.i.p.offset.eq(place.pattern.offset),
            walker.i.p.size.eq(size),
            walker.i.p.limit.eq(1 << config.walk.address_bits),
            scaled.eq(self.i.p.scaled if config.has_mx else 0),
            there.eq(self.i.valid & walker.o.valid & (~scaled | scales_written)),
            writes.eq(there & (~place.psum | self.access.ready)),
            walker.o.ready.eq(writes),
            self.i.ready.eq(writes),
            self.done.eq(writes & walker.o.p.last),
        ]
        # Lanes 0 to partitions - 1, and the bytes of an element.
        lanes = Signal(config.size)
        back = Signal(range(QUARTERS))
        mask = Signal(WORD_BYTES)
        m.d.comb += [
            lanes.eq((1 << self.partitions) - 1),
            back.eq(-place.start),
            mask.eq(Array(Const((1 << (1 << log)) - 1, WORD_BYTES) for log in range(3))[size]),
        ]
        columns = turned(lanes, back, 1)
        values = turned(Value.cast(self.i.p.results), back, LANE_BITS)
        word = self.write.p
        m.d.comb += [
            self.access.valid.eq(there & place.psum),
            self.access.p.write.eq(1),
            self.access.p.address.eq(byte >> PSUM_BITS),
            self.access.p.mask.eq(mask << byte[:PSUM_BITS]),
            self.access.p.columns.eq(columns),
        ]
        shifted = [values.word_select(p, LANE_BITS) for p in range(config.size)]
        for p, value in enumerate(shifted):
            m.d.comb += self.access.p.values[p].eq(value << (byte[:PSUM_BITS] << 3))

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
