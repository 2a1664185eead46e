"""A lane of ScalarE's Activation2: two operations with immediates, a function, and a reduction register.

    product    x * imm0, or x
    sum        + or - an immediate, or the product; (add, bypass) and (subtract, bypass) use it with imm0
    function   copy, square, abs, relu, prelu, sign; NaN becomes canonical
    register   add, max, min, abs_max or abs_min of the values, in their order

Every step is rounded to FP32, to nearest even; bypass leaves a code as it is. `activation` is the pair (multiply, add) on
the same register.

Ref: ``nki.isa.activate2`` reference page, NKI 0.6; "Trainium3 Architecture Guide for NKI". Points that they leave open are in
`bitpath.golden.trainium3.declarations.engines.CHOICES`.
"""

from dataclasses import dataclass, field

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.config import PipelineConfig, require_range
from bitpath.rtl.common.fp32.fp32_arithmetic import Fp32Add, Fp32Multiply
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup, registered
from bitpath.rtl.trainium3.faults import Fault, taken_if_legal
from bitpath.rtl.trainium3.lanes.engine_lane import Fp32Order


@dataclass(frozen=True, kw_only=True)
class Activation2Config:
    """Configuration of a lane of Activation2.

    Attributes
    ----------
    pipeline : pipeline stages before the reduction register, 0 to 3.
    checks : whether instructions are checked; without it they must be right.
    """

    pipeline: PipelineConfig = field(default_factory=lambda: PipelineConfig(stages=3))
    checks: bool = True

    def __post_init__(self) -> None:
        require_range("activation2_lane", "stages", self.pipeline.stages, 0, 3)


# Ports of the Activation2 lane.
#
# Ref: ``nki.isa.activate2`` reference page, NKI 0.6.


class Operations(enum.Enum, shape=3):
    """The pair (op0, op1) of Activation2."""

    BYPASS = 0
    MULTIPLY = 1  # x * imm0
    ADD = 2  # x + imm0
    SUBTRACT = 3  # x - imm0
    MULTIPLY_ADD = 4  # x * imm0 + imm1
    MULTIPLY_SUBTRACT = 5  # x * imm0 - imm1


class Function(enum.Enum, shape=3):
    """The function of the second operation's result."""

    COPY = 0
    SQUARE = 1
    ABS = 2
    RELU = 3  # +0 below zero and for -0
    PRELU = 4  # times relu_param below zero and for -0
    SIGN = 5  # -1, +0 or 1


class Reduction(enum.Enum, shape=3):
    """Reduction that the register gathers."""

    ADD = 0
    MAX = 1
    MIN = 2
    ABS_MAX = 3  # of equal magnitudes the new element
    ABS_MIN = 4


class ReduceCommand(enum.Enum, shape=2):
    """Command of a value to the register."""

    IDLE = 0
    RESET = 1  # sets it to the reduction's identity
    REDUCE = 2  # reduces the value onto it
    RESET_REDUCE = 3  # sets it, then reduces onto it


class Control(data.Struct):
    """The fields of an instruction; ``reverse`` puts the immediate left of a subtraction."""

    operations: Operations
    function: Function
    reduction: Reduction
    command: ReduceCommand
    reverse: 1
    imm0: FP32.width
    imm1: FP32.width
    relu_param: FP32.width
    last: 1


class Beat(data.Struct):
    """One value, FP32, and its instruction."""

    value: FP32.width
    control: Control


class Result(data.Struct):
    """The function's value, FP32, and the register after it; ``last`` belongs to the beat."""

    value: FP32.width
    register: FP32.width
    last: 1


STEPS = {0: (), 1: ("sum",), 2: ("product", "sum"), 3: ("product", "sum", "function")}
"""Steps that end in a pipeline register, by ``stages``; ``reduce`` always does."""
ONE = FP32.bias << FP32.fraction_bits
INFINITY = FP32.infinity_code


