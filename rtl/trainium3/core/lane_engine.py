"""VectorE or ScalarE of a core: instructions on elements of SBUF and PSUM, a lane for each partition."""

from collections.abc import Sequence

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2

from bitpath.golden.formats.catalogue import E2M1
from bitpath.golden.trainium3.declarations.quad_mx import QUADRANT, X4
from bitpath.golden.trainium3.declarations.vector import XORWOW_STATES, XORWOW_WORDS
from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.array.psum_memory import psum_access
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.instruction import Operation, Second, lane_layout
from bitpath.rtl.trainium3.core.lane_reader import LANE_BITS, LaneReader
from bitpath.rtl.trainium3.core.lane_units import LaneUnits, operations
from bitpath.rtl.trainium3.core.lane_writer import LaneWriter
from bitpath.rtl.trainium3.core.pattern_check import CHECK_CYCLES, PatternCheck
from bitpath.rtl.trainium3.core.quarters import QUARTERS
from bitpath.rtl.trainium3.dma.dma_cast import log_bytes
from bitpath.rtl.trainium3.dma.dtype import INTEGERS, Dtype
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.lanes.activation2_control import Function, Operations, Reduction
from bitpath.rtl.trainium3.lanes.engine_control import FIRST_BIT_OPERATOR, Operator
from bitpath.rtl.trainium3.memory.config import SBUF_WORD_BYTES
from bitpath.rtl.trainium3.memory.sbuf import sbuf_place, sbuf_write
from bitpath.rtl.trainium3.vector.mx_code import ELEMENTS
from bitpath.rtl.trainium3.vector.mx_source import SOURCES


def starts_wrong(config: CoreConfig, start: Value, partitions: Value) -> Value:
    """Tell whether so many partitions may not start in a quarter: one may in each, two in the first or third."""
    return Mux(
        partitions <= config.size // QUARTERS, 0, Mux(partitions <= config.size // 2, start[0], Value.cast(start).any())
    )


