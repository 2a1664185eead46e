"""tensor_scalar and tensor_tensor of a lane of VectorE or ScalarE: one or two operators of elements of 13 dtypes.

    read      x, y and the second scalar to FP32; under bit operators their bits
    first     x operator y, y an element of another tensor or a scalar
    second    the first result operator a scalar, or the first result
    write     to the result's dtype; under bit operators the bits

Each operator is rounded to FP32, to nearest even. The bits do not depend on the engine nor on the elements a cycle.

Ref: ``nki.isa.tensor_scalar`` and ``nki.isa.tensor_tensor`` reference pages, NKI 0.6. Points that they leave open are in
`bitpath.golden.trainium3.declarations.engines.CHOICES`.
"""

from dataclasses import dataclass, field

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.config import PipelineConfig, UnitConfig, power_of_two
from bitpath.rtl.common.fp32.fp32_arithmetic import Fp32Add, Fp32Multiply
from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup
from bitpath.rtl.trainium3.dma.dma_cast import WIDTHS, FromFp32, ToFp32, is_unknown, log_bytes
from bitpath.rtl.trainium3.dma.dtype import INTEGERS, Dtype
from bitpath.rtl.trainium3.faults import Fault, taken_if_legal

# Order of two FP32 numbers, for maximum and minimum.


class Order(data.Struct):
    """Relations of a and b, without meaning if either is NaN."""

    below: 1  # a < b, and -0 below +0
    smaller: 1  # |a| < |b|
    level: 1  # |a| = |b|


class Fp32Order(wiring.Component):
    """Combinational order of two FP32 numbers, by their codes: a negative one's magnitude is inverted.

    Members
    -------
    a, b : In(32), FP32
    o : Out(Order)
    """

    clocked = False
    a: In(FP32.width)
    b: In(FP32.width)
    o: Out(Order)

    def elaborate(self, platform):
        m = Module()
        first, second = self.a[:-1], self.b[:-1]
        ranks = [Signal(FP32.width, name=f"rank_{name}") for name in "ab"]
        for rank, code in zip(ranks, (self.a, self.b), strict=True):
            m.d.comb += rank.eq(Cat(Mux(code[-1], ~code[:-1], code[:-1]), ~code[-1]))
        m.d.comb += [
            self.o.below.eq(ranks[0] < ranks[1]),
            self.o.smaller.eq(first < second),
            self.o.level.eq(first == second),
        ]
        return m


@dataclass(frozen=True, kw_only=True)
class EngineLaneConfig(UnitConfig, unit="engine_lane"):
    """Configuration of a lane of tensor_scalar and tensor_tensor.

    Attributes
    ----------
    width : elements a cycle, 1, 2 or 4; the machine's VectorE takes up to 4, ScalarE 2.
    pipeline : pipeline stages, 0 to 4.
    checks : whether instructions are checked; without it they must be right.
    """

    width: int = power_of_two(1, 4, 2)
    pipeline: PipelineConfig = field(default_factory=lambda: PipelineConfig(stages=4))
    checks: bool = True


# Ports of the engine lane.
#
# Ref: ``nki.isa.tensor_scalar`` and ``nki.isa.tensor_tensor`` reference pages, NKI 0.6.


WORD_BITS = 32
FIRST_BIT_OPERATOR = 24


class Operator(enum.Enum, shape=5):
    """Operators on x and y. From 24 on they are bit operators, on integers of one size; the others compute in FP32."""

    BYPASS = 0  # x
    ADD = 1
    SUBTRACT = 2  # x - y
    MULTIPLY = 3
    MAX = 4
    MIN = 5
    ABS_MAX = 6  # of equal magnitudes y
    ABS_MIN = 7
    EQUAL = 8  # 1.0 or 0.0, as the other comparisons and the logical operators
    NOT_EQUAL = 9
    GREATER = 10  # x > y
    GREATER_EQUAL = 11
    LESS = 12
    LESS_EQUAL = 13
    LOGICAL_AND = 14
    LOGICAL_OR = 15
    LOGICAL_XOR = 16
    ABS = 17  # |x|
    LOGICAL_NOT = 18  # x is zero
    BITWISE_AND = FIRST_BIT_OPERATOR
    BITWISE_OR = 25
    BITWISE_XOR = 26
    LEFT_SHIFT = 27  # x << y
    RIGHT_SHIFT = 28  # x >> y, zeros from above
    BITWISE_NOT = 29  # of x


