"""Arithmetic of VectorE or ScalarE: a lane for each partition, and QuantizeMX for each eight."""

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import E8M0
from bitpath.golden.trainium3.declarations.quad_mx import SCALE_PARTITIONS, X4
from bitpath.golden.trainium3.declarations.vector import XORWOW_STATES
from bitpath.rtl.common.fp32.reciprocal import Reciprocal
from bitpath.rtl.common.fp32.reciprocal_square_root import ReciprocalSquareRoot
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.instruction import Operation, Second, lane_layout
from bitpath.rtl.trainium3.core.lane_reader import LANE_BITS, elements_layout
from bitpath.rtl.trainium3.core.lane_writer import results_layout
from bitpath.rtl.trainium3.dma.from_fp32 import FromFp32
from bitpath.rtl.trainium3.dma.to_fp32 import ToFp32
from bitpath.rtl.trainium3.lanes.activation2_control import Function, ReduceCommand
from bitpath.rtl.trainium3.lanes.activation2_lane import Activation2Lane
from bitpath.rtl.trainium3.lanes.config import Activation2Config, EngineLaneConfig, Rand2Config
from bitpath.rtl.trainium3.lanes.engine_lane import EngineLane
from bitpath.rtl.trainium3.lanes.rand2_lane import Rand2Lane
from bitpath.rtl.trainium3.vector.config import ExponentialConfig, QuantizeMxConfig
from bitpath.rtl.trainium3.vector.exponential import Exponential, Reduce
from bitpath.rtl.trainium3.vector.exponential_difference import Source
from bitpath.rtl.trainium3.vector.quantize_mx import QuantizeMx
from bitpath.rtl.trainium3.vector.xorwow_lane import WORD_BITS, XorwowLane

HALF = 16
"""Bits of an element that QuantizeMX takes."""


def operations(config: CoreConfig, engine: str) -> tuple[Operation, ...]:
    """Return what an engine does; a core smaller than a quadrant does not quantise."""
    if engine == "scalar":
        return Operation.OPERATE, Operation.ACTIVATE, Operation.ROOT
    mx = (Operation.QUANTIZE,) if config.has_mx else ()
    return Operation.OPERATE, Operation.RECIPROCAL, Operation.EXPONENTIAL, Operation.STATES, Operation.RAND2, *mx


class LaneUnits(wiring.Component):
    """Elements of all lanes through the units of one operation; the lanes have one handshake.

    Throughput is an element of each lane a cycle, of RECIPROCAL and ROOT one in the cycles of :class:`Reciprocal` and
    :class:`ReciprocalSquareRoot`.

    Parameters
    ----------
    config : the core's.
    engine : "vector" or "scalar".

    Members
    -------
    start : In(1), an instruction begins
    control : In(lane_layout), stays as it is until the last result is taken
    i : In(stream of elements_layout), o : Out(stream of results_layout)
    """

    def __init__(self, config: CoreConfig, engine: str):
        self.config, self.engine = config, engine
        super().__init__(
            {
                "start": In(1),
                "control": In(lane_layout(config)),
                "i": In(stream.Signature(elements_layout(config))),
                "o": Out(stream.Signature(results_layout(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        elements, control = self.i.p.elements, self.control
        column = [Signal(LANE_BITS, name=f"column_{p}", reset_less=True) for p in range(self.config.size)]
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
        results = [Signal(LANE_BITS, name=f"result_{p}") for p in range(self.config.size)]
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
        control, lanes = self.control, []
        immediate = control.second == Second.IMMEDIATE
        for p, element in enumerate(self.i.p.elements):
            lane = instantiate(m, platform, f"operate_{p}", EngineLane, EngineLaneConfig(width=1, checks=False))
            beat = lane.i.p
            m.d.comb += [
                lane.i.valid.eq(feed),
                lane.o.ready.eq(self.o.ready),
                beat.x[0].eq(element),
                beat.y[0].eq(Mux(immediate, control.immediate, column[p])),
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
        return lanes[0].i.ready, lanes[0].o.valid, [lane.o.p.o[0] for lane in lanes]

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
        units, results = [], []
        for p in range(self.config.size):
            unit = instantiate(m, platform, f"reciprocal_{p}", Reciprocal)
            m.d.comb += [
                unit.i.valid.eq(feed),
                unit.i.p.eq(self._fp32(m, platform, f"divisor_{p}", self.i.p.elements[p], self.control.x.dtype)),
                unit.o.ready.eq(self.o.ready),
            ]
            units.append(unit)
            results.append(self._cast(m, platform, f"quotient_{p}", unit.o.p))
        return units[0].i.ready, units[0].o.valid, results

    def _exponential(self, m: Module, platform: Any, feed: Value, column: list, first: Value) -> tuple:
        control, units, results = self.control, [], []
        for p in range(self.config.size):
            unit = instantiate(m, platform, f"exponential_{p}", Exponential, ExponentialConfig(width=1, checks=False))
            maximum = self._fp32(m, platform, f"maximum_{p}", column[p], control.y.dtype)
            own = unit.i.p.control
            m.d.comb += [
                unit.i.valid.eq(feed),
                unit.i.p.elements[0].eq(
                    self._fp32(m, platform, f"exponent_{p}", self.i.p.elements[p], control.x.dtype)
                ),
                unit.i.p.max_value.eq(Mux(control.second == Second.COLUMN, maximum, control.imm1)),
                unit.i.p.source.eq(Source.FP32),
                own.reduce.eq(Mux(first, Reduce.RESET_REDUCE, Reduce.REDUCE)),
                own.count.eq(1),
                own.last.eq(self.i.p.last),
                unit.o.ready.eq(self.o.ready | (control.register & ~unit.o.p.last)),
            ]
            units.append(unit)
            chosen = Mux(control.register, unit.o.p.sum, unit.o.p.powers[0])
            results.append(self._cast(m, platform, f"power_{p}", chosen))
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