class Activation2Lane(wiring.Component):
    """A value a cycle through two operations and a function, and onto the reduction register.

    A row is a sequence of values of one instruction: its first has RESET_REDUCE or REDUCE, the others REDUCE; IDLE leaves the
    register for later instructions. Latency is ``stages + 1`` cycles. A stall of ``o`` holds the whole pipeline.

    Parameters
    ----------
    config : pipeline, and whether instructions are checked.

    Members
    -------
    i : In(stream of Beat)
    o : Out(stream of Result)
    fault : Out(Fault), OPERATION in the cycle in which a beat is taken whose operations, function or reduction there are not; the
        register stays as it is, and nothing comes of it
    """

    i: In(stream.Signature(Beat))
    o: Out(stream.Signature(Result))
    fault: Out(Fault)

    def __init__(self, config: Activation2Config):
        self.config = config
        super().__init__()

    @property
    def latency(self) -> int:
        """Cycles from a beat to its result."""
        return self.config.pipeline.stages + 1

    def elaborate(self, platform):
        m = Module()
        wrong: Value = Value.cast(Fault.NONE)
        if self.config.checks:
            own = self.i.p.control
            selections = ((own.operations, Operations), (own.function, Function), (own.reduction, Reduction))
            known = Cat(field.as_value().matches(*codes) for field, codes in selections).all()
            wrong = Mux(known, wrong, Fault.OPERATION)
        valid = taken_if_legal(m, self.i, self.fault, wrong)
        registers = PipelineRegisters(
            m, (*STEPS[self.config.pipeline.stages], "reduce"), valid=valid, ready=self.o.ready
        )
        value = self._product(m, platform, self.i.p.value, self.i.p.control)
        control, value = registers.hold("product", control=self.i.p.control, value=value)
        value = self._sum(m, platform, value, control)
        control, value = registers.hold("sum", control=control, value=value)
        value = self._function(m, platform, value, control)
        control, value = registers.hold("function", control=control, value=value)

        register = Signal(FP32.width)
        after = self._reduce(m, platform, register, value, control)
        with m.If(registers.advance & registers.valid):
            m.d.sync += register.eq(after)
        value, after, last = registers.hold("reduce", value=value, after=after, last=control.last)
        m.d.comb += [
            self.o.p.eq(Cat(value, after, last)),
            self.o.valid.eq(registers.valid),
            self.i.ready.eq(registers.finish()),
        ]
        return m

    def _product(self, m: Module, platform, value: Value, control: Control) -> Value:
        multiply = instantiate(m, platform, "product_multiply", Fp32Multiply)
        m.d.comb += [multiply.a.eq(value), multiply.b.eq(control.imm0)]
        multiplies = Value.cast(control.operations).matches(
            Operations.MULTIPLY, Operations.MULTIPLY_ADD, Operations.MULTIPLY_SUBTRACT
        )
        return Mux(multiplies, multiply.o, value)

    def _sum(self, m: Module, platform, value: Value, control: Control) -> Value:
        add = instantiate(m, platform, "sum_add", Fp32Add)
        after = Signal(FP32.width, name="sum")
        operations = Value.cast(control.operations)
        subtracts = operations.matches(Operations.SUBTRACT, Operations.MULTIPLY_SUBTRACT)
        first = operations.matches(Operations.ADD, Operations.SUBTRACT)
        immediate = Mux(first, control.imm0, control.imm1)
        m.d.comb += [
            # The right operand of a subtraction is negated.
            add.a.eq(_negated(value, subtracts & control.reverse)),
            add.b.eq(_negated(immediate, subtracts & ~control.reverse)),
            after.eq(Mux(operations.matches(Operations.BYPASS, Operations.MULTIPLY, 6, 7), value, add.o)),
        ]
        return after

    def _function(self, m: Module, platform, value: Value, control: Control) -> Value:
        multiply = instantiate(m, platform, "function_multiply", Fp32Multiply)
        squares = control.function == Function.SQUARE
        m.d.comb += [multiply.a.eq(value), multiply.b.eq(Mux(squares, value, control.relu_param))]
        after = Signal(FP32.width, name="after_function")
        negative, magnitude = value[-1], value[:-1]
        with m.Switch(control.function):
            with m.Case(Function.SQUARE):
                m.d.comb += after.eq(multiply.o)
            with m.Case(Function.ABS):
                m.d.comb += after.eq(magnitude)
            with m.Case(Function.RELU):
                m.d.comb += after.eq(Mux(negative, 0, value))
            with m.Case(Function.PRELU):
                m.d.comb += after.eq(Mux(negative, multiply.o, value))
            with m.Case(Function.SIGN):
                m.d.comb += after.eq(Mux(magnitude.any(), Cat(Const(ONE, FP32.width - 1), negative), 0))
            with m.Default():
                m.d.comb += after.eq(value)
        return Mux(magnitude > INFINITY, FP32.nan_code, after)

    def _reduce(self, m: Module, platform, register: Value, value: Value, control: Control) -> Value:
        """Return the register after a value."""
        start, after = Signal(FP32.width, name="start"), Signal(FP32.width, name="reduced")
        resets = Value.cast(control.command).matches(ReduceCommand.RESET, ReduceCommand.RESET_REDUCE)
        reduces = Value.cast(control.command).matches(ReduceCommand.REDUCE, ReduceCommand.RESET_REDUCE)
        identity = Signal(FP32.width)
        add = instantiate(m, platform, "reduce_add", Fp32Add)
        compare = instantiate(m, platform, "order", Fp32Order)
        order = compare.o
        m.d.comb += [
            start.eq(Mux(resets, identity, register)),
            add.a.eq(start),
            add.b.eq(value),
            compare.a.eq(start),
            compare.b.eq(value),
        ]
        reduced = Signal(FP32.width, name="of_both")
        with m.Switch(control.reduction):
            with m.Case(Reduction.ADD):
                m.d.comb += reduced.eq(add.o)
            with m.Case(Reduction.MAX):
                m.d.comb += [identity.eq(INFINITY | FP32.sign_mask), reduced.eq(Mux(order.below, value, start))]
            with m.Case(Reduction.MIN):
                m.d.comb += [identity.eq(INFINITY), reduced.eq(Mux(order.below, start, value))]
            with m.Case(Reduction.ABS_MAX):
                m.d.comb += reduced.eq(Mux(order.smaller | order.level, value, start))
            with m.Default():
                m.d.comb += [identity.eq(INFINITY), reduced.eq(Mux(order.smaller, start, value))]
        # Register and value have the canonical NaN alone, as the adder has.
        nan = Cat(each[FP32.fraction_bits - 1 : -1].all() for each in (start, value)).any()
        m.d.comb += after.eq(Mux(reduces, Mux(nan, FP32.nan_code, reduced), start))
        return after


def _negated(code: Value, negate: Value) -> Value:
    return Cat(code[:-1], code[-1] ^ negate)


RECORDS = (
    Unit(
        name="activation2_lane",
        config_type=Activation2Config,
        build=Activation2Lane,
        summary="Trainium3: a lane of Activation2 with its reduction register",
        covered=Covered(Activation2Config(pipeline=registered(3)), 500),
        judges=(Judge(30, Activation2Config(), 300),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("product and sum", r"(product|sum)"),
            WaveGroup("function", r"(function|after_function)"),
            WaveGroup("reduction", r"(register|start|identity|order|of_both|reduce)"),
            OUTPUT,
        ),
    ),
)