class LaneEngine(wiring.Component):
    """Runs one instruction after the other; a refused one reads and writes nothing.

    Latency: elements are asked for ``CHECK_CYCLES + 4`` cycles after their instruction. Throughput: an element of each lane a
    cycle, of two tensors every second cycle; QuantizeMX a block of four elements in four cycles.

    Parameters
    ----------
    config : the core's.
    engine : "vector" or "scalar".

    Members
    -------
    i : In(stream of lane_layout)
    fault : Out(Fault), other than NONE for one cycle if the instruction is refused
    busy : Out(1), an instruction is inside
    read, data, write : of SBUF's port, as `LaneReader` and `LaneWriter` have them
    access : Out(stream of psum_access), of PSUM's port; words : In, what a read found, a cycle later
    """

    def __init__(self, config: CoreConfig, engine: str):
        self.config, self.engine = config, engine
        super().__init__(
            {
                "i": In(stream.Signature(lane_layout(config))),
                "fault": Out(Fault),
                "busy": Out(1),
                "read": Out(stream.Signature(sbuf_place(config.sbuf), always_ready=True)),
                "data": In(8 * SBUF_WORD_BYTES * config.size),
                "write": Out(stream.Signature(sbuf_write(config.sbuf), always_ready=True)),
                "access": Out(stream.Signature(psum_access(config.psum))),
                "words": In(LANE_BITS * config.size),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        held = Signal(lane_layout(config), reset_less=True)
        checks = []
        start, taken = Signal(), Signal()
        for name in ("x", "y", "result"):
            check = instantiate(m, platform, f"check_{name}", PatternCheck, config)
            m.d.comb += [
                check.start.eq(taken),
                check.pattern.eq(Mux(taken, self.i.p[name].pattern.as_value(), held[name].pattern.as_value())),
                check.size.eq(log_bytes(held[name].dtype)),
                check.limit.eq(Mux(held[name].psum, config.banks * config.bank_bytes, config.partition_bytes)),
            ]
            checks.append(check)
        reader = instantiate(m, platform, "reader", LaneReader, config)
        units = instantiate(m, platform, "units", LaneUnits, config, self.engine)
        writer = instantiate(m, platform, "writer", LaneWriter, config)
        m.d.comb += [
            reader.start.eq(start),
            reader.x.eq(held.x),
            reader.y.eq(held.y),
            reader.second.eq(held.second),
            reader.partitions.eq(held.partitions),
            reader.data.eq(self.data),
            reader.words.eq(self.words),
            units.start.eq(start),
            units.control.eq(held),
            writer.start.eq(start),
            writer.place.eq(held.result),
            writer.partitions.eq(held.partitions),
            writer.scales.eq(held.scales),
            writer.scale_offset.eq(held.scale_offset),
        ]
        connect(m, reader.o, units.i)
        connect(m, units.o, writer.i)
        connect(m, reader.read, flipped(self.read))
        connect(m, writer.write, flipped(self.write))
        # Writes to PSUM go first.
        m.d.comb += [
            self.access.valid.eq(writer.access.valid | reader.access.valid),
            self.access.p.eq(Mux(writer.access.valid, writer.access.p.as_value(), reader.access.p.as_value())),
            writer.access.ready.eq(self.access.ready),
            reader.access.ready.eq(self.access.ready & ~writer.access.valid),
        ]

        step = Signal(range(CHECK_CYCLES))
        m.d.comb += taken.eq(self.i.valid & self.i.ready)
        with m.FSM() as fsm:
            with m.State("IDLE"):
                m.d.comb += self.i.ready.eq(1)
                with m.If(self.i.valid):
                    m.d.sync += [held.eq(self.i.p), step.eq(0)]
                    m.next = "CHECK"
            with m.State("CHECK"):
                m.d.sync += step.eq(step + 1)
                with m.If(step == CHECK_CYCLES - 1):
                    m.d.comb += [self.fault.eq(self._fault(held, checks)), start.eq(self.fault == Fault.NONE)]
                    m.next = "IDLE"
                    with m.If(start):
                        m.next = "RUN"
            with m.State("RUN"):
                with m.If(writer.done):
                    m.next = "IDLE"
        m.d.comb += self.busy.eq(~fsm.ongoing("IDLE"))
        return m

    def _fault(self, held, checks: Sequence[PatternCheck]) -> Value:
        """What is wrong with an instruction."""
        config = self.config
        x, y, result = checks
        has_y = held.second != Second.IMMEDIATE
        quantizes, operates, states = (
            held.operation == each for each in (Operation.QUANTIZE, Operation.OPERATE, Operation.STATES)
        )
        code, then = held.step.op.as_value(), held.then.op.as_value()
        on_bits = operates & (code >= FIRST_BIT_OPERATOR)
        two_steps = operates & ((held.then.op != Operator.BYPASS) | held.then.reverse)
        activates = held.operation.as_value().matches(Operation.ACTIVATE, Operation.ROOT)
        selections = [
            held[name].as_value().matches(*codes)
            for name, codes in (("operations", Operations), ("function", Function), ("reduction", Reduction))
        ]
        known = held.operation.as_value().matches(*operations(config, self.engine))
        operation = (
            ~known
            | ~held.second.as_value().matches(*Second)
            | (operates & ~(code.matches(*Operator) & then.matches(*Operator)))
            | (two_steps & ((held.second == Second.TENSOR) | (on_bits != (then >= FIRST_BIT_OPERATOR))))
            | (~operates & (held.second == Second.TENSOR))
            | ((states | (held.operation == Operation.RECIPROCAL)) & has_y)
            | (quantizes & (has_y | (Value.cast(held.mx.element) >= len(ELEMENTS))))
            | (activates & ~(selections[0] & selections[1] & selections[2]))
            | (held.register & ~held.operation.as_value().matches(Operation.ACTIVATE, Operation.EXPONENTIAL))
        )
        second_dtype = Mux(has_y, held.y.dtype.as_value(), held.immediate_dtype.as_value())
        dtypes = [held.x.dtype.as_value(), held.result.dtype.as_value()]
        dtypes.append(Value.cast(Mux(has_y | operates, second_dtype, Dtype.FP32)))
        dtypes.append(Mux(two_steps, held.scalar_dtype.as_value(), dtypes[0]))
        unknown = Cat(~each.matches(*Dtype) for each in dtypes).any()
        integers = Cat(each.matches(*INTEGERS) for each in dtypes).all()
        sizes = [log_bytes(each) for each in dtypes]
        source = Cat(held.x.dtype == Dtype[fmt.name] for fmt in SOURCES).bit_select(held.mx.source, 1)
        fp4 = Value.cast(held.mx.element) == ELEMENTS.index(E2M1)
        dtype = (
            unknown
            | (on_bits & (~integers | Cat(size != sizes[0] for size in sizes[1:]).any()))
            | (quantizes & (~source | (sizes[1] != Mux(fp4, 1, 2))))
            | (states & ~Cat(each == Dtype.UINT32 for each in dtypes[:2]).all())
        )
        partitions = (
            (held.partitions == 0)
            | (held.partitions > config.size)
            | (quantizes & held.partitions[: ceil_log2(QUADRANT)].any())
        )
        wrong_start = Cat(
            starts_wrong(config, held.x.start, held.partitions),
            starts_wrong(config, held.result.start, held.partitions),
            has_y & starts_wrong(config, held.y.start, held.partitions),
            quantizes & (held.x.start | held.result.start).any(),
        ).any()
        wanted = Mux(held.register, 1, x.count)
        counts = Cat(
            (result.count << Mux(quantizes, ceil_log2(X4), 0)) != wanted,
            (held.second == Second.TENSOR) & (y.count != x.count),
            (held.second == Second.COLUMN) & (y.count != 1),
            states & (x.count != XORWOW_STATES * XORWOW_WORDS),
        ).any()
        scales_end = held.scales + result.count
        outside = x.outside | result.outside | (has_y & y.outside) | (quantizes & (scales_end > config.partition_bytes))
        return first_of(
            (operation, Fault.OPERATION),
            (dtype, Fault.DTYPE),
            (partitions, Fault.PARTITIONS),
            (wrong_start, Fault.START),
            (x.empty | result.empty | (has_y & y.empty), Fault.NUM),
            (counts, Fault.COUNT),
            (outside, Fault.RANGE),
        )