class Step(data.Struct):
    """An operation on x and y; ``reverse`` exchanges x and y."""

    op: Operator
    reverse: 1


class EngineControl(data.Struct):
    """The fields of an instruction. The first operator tells whether it is on bits; the second is of the same kind, or
    a bypass.

    tensor_tensor is a step of two values and a bypass; tensor_scalar has scalars in both steps.
    """

    first: Step
    second: Step
    scalar: 1  # the first step takes y of element 0 for all
    second_scalar: WORD_BITS
    x: Dtype
    y: Dtype
    second_dtype: Dtype
    result: Dtype
    last: 1


def engine_beat(width: int) -> data.StructLayout:
    """Layout of a beat: elements of x and of y in the low bits of words, and their instruction."""
    words = data.ArrayLayout(WORD_BITS, width)
    return data.StructLayout({"x": words, "y": words, "control": EngineControl})


def engine_result(width: int) -> data.StructLayout:
    """Layout of the results, in the low bits of words with zeros above; ``last`` belongs to the beat."""
    return data.StructLayout({"o": data.ArrayLayout(WORD_BITS, width), "last": 1})


# Operators of VectorE and ScalarE on FP32 numbers.


ONE = FP32.bias << FP32.fraction_bits


class Fp32Operator(wiring.Component):
    """Combinational ``o = x op y``, rounded once to nearest even; bit operators give x.

    Comparisons of NaN are false, but unequal; NaN counts as true. A maximum takes +0 of two zeros, a minimum -0.

    Members
    -------
    x, y : In(32), FP32; NaN is the canonical one
    op : In(Operator)
    o : Out(32), FP32
    """

    clocked = False
    x: In(FP32.width)
    y: In(FP32.width)
    op: In(Operator)
    o: Out(FP32.width)

    def elaborate(self, platform):
        m = Module()
        x, y = self.x, self.y
        add = instantiate(m, platform, "add", Fp32Add)
        multiply = instantiate(m, platform, "multiply", Fp32Multiply)
        compare = instantiate(m, platform, "order", Fp32Order)
        order = compare.o
        m.d.comb += [
            add.a.eq(x),
            add.b.eq(Cat(y[:-1], y[-1] ^ (self.op == Operator.SUBTRACT))),
            multiply.a.eq(x),
            multiply.b.eq(y),
            compare.a.eq(x),
            compare.b.eq(y),
        ]
        x_true, y_true = (each[:-1].any() for each in (x, y))
        nan, zeros, same, below = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            nan.eq(Cat(each[FP32.fraction_bits - 1 : -1].all() for each in (x, y)).any()),
            zeros.eq(~x_true & ~y_true),
            same.eq((x == y) | zeros),
            below.eq(order.below & ~zeros),
        ]
        truths = {
            Operator.EQUAL: same & ~nan,
            Operator.NOT_EQUAL: ~same | nan,
            Operator.GREATER: ~same & ~below & ~nan,
            Operator.GREATER_EQUAL: ~below & ~nan,
            Operator.LESS: below & ~nan,
            Operator.LESS_EQUAL: (below | same) & ~nan,
            Operator.LOGICAL_AND: x_true & y_true,
            Operator.LOGICAL_OR: x_true | y_true,
            Operator.LOGICAL_XOR: x_true ^ y_true,
            Operator.LOGICAL_NOT: ~x_true,
        }
        chosen = {
            Operator.MAX: Mux(order.below, y, x),
            Operator.MIN: Mux(order.below, x, y),
            Operator.ABS_MAX: Mux(order.smaller | order.level, y, x),
            Operator.ABS_MIN: Mux(order.smaller, x, y),
        }
        numbers = {
            Operator.ADD: add.o,
            Operator.SUBTRACT: add.o,
            Operator.MULTIPLY: multiply.o,
            Operator.ABS: x[:-1],
            **{operator: Mux(nan, FP32.nan_code, value) for operator, value in chosen.items()},
            **{operator: _one_if(value) for operator, value in truths.items()},
        }
        with m.Switch(self.op):
            for operator, value in numbers.items():
                with m.Case(operator):
                    m.d.comb += self.o.eq(value)
            with m.Default():
                m.d.comb += self.o.eq(x)
        return m


