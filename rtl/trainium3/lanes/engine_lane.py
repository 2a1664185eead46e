"""tensor_scalar and tensor_tensor of a lane of VectorE or ScalarE: one or two operators of elements of 13 dtypes.

    read      x, y and the second scalar to FP32; under bit operators their bits
    first     x operator y, y an element of another tensor or a scalar
    second    the first result operator a scalar, or the first result
    write     to the result's dtype; under bit operators the bits

Each operator is rounded to FP32, to nearest even. The bits do not depend on the engine nor on the elements a cycle.

Ref: ``nki.isa.tensor_scalar`` and ``nki.isa.tensor_tensor`` reference pages, NKI 0.6. Points that they leave open are in
`bitpath.golden.trainium3.declarations.engines.CHOICES`.
"""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.dma.dma_cast import WIDTHS, is_unknown, log_bytes
from bitpath.rtl.trainium3.dma.dtype import INTEGERS
from bitpath.rtl.trainium3.dma.from_fp32 import FromFp32
from bitpath.rtl.trainium3.dma.to_fp32 import ToFp32
from bitpath.rtl.trainium3.faults import Fault, taken_if_legal
from bitpath.rtl.trainium3.lanes.bit_operator import BitOperator
from bitpath.rtl.trainium3.lanes.config import EngineLaneConfig
from bitpath.rtl.trainium3.lanes.engine_control import (
    FIRST_BIT_OPERATOR,
    WORD_BITS,
    EngineControl,
    Operator,
    Step,
    engine_beat,
    engine_result,
)
from bitpath.rtl.trainium3.lanes.fp32_operator import Fp32Operator

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
    """Return what is wrong with an instruction; the second dtype is read if the second step is no bypass."""
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
