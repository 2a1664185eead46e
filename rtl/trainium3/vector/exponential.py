"""VectorE's exponential: exp(src - max_value) of several elements a cycle, with their running sum.

    difference   t = element - max_value, rounded to FP32
    argument     u = floor(|t| * log2(e)) on a fixed-point grid, inverted if t is negative
    power        y = 2**n * floor(T[i] * p(f)), with u = n + i * 2**-table_bits + f
    result       FP32, or BF16 above 16 zeros
    sum          accumulator + result, in the order of the elements

Ref: ``nki.isa.exponential`` reference page, NKI 0.5; "Trainium3 Architecture Guide for NKI". ``ExponentialNumerics``
defines the algorithm.
"""

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.fp32.fp32_add import Fp32Add
from bitpath.rtl.common.fp32.fp32_result import Fp32Result
from bitpath.rtl.common.fp32.fp32_to_bf16 import Fp32ToBf16
from bitpath.rtl.common.pipeline.faults import first_of
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.faults import Fault, taken_if_legal
from bitpath.rtl.trainium3.vector.config import ExponentialConfig
from bitpath.rtl.trainium3.vector.exponential_argument import ExponentialArgument
from bitpath.rtl.trainium3.vector.exponential_difference import ExponentialDifference, Source
from bitpath.rtl.trainium3.vector.exponential_power import ExponentialPower

STEPS = {
    0: (),
    1: ("power",),
    2: ("difference", "power"),
    3: ("difference", "argument", "power"),
    4: ("difference", "argument", "power", "result"),
}
"""Steps that end in a pipeline register, by ``stages``; ``sum`` always does."""


class Reduce(enum.Enum, shape=2):
    """Effect of a beat on the accumulator."""

    IDLE = 0  # no addition; the instruction leaves the accumulator undefined
    RESET_REDUCE = 1  # add the elements to 0
    REDUCE = 2  # add the elements to the accumulator
    LOAD_REDUCE = 3  # add the elements to ``init``


def control_layout(config: ExponentialConfig) -> data.StructLayout:
    """Layout of a beat's control: ``bf16`` chooses the destination's format, else FP32. The first ``count`` elements are
    added. ``last`` passes to the result."""
    return data.StructLayout(
        {"reduce": Reduce, "init": FP32.width, "count": range(config.width + 1), "bf16": 1, "last": 1}
    )


def beat_layout(config: ExponentialConfig) -> data.StructLayout:
    """Layout of a beat: elements of a row, and the row's maximum."""
    return data.StructLayout(
        {
            "elements": data.ArrayLayout(FP32.width, config.width),
            "max_value": FP32.width,
            "source": Source,
            "control": control_layout(config),
        }
    )


def result_layout(config: ExponentialConfig) -> data.StructLayout:
    """Layout of a result: powers, FP32 or BF16 above 16 zeros, and the accumulator after this beat."""
    return data.StructLayout({"powers": data.ArrayLayout(FP32.width, config.width), "sum": FP32.width, "last": 1})