def _one_if(truth: Value) -> Value:
    return Mux(truth, Const(ONE, FP32.width), 0)


# Bit operators of VectorE on integers of 8, 16 or 32 bits.


class BitOperator(wiring.Component):
    """Combinational ``o = x op y`` on the low bits of words; operators of FP32 give x.

    A shift by the size or more gives 0; its count is read without sign.

    Members
    -------
    x, y : In(32), zeros above the size
    log_bytes : In(2), 0, 1 or 2 for a size of 1, 2 or 4 bytes
    op : In(Operator)
    o : Out(32), zeros above the size
    """

    clocked = False
    x: In(WORD_BITS)
    y: In(WORD_BITS)
    log_bytes: In(2)
    op: In(Operator)
    o: Out(WORD_BITS)

    def elaborate(self, platform):
        m = Module()
        x, y, word = self.x, self.y, Signal(WORD_BITS)
        count = y[: WORD_BITS.bit_length() - 1]
        beyond = y[WORD_BITS.bit_length() - 1 :].any()
        with m.Switch(self.op):
            with m.Case(Operator.BITWISE_AND):
                m.d.comb += word.eq(x & y)
            with m.Case(Operator.BITWISE_OR):
                m.d.comb += word.eq(x | y)
            with m.Case(Operator.BITWISE_XOR):
                m.d.comb += word.eq(x ^ y)
            with m.Case(Operator.LEFT_SHIFT):
                m.d.comb += word.eq(Mux(beyond, 0, x << count))
            with m.Case(Operator.RIGHT_SHIFT):
                m.d.comb += word.eq(Mux(beyond, 0, x >> count))
            with m.Case(Operator.BITWISE_NOT):
                m.d.comb += word.eq(~x)
            with m.Default():
                m.d.comb += word.eq(x)
        with m.Switch(self.log_bytes):
            for log, bits in enumerate(WIDTHS):
                with m.Case(log):
                    m.d.comb += self.o.eq(word[:bits])
        return m


STEPS = {
    0: (),
    1: ("first",),
    2: ("read", "second"),
    3: ("read", "first", "second"),
    4: ("read", "first", "second", "write"),
}
"""Steps that end in a pipeline register, by ``stages``."""


