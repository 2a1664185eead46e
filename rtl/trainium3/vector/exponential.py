"""VectorE's exponential: exp(src - max_value), several elements a cycle, with their running sum.

Ref: ``nki.isa.exponential`` reference page, NKI 0.5; "Trainium3 Architecture Guide for NKI". The algorithm is that of
``ExponentialNumerics``.
"""

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.common.fp32.fp32_add import Fp32Add
from bitpath.rtl.common.fp32.fp32_result import Fp32Result
from bitpath.rtl.common.fp32.fp32_to_bf16 import Fp32ToBf16
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
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
"""After which steps before the sum the register ranks stand, by their number."""


class Reduce(enum.Enum, shape=2):
    """What a beat does to the accumulator."""

    IDLE = 0  # nothing; the instruction leaves it undefined
    RESET_REDUCE = 1  # its elements are added onto 0
    REDUCE = 2  # onto what is there
    LOAD_REDUCE = 3  # onto ``init``


def control_layout(config: ExponentialConfig) -> data.StructLayout:
    """What a beat is to become: ``bf16`` is the destination's format, else FP32; elements from ``count`` on are not
    added; ``last`` goes through."""
    return data.StructLayout(
        {"reduce": Reduce, "init": FP32.width, "count": range(config.width + 1), "bf16": 1, "last": 1}
    )


def beat_layout(config: ExponentialConfig) -> data.StructLayout:
    """Elements of a row, and its maximum."""
    return data.StructLayout(
        {
            "elements": data.ArrayLayout(FP32.width, config.width),
            "max_value": FP32.width,
            "source": Source,
            "control": control_layout(config),
        }
    )


def result_layout(config: ExponentialConfig) -> data.StructLayout:
    """Powers, FP32 or BF16 above 16 zeros; and the accumulator with this beat in it."""
    return data.StructLayout({"powers": data.ArrayLayout(FP32.width, config.width), "sum": FP32.width, "last": 1})


class Exponential(wiring.Component):
    """A lane: a beat of ``width`` elements a cycle, added in order to the accumulator, each addition rounded to FP32.

    A row of several beats begins with RESET_REDUCE or LOAD_REDUCE, or with REDUCE where it goes on with what is there,
    and its other beats are REDUCE. The row's sum is that of its last beat.

    Steps: difference, argument, power, result, sum; the sum always has a rank. With ``stages`` ranks before it a result
    appears ``stages + 1`` cycles after its beat, one a cycle; all ranks stand still while a result waits.

    Parameters
    ----------
    config : width, numerics and pipeline.

    Members
    -------
    i : In(stream of beat_layout)
    o : Out(stream of result_layout)
    """

    def __init__(self, config: ExponentialConfig):
        self.config = config
        super().__init__(
            {"i": In(stream.Signature(beat_layout(config))), "o": Out(stream.Signature(result_layout(config)))}
        )

    @property
    def latency(self) -> int:
        """Cycles from a beat to its result."""
        return self.config.pipeline.stages + 1

    def elaborate(self, platform):
        m = Module()
        numerics, width = self.config.numerics, self.config.width
        registers = PipelineRegisters(
            m, (*STEPS[self.config.pipeline.stages], "sum"), valid=self.i.valid, ready=self.o.ready
        )
        # Every element has signals of its own: as one wide word, each of them would wake all others in a simulator.
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
            # Overflow is the rounder's to find.
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
        """The accumulator after a beat: a chain of as many additions as there are elements."""
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