class Exponential(wiring.Component):
    """A lane that adds the ``width`` elements of each beat to the accumulator in order, each sum rounded to FP32.

    A row's first beat is RESET_REDUCE or LOAD_REDUCE, or REDUCE to continue the present sum; its other beats are REDUCE.
    The row's sum is that of its last beat.

    Latency is ``stages + 1`` cycles; throughput is one beat a cycle. A stall of ``o`` holds the whole pipeline.

    Parameters
    ----------
    config : width, numerics and pipeline, and whether controls are checked.

    Members
    -------
    i : In(stream of beat_layout)
    o : Out(stream of result_layout)
    fault : Out(Fault), DTYPE or COUNT in the cycle in which a beat of no source, or of more elements than there are, is taken;
        nothing comes of it
    """

    def __init__(self, config: ExponentialConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(beat_layout(config))),
                "o": Out(stream.Signature(result_layout(config))),
                "fault": Out(Fault),
            }
        )

    @property
    def latency(self) -> int:
        """Cycles from a beat to its result."""
        return self.config.pipeline.stages + 1

    def elaborate(self, platform):
        m = Module()
        numerics, width = self.config.numerics, self.config.width
        wrong: Value = Value.cast(Fault.NONE)
        if self.config.checks:
            wrong = first_of(
                (~self.i.p.source.as_value().matches(*Source), Fault.DTYPE),
                (self.i.p.control.count > width, Fault.COUNT),
            )
        valid = taken_if_legal(m, self.i, self.fault, wrong)
        registers = PipelineRegisters(m, (*STEPS[self.config.pipeline.stages], "sum"), valid=valid, ready=self.o.ready)
        # Separate signals for each element: a change in one wide word would make a simulator evaluate all elements.
        differences = {}
        for k in range(width):
            difference = instantiate(m, platform, f"difference_{k}", ExponentialDifference)
            m.d.comb += [
                difference.i.eq(self.i.p.elements[k]),
                difference.source.eq(self.i.p.source),
                difference.max_value.eq(self.i.p.max_value),
            ]
            differences[f"t_{k}"] = difference.o
        control, *differences = registers.hold("difference", control=self.i.p.control, **differences)

        arguments = {}
        for k in range(width):
            argument = instantiate(m, platform, f"argument_{k}", ExponentialArgument, numerics)
            m.d.comb += argument.t.eq(differences[k])
            arguments |= {f"u_{k}": argument.o, f"nan_{k}": argument.nan}
        control, *arguments = registers.hold("argument", control=control, **arguments)

        powers = {}
        for k in range(width):
            power = instantiate(m, platform, f"power_{k}", ExponentialPower, numerics)
            m.d.comb += power.i.eq(arguments[2 * k])
            powers |= {f"y_{k}": power.o, f"y_nan_{k}": arguments[2 * k + 1]}
        control, *powers = registers.hold("power", control=control, **powers)

        results = {}
        for k in range(width):
            result = instantiate(m, platform, f"result_{k}", Fp32Result, powers[2 * k].shape())
            # The rounder detects overflow by itself.
            m.d.comb += [result.i.eq(powers[2 * k]), result.special.nan.eq(powers[2 * k + 1])]
            results[f"result_{k}"] = result.o
        control, *results = registers.hold("result", control=control, **results)

        stored = []
        for k in range(width):
            narrow = instantiate(m, platform, f"narrow_{k}", Fp32ToBf16)
            m.d.comb += [narrow.i.eq(results[k]), narrow.stochastic.eq(0), narrow.random.eq(0)]
            stored.append(Mux(control.bf16, narrow.o, results[k]))
        accumulator = Signal(FP32.width)
        total = self._add(m, platform, control, accumulator, results if numerics.sum_before_cast else stored)
        with m.If(registers.advance & registers.valid):
            m.d.sync += accumulator.eq(total)
        outputs = {f"stored_{k}": value for k, value in enumerate(stored)}
        total, last, *outputs = registers.hold("sum", total=total, last=control.last, **outputs)
        m.d.comb += [
            self.o.p.eq(Cat(*outputs, total, last)),
            self.o.valid.eq(registers.valid),
            self.i.ready.eq(registers.finish()),
        ]
        return m

    def _add(self, m: Module, platform, control, accumulator: Signal, terms: list) -> Signal:
        """Return the accumulator after a beat: a chain of ``width`` FP32 additions."""
        total = Signal(FP32.width, name="start")
        with m.Switch(control.reduce):
            with m.Case(Reduce.RESET_REDUCE):
                m.d.comb += total.eq(0)
            with m.Case(Reduce.LOAD_REDUCE):
                m.d.comb += total.eq(control.init)
            with m.Default():
                m.d.comb += total.eq(accumulator)
        for k, term in enumerate(terms):
            add = instantiate(m, platform, f"add_{k}", Fp32Add)
            after = Signal(FP32.width, name=f"total_{k}")
            takes = (control.reduce != Reduce.IDLE) & (control.count > k)
            m.d.comb += [add.a.eq(total), add.b.eq(term), after.eq(Mux(takes, add.o, total))]
            total = after
        return total
