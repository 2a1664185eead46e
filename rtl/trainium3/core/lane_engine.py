"""VectorE or ScalarE of a core: instructions on elements of SBUF and PSUM, a lane for each partition."""

from collections.abc import Sequence
from typing import Any

from amaranth import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import ceil_log2, exact_log2

from bitpath.golden.formats.catalogue import E2M1, E8M0
from bitpath.golden.trainium3.declarations.quad_mx import QUADRANT, SCALE_PARTITIONS, X4
from bitpath.golden.trainium3.declarations.rates import CORE_RATES
from bitpath.golden.trainium3.declarations.vector import XORWOW_STATES, XORWOW_WORDS
from bitpath.rtl.common.fp32.fp32_functions import Reciprocal, ReciprocalSquareRoot
from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.array.psum_memory import psum_access
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.instruction import Operation, Second, lane_layout
from bitpath.rtl.trainium3.core.lane_reader import (
    BEAT_BITS,
    CHECK_CYCLES,
    LANE_BITS,
    LaneReader,
    LaneWriter,
    PatternCheck,
    elements_layout,
    results_layout,
)
from bitpath.rtl.trainium3.dma.dma_cast import FromFp32, ToFp32, log_bytes
from bitpath.rtl.trainium3.dma.dtype import INTEGERS, Dtype
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.lanes.activation2_lane import (
    Activation2Config,
    Activation2Lane,
    Function,
    Operations,
    ReduceCommand,
    Reduction,
)
from bitpath.rtl.trainium3.lanes.engine_lane import FIRST_BIT_OPERATOR, EngineLane, EngineLaneConfig, Operator
from bitpath.rtl.trainium3.lanes.rand2_lane import Rand2Config, Rand2Lane
from bitpath.rtl.trainium3.memory.access_walker import LARGEST_SIZE
from bitpath.rtl.trainium3.memory.sbuf import QUARTERS, SBUF_WORD_BYTES, sbuf_place, sbuf_write
from bitpath.rtl.trainium3.vector.exponential import Exponential, ExponentialConfig, Reduce, Source
from bitpath.rtl.trainium3.vector.quantize_mx import ELEMENTS, SOURCES, QuantizeMx, QuantizeMxConfig
from bitpath.rtl.trainium3.vector.xorwow import WORD_BITS, XorwowLane

# Arithmetic of VectorE or ScalarE: a lane for each partition, and QuantizeMX for each eight.