class EngineLane(wiring.Component):
    """Operators on ``width`` elements a cycle: the machine's VectorE takes up to 4, ScalarE 2.

    Latency is ``stages`` cycles, 0 to 4. A stall of ``o`` holds the whole pipeline.

    Parameters
    ----------
    config : elements a cycle, pipeline, and whether instructions are checked.

    Members
    -------
    i : In(stream of engine_beat)
    o : Out(stream of engine_result)
    fault : Out(Fault), OPERATION or DTYPE in the cycle in which a beat is taken whose operators or dtypes there are not, or do not
        go together; nothing comes of it
    """

    def __init__(self, config: EngineLaneConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(engine_beat(config.width))),
                "o": Out(stream.Signature(engine_result(config.width))),
                "fault": Out(Fault),
            }
        )

    @property
    def clocked(self) -> bool:
        """True if the component has registers."""
        return self.config.pipeline.stages > 0

    def elaborate(self, platform):
        m = Module()
        wrong = _fault(self.i.p.control) if self.config.checks else Value.cast(Fault.NONE)
        valid = taken_if_legal(m, self.i, self.fault, wrong)
        registers = PipelineRegisters(m, STEPS[self.config.pipeline.stages], valid=valid, ready=self.o.ready)
        control, lanes = self.i.p.control, range(self.config.width)
        x, y = {}, {}
        for k in lanes:
            x[f"x_{k}"] = self._read(m, platform, f"x_{k}", self.i.p.x[k], control.x, control)
            y[f"y_{k}"] = self._read(m, platform, f"y_{k}", self.i.p.y[k], control.y, control)
        scalar = self._read(m, platform, "scalar", control.second_scalar, control.second_dtype, control)
        control, scalar, *operands = registers.hold("read", control=control, scalar=scalar, **x, **y)

        values = {}
        for k in lanes:
            right = Mux(control.scalar, operands[len(lanes)], operands[len(lanes) + k])
            values[f"value_{k}"] = self._operate(m, platform, f"first_{k}", control, control.first, operands[k], right)
        control, scalar, *held = registers.hold("first", control=control, scalar=scalar, **values)

        for k in lanes:
            values[f"value_{k}"] = self._operate(m, platform, f"second_{k}", control, control.second, held[k], scalar)
        control, *held = registers.hold("second", control=control, **values)

        codes = []
        for k in lanes:
            cast = instantiate(m, platform, f"from_fp32_{k}", FromFp32, WORD_BITS)
            m.d.comb += [cast.i.eq(held[k]), cast.dtype.eq(control.result)]
            codes.append(Mux(_on_bits(control), held[k], cast.o))
        packed, last = registers.hold("write", packed=Cat(codes), last=control.last)
        m.d.comb += [
            self.o.p.eq(Cat(packed, last)),
            self.o.valid.eq(registers.valid),
            self.i.ready.eq(registers.finish()),
        ]
        return m

    def _read(self, m: Module, platform, name: str, code: Value, dtype: Value, control: EngineControl) -> Value:
        """Return an element as FP32, or its bits with zeros above."""
        convert = instantiate(m, platform, f"to_fp32_{name}", ToFp32, WORD_BITS)
        bits, word = Signal(WORD_BITS, name=f"bits_{name}"), Signal(WORD_BITS, name=f"read_{name}")
        with m.Switch(log_bytes(dtype)):
            for log, width in enumerate(WIDTHS):
                with m.Case(log):
                    m.d.comb += bits.eq(code[:width])
        m.d.comb += [
            convert.code.eq(code),
            convert.dtype.eq(dtype),
            word.eq(Mux(_on_bits(control), bits, convert.o)),
        ]
        return word

    def _operate(
        self, m: Module, platform, name: str, control: EngineControl, step: Step, left: Value, right: Value
    ) -> Value:
        """Return the result of a step."""
        number = instantiate(m, platform, name, Fp32Operator)
        bits = instantiate(m, platform, f"{name}_bits", BitOperator)
        result = Signal(WORD_BITS, name=f"{name}_result")
        m.d.comb += [
            bits.log_bytes.eq(log_bytes(control.x)),
            result.eq(Mux(_on_bits(control), bits.o, number.o)),
        ]
        for operator in (number, bits):
            m.d.comb += [
                operator.x.eq(Mux(step.reverse, right, left)),
                operator.y.eq(Mux(step.reverse, left, right)),
                operator.op.eq(step.op),
            ]
        return result


def _fault(control: EngineControl) -> Value:
    """Return the fault of an instruction; the second dtype is read if the second step is no bypass."""
    first, second = (Value.cast(step.op) for step in (control.first, control.second))
    on_bits, two_steps = _on_bits(control), (second != Operator.BYPASS) | control.second.reverse
    dtypes = [Value.cast(each) for each in (control.x, control.y, control.result)]
    dtypes.append(Mux(two_steps, Value.cast(control.second_dtype), dtypes[0]))
    integers = Cat(each.matches(*INTEGERS) for each in dtypes).all()
    sizes = [log_bytes(each) for each in dtypes]
    return first_of(
        (
            ~(first.matches(*Operator) & second.matches(*Operator))
            | (two_steps & (on_bits != (second >= FIRST_BIT_OPERATOR))),
            Fault.OPERATION,
        ),
        (
            Cat(is_unknown(each) for each in dtypes).any()
            | (on_bits & (~integers | Cat(size != sizes[0] for size in sizes[1:]).any())),
            Fault.DTYPE,
        ),
    )


def _on_bits(control: EngineControl) -> Value:
    return Value.cast(control.first.op) >= FIRST_BIT_OPERATOR


RECORDS = (
    Unit(
        name="engine_lane",
        config_type=EngineLaneConfig,
        build=EngineLane,
        summary="Trainium3: tensor_scalar and tensor_tensor of VectorE and ScalarE over 13 dtypes",
        covered=Covered(EngineLaneConfig(width=1), 300),
        judges=(Judge(39, EngineLaneConfig(width=1), 200),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("read", r"(to_fp32|bits|read)_"),
            WaveGroup("first step", r"first"),
            WaveGroup("second step", r"second"),
            WaveGroup("write", r"(from_fp32|write)"),
            OUTPUT,
        ),
    ),
)