HALF = 16
"""Bits of an element that QuantizeMX takes."""
RECIPROCALS = -(-Reciprocal.LATENCY // CORE_RATES.numerics.reciprocal_cycles)
"""Units of a lane that keep the documented rate of VectorE's reciprocal."""


def operations(config: CoreConfig, engine: str) -> tuple[Operation, ...]:
    """Return the operations of an engine; a core smaller than a quadrant does not quantise."""
    if engine == "scalar":
        return Operation.OPERATE, Operation.ACTIVATE, Operation.ROOT
    mx = (Operation.QUANTIZE,) if config.has_mx else ()
    return Operation.OPERATE, Operation.RECIPROCAL, Operation.EXPONENTIAL, Operation.STATES, Operation.RAND2, *mx


WIDTHS = {"vector": CORE_RATES.numerics.vector_narrow, "scalar": CORE_RATES.numerics.scalar_narrow}
"""Most elements of a beat."""
NARROW = (Dtype.BF16, Dtype.FP16, Dtype.E4M3, Dtype.E4M3FN, Dtype.E5M2)
"""Floats of 16 and 8 bits."""


class LaneUnits(wiring.Component):
    """Beats of all lanes through the units of one operation; the lanes have one handshake.

    Throughput is a beat a cycle, of RECIPROCAL one in seven cycles, where the machine takes eight, and of ROOT one
    in the cycles of :class:`ReciprocalSquareRoot`.

    Parameters
    ----------
    config : the core's.
    engine : "vector" or "scalar".

    Members
    -------
    start : In(1), an instruction begins
    control : In(lane_layout), together : In, the logarithm of a beat's elements, 0 but for OPERATE and EXPONENTIAL: they stay as
        they are until the last result is taken
    i : In(stream of elements_layout), o : Out(stream of results_layout)
    """

    def __init__(self, config: CoreConfig, engine: str):
        self.config, self.engine = config, engine
        super().__init__(
            {
                "start": In(1),
                "control": In(lane_layout(config)),
                "together": In(2),
                "i": In(stream.Signature(elements_layout(config))),
                "o": Out(stream.Signature(results_layout(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        elements, control = self.i.p.elements, self.control
        column = [Signal(BEAT_BITS, name=f"column_{p}", reset_less=True) for p in range(self.config.size)]
        first, fed = Signal(), Signal()
        with m.If(self.i.valid & self.i.p.second):
            m.d.sync += [held.eq(element) for held, element in zip(column, elements, strict=True)]
        with m.If(self.start):
            m.d.sync += first.eq(1)
        with m.Elif(fed):
            m.d.sync += first.eq(0)
        m.d.comb += fed.eq(self.i.valid & self.i.ready & ~self.i.p.second)
        ready = Signal()
        m.d.comb += self.i.ready.eq(self.i.p.second | ready)
        results = [Signal(BEAT_BITS, name=f"result_{p}") for p in range(self.config.size)]
        scales: list[Any] = [Const(0, E8M0.width)] * len(self.o.p.scales)
        units = {
            Operation.OPERATE: self._operate,
            Operation.ACTIVATE: self._activate,
            Operation.QUANTIZE: self._quantize,
            Operation.RECIPROCAL: self._reciprocal,
            Operation.EXPONENTIAL: self._exponential,
            Operation.RAND2: self._rand2,
        }
        beside = {Operation.ACTIVATE: Operation.ROOT, Operation.RAND2: Operation.STATES}
        for operation in (each for each in operations(self.config, self.engine) if each in units):
            chosen = control.operation.as_value().matches(operation, beside.get(operation, operation))
            feed = Signal(name=f"feed_{operation.name.lower()}")
            m.d.comb += feed.eq(self.i.valid & ~self.i.p.second & chosen)
            taken, valid, own, *found = units[operation](m, platform, feed, column, first)
            with m.If(chosen):
                m.d.comb += [ready.eq(taken), self.o.valid.eq(valid)]
                m.d.comb += [result.eq(value) for result, value in zip(results, own, strict=True)]
            scales = found or scales
        scaled = control.operation == Operation.QUANTIZE
        m.d.comb += Value.cast(self.o.p).eq(Cat(*results, *scales, scaled))
        return m

    # Each returns whether its units take an element, whether they offer results, the results of all lanes, and the scales.

    def _operate(self, m: Module, platform: Any, feed: Value, column: list, first: Value) -> tuple:
        control, lanes, results = self.control, [], []
        immediate, width = control.second == Second.IMMEDIATE, WIDTHS[self.engine]
        sizes = [log_bytes(control[name].dtype) for name in ("x", "y", "result")]
        for p, word in enumerate(self.i.p.elements):
            lane = instantiate(m, platform, f"operate_{p}", EngineLane, EngineLaneConfig(width=width, checks=False))
            beat = lane.i.p
            for k in range(width):
                x, y = (_element(each, k, size) for each, size in ((word, sizes[0]), (column[p], sizes[1])))
                m.d.comb += [beat.x[k].eq(x), beat.y[k].eq(Mux(immediate, control.immediate, y))]
            m.d.comb += [
                lane.i.valid.eq(feed),
                lane.o.ready.eq(self.o.ready),
                beat.control.first.eq(control.step),
                beat.control.second.eq(control.then),
                beat.control.scalar.eq(control.second != Second.TENSOR),
                beat.control.second_scalar.eq(control.scalar),
                beat.control.second_dtype.eq(control.scalar_dtype),
                beat.control.x.eq(control.x.dtype),
                beat.control.y.eq(Mux(immediate, control.immediate_dtype.as_value(), control.y.dtype.as_value())),
                beat.control.result.eq(control.result.dtype),
            ]
            lanes.append(lane)
            results.append(_packed(list(lane.o.p.o), sizes[2]))
        return lanes[0].i.ready, lanes[0].o.valid, results

    def _activate(self, m: Module, platform: Any, feed: Value, column: list, first: Value) -> tuple:
        control, results, lanes, roots = self.control, [], [], []
        is_root, passes = control.operation == Operation.ROOT, Signal()
        for p, element in enumerate(self.i.p.elements):
            lane = instantiate(m, platform, f"activate_{p}", Activation2Lane, Activation2Config(checks=False))
            root = instantiate(m, platform, f"root_{p}", ReciprocalSquareRoot)
            bias = self._fp32(m, platform, f"bias_{p}", column[p], control.y.dtype)
            own = lane.i.p.control
            m.d.comb += [
                lane.i.valid.eq(feed),
                lane.i.p.value.eq(self._fp32(m, platform, f"value_{p}", element, control.x.dtype)),
                *(own[name].eq(control[name]) for name in ("operations", "reduction", "reverse")),
                own.function.eq(Mux(is_root, Function.COPY, control.function.as_value())),
                own.command.eq(Mux(first, ReduceCommand.RESET_REDUCE, ReduceCommand.REDUCE)),
                own.imm0.eq(control.imm0),
                own.imm1.eq(Mux(control.second == Second.COLUMN, bias, control.imm1)),
                own.relu_param.eq(control.relu_param),
                own.last.eq(self.i.p.last),
                root.i.p.eq(lane.o.p.value),
                root.i.valid.eq(lane.o.valid & is_root),
                root.o.ready.eq(self.o.ready),
                lane.o.ready.eq(Mux(is_root, root.i.ready, self.o.ready | ~passes)),
            ]
            lanes.append(lane)
            roots.append(root)
            value = Mux(is_root, root.o.p, Mux(control.register, lane.o.p.register, lane.o.p.value))
            results.append(self._cast(m, platform, f"cast_{p}", value))
        m.d.comb += passes.eq(~control.register | lanes[0].o.p.last)
        return lanes[0].i.ready, Mux(is_root, roots[0].o.valid, lanes[0].o.valid & passes), results

    def _reciprocal(self, m: Module, platform: Any, feed: Value, column: list, first: Value) -> tuple:
        """Units of a lane take its elements in turns."""
        into, out = (Signal(range(RECIPROCALS), name=f"turn_{name}") for name in ("into", "out"))
        turns, results = [], []
        for p in range(self.config.size):
            divisor = self._fp32(m, platform, f"divisor_{p}", self.i.p.elements[p], self.control.x.dtype)
            turns = [instantiate(m, platform, f"reciprocal_{p}_{turn}", Reciprocal) for turn in range(RECIPROCALS)]
            for turn, unit in enumerate(turns):
                m.d.comb += [
                    unit.i.valid.eq(feed & (into == turn)),
                    unit.i.p.eq(divisor),
                    unit.o.ready.eq(self.o.ready & (out == turn)),
                ]
            results.append(self._cast(m, platform, f"quotient_{p}", Array(unit.o.p for unit in turns)[out]))
        ready, valid = Array(unit.i.ready for unit in turns)[into], Array(unit.o.valid for unit in turns)[out]
        for turn, moves in ((into, feed & ready), (out, valid & self.o.ready)):
            with m.If(moves):
                m.d.sync += turn.eq(Mux(turn == RECIPROCALS - 1, 0, turn + 1))
        return ready, valid, results

    def _exponential(self, m: Module, platform: Any, feed: Value, column: list, first: Value) -> tuple:
        control, units, results = self.control, [], []
        width, size, stored = WIDTHS[self.engine], log_bytes(control.x.dtype), log_bytes(control.result.dtype)
        for p, word in enumerate(self.i.p.elements):
            unit = instantiate(
                m, platform, f"exponential_{p}", Exponential, ExponentialConfig(width=width, checks=False)
            )
            maximum = self._fp32(m, platform, f"maximum_{p}", column[p], control.y.dtype)
            own = unit.i.p.control
            for k in range(width):
                x = self._fp32(m, platform, f"exponent_{p}_{k}", _element(word, k, size), control.x.dtype)
                m.d.comb += unit.i.p.elements[k].eq(x)
            m.d.comb += [
                unit.i.valid.eq(feed),
                unit.i.p.max_value.eq(Mux(control.second == Second.COLUMN, maximum, control.imm1)),
                unit.i.p.source.eq(Source.FP32),
                own.reduce.eq(Mux(first, Reduce.RESET_REDUCE, Reduce.REDUCE)),
                own.count.eq(1 << self.together),
                own.last.eq(self.i.p.last),
                unit.o.ready.eq(self.o.ready | (control.register & ~unit.o.p.last)),
            ]
            units.append(unit)
            numbers = [Mux(control.register, unit.o.p.sum, unit.o.p.powers[0]), *list(unit.o.p.powers)[1:]]
            results.append(
                _packed([self._cast(m, platform, f"power_{p}_{k}", each) for k, each in enumerate(numbers)], stored)
            )
        return units[0].i.ready, units[0].o.valid & (~control.register | units[0].o.p.last), results

    def _rand2(self, m: Module, platform: Any, feed: Value, column: list, first: Value) -> tuple:
        control, lanes, results = self.control, [], []
        exchanges = control.operation == Operation.STATES
        taken, place = Signal(), Signal(range(XORWOW_STATES))
        for p, element in enumerate(self.i.p.elements):
            generator = instantiate(m, platform, f"generator_{p}", XorwowLane)
            lane = instantiate(m, platform, f"rand2_{p}", Rand2Lane, Rand2Config(width=1, checks=False))
            maximum = self._fp32(m, platform, f"high_{p}", column[p], control.y.dtype)
            moves = taken & (p < control.partitions)
            states = Value.cast(generator.states)
            m.d.comb += [
                generator.load.eq(moves & exchanges),
                Value.cast(generator.loaded).eq(Cat(states[WORD_BITS:], element)),
                generator.take.eq(moves & ((place == XORWOW_STATES - 1) | self.i.p.last)),
                lane.i.valid.eq(feed & ~exchanges),
                lane.i.p.words[0].eq(generator.numbers[place]),
                lane.i.p.low.eq(self._fp32(m, platform, f"low_{p}", element, control.x.dtype)),
                lane.i.p.high.eq(Mux(control.second == Second.COLUMN, maximum, control.imm1)),
                lane.i.p.dtype.eq(control.result.dtype),
                lane.o.ready.eq(self.o.ready),
            ]
            lanes.append(lane)
            results.append(Mux(exchanges, states[:WORD_BITS], lane.o.p))
        ready = Mux(exchanges, self.o.ready, lanes[0].i.ready)
        m.d.comb += taken.eq(feed & ready)
        with m.If(self.start):
            m.d.sync += place.eq(0)
        with m.Elif(taken):
            m.d.sync += place.eq(place + 1)
        return ready, Mux(exchanges, feed, lanes[0].o.valid), results

    def _fp32(self, m: Module, platform: Any, name: str, code: Value, dtype: Value) -> Value:
        """Return an operand's element as FP32."""
        cast = instantiate(m, platform, name, ToFp32, LANE_BITS)
        m.d.comb += [cast.code.eq(code), cast.dtype.eq(dtype)]
        return cast.o

    def _cast(self, m: Module, platform: Any, name: str, number: Value) -> Value:
        """Return an FP32 number as the result's dtype."""
        cast = instantiate(m, platform, name, FromFp32, LANE_BITS)
        m.d.comb += [cast.i.eq(number), cast.dtype.eq(self.control.result.dtype)]
        return cast.o

    def _quantize(self, m: Module, platform: Any, feed: Value, column: list, first: Value) -> tuple:
        config, elements = self.config, self.i.p.elements
        gathered = [
            [Signal(HALF, name=f"element_{p}_{i}", reset_less=True) for i in range(X4 - 1)] for p in range(config.size)
        ]
        place = Signal(range(X4))
        units, results = [], []
        for block in range(config.size // SCALE_PARTITIONS):
            unit = instantiate(m, platform, f"quantize_{block}", QuantizeMx, QuantizeMxConfig(checks=False))
            m.d.comb += [
                unit.i.valid.eq(feed & (place == X4 - 1)),
                unit.o.ready.eq(self.o.ready),
                unit.i.p.control.eq(self.control.mx),
            ]
            for row in range(SCALE_PARTITIONS):
                p = SCALE_PARTITIONS * block + row
                for i in range(X4):
                    own = gathered[p][i] if i < X4 - 1 else elements[p]
                    m.d.comb += unit.i.p.elements[X4 * row + i].eq(own)
                results.append(Cat(unit.o.p.codes[X4 * row + i] for i in range(X4)))
            units.append(unit)
        takes = Signal()
        m.d.comb += takes.eq((place != X4 - 1) | units[0].i.ready)
        with m.If(self.start):
            m.d.sync += place.eq(0)
        with m.Elif(feed & takes):
            m.d.sync += place.eq(place + 1)
            for i in range(X4 - 1):
                with m.If(place == i):
                    m.d.sync += [own[i].eq(element) for own, element in zip(gathered, elements, strict=True)]
        return takes, units[0].o.valid, results, *(unit.o.p.scale for unit in units)


def _element(word: Value, k: int, size: Value) -> Value:
    """Return element k of a beat, of ``2**size`` bytes, with other bits above it."""
    return Array(word[8 * (k << log) :] for log in range(LARGEST_SIZE + 1))[size]


def _packed(codes: Sequence[Value], size: Value) -> Value:
    """Return a beat of elements of ``2**size`` bytes."""
    return Array(Cat(code[: 8 << log] for code in codes) for log in range(LARGEST_SIZE + 1))[size]


def starts_wrong(config: CoreConfig, start: Value, partitions: Value) -> Value:
    """Return 1 if `partitions` may not start in a quarter: up to a quarter starts in any, up to two in the first or
    third."""
    return Mux(
        partitions <= config.size // QUARTERS, 0, Mux(partitions <= config.size // 2, start[0], Value.cast(start).any())
    )


class LaneEngine(wiring.Component):
    """Runs one instruction after the other; a refused one reads and writes nothing.

    Latency: elements are asked for ``CHECK_CYCLES + 4`` cycles after their instruction. Throughput: a beat of each lane a cycle, of two
    tensors every second cycle; QuantizeMX a block of four elements in four cycles. A beat is an element; of OPERATE and EXPONENTIAL,
    where elements follow each other in words of SBUF, two on VectorE, and of floats of 16 or 8 bits four on VectorE and two on ScalarE.

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
            *(part.together.eq(self._together(held)) for part in (reader, units)),
            # A register is one element.
            writer.together.eq(Mux(held.register, 0, reader.together)),
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

    def _together(self, held) -> Value:
        """Return the logarithm of a beat's elements: of OPERATE and EXPONENTIAL as many as the machine takes in a cycle, if they
        follow each other in words of SBUF."""
        tensor = held.second == Second.TENSOR
        narrow = Cat(each.dtype.as_value().matches(*NARROW) for each in (held.x, held.result)).all()

        def in_words(operand: Any, log: int) -> Value:
            pairs = operand.pattern.pairs
            odd = Cat(operand.pattern.offset[:log], pairs[0].num[:log], *(pair.step[:log] for pair in pairs[1:]))
            fits = log_bytes(operand.dtype) + log <= exact_log2(SBUF_WORD_BYTES)
            return ~operand.psum & (pairs[0].step == 1) & ~odd.any() & fits

        two, four = (
            held.operation.as_value().matches(Operation.OPERATE, Operation.EXPONENTIAL)
            & in_words(held.x, log)
            & (held.register | in_words(held.result, log))
            & (~tensor | in_words(held.y, log))
            for log in (1, 2)
        )
        fast = narrow & ~tensor
        return two & fast if self.engine == "scalar" else Mux(four & fast, 2, two)

    def _fault(self, held, checks: Sequence[PatternCheck]) -> Value:
        """Return the fault of an instruction."""
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
            # Both read SBUF alone, and QuantizeMX writes to it alone.
            | ((quantizes | states) & held.x.psum)
            | (quantizes & held.result.psum)
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
