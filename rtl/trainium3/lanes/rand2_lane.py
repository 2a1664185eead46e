"""rand2 of a VectorE lane: random words to uniform numbers between two limits, and their cast.

    width      high - low
    number     low + width * u, where u = (word >> 8) * 2**-24 is exact
    element    the number as the result's dtype

Each of the three operations is rounded to FP32, to nearest even; a number can round up to ``high``.

Ref: ``nki.isa.rand2`` reference page, NKI 0.6. Points that it leaves open are in
`bitpath.golden.trainium3.declarations.vector.CHOICES`.
"""

from dataclasses import dataclass, field

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.trainium3.declarations.vector import XORWOW_STATES
from bitpath.rtl.common.arithmetic.decode import raw_sum
from bitpath.rtl.common.config import PipelineConfig, UnitConfig, power_of_two
from bitpath.rtl.common.fp32.fp32_arithmetic import Fp32Add, Fp32Multiply, Fp32Result
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup, registered
from bitpath.rtl.trainium3.dma.dma_cast import WIDTHS, FromFp32, is_unknown, log_bytes
from bitpath.rtl.trainium3.dma.dtype import Dtype
from bitpath.rtl.trainium3.faults import Fault, taken_if_legal
from bitpath.rtl.trainium3.vector.xorwow import WORD_BITS


@dataclass(frozen=True, kw_only=True)
class Rand2Config(UnitConfig, unit="rand2_lane"):
    """Configuration of a lane of rand2.

    Attributes
    ----------
    width : elements a cycle, 1, 2 or 4; the machine's lane makes 4.
    pipeline : pipeline stages, 0 to 4.
    checks : whether dtypes are checked; without it they must be right.
    """

    width: int = power_of_two(1, XORWOW_STATES, XORWOW_STATES)
    pipeline: PipelineConfig = field(default_factory=lambda: PipelineConfig(stages=4))
    checks: bool = True


STEPS = {
    0: (),
    1: ("product",),
    2: ("width", "product"),
    3: ("width", "product", "sum"),
    4: ("width", "product", "sum", "elements"),
}
"""Steps that end in a pipeline register, by ``stages``."""
UNIFORM_BITS = 24
"""Upper bits of a word that make its number."""


def rand2_beat(config: Rand2Config) -> data.StructLayout:
    """Layout of a beat: a word of each of as many states, the limits, FP32, and the dtype of the results."""
    words = data.ArrayLayout(WORD_BITS, config.width)
    return data.StructLayout({"words": words, "low": FP32.width, "high": FP32.width, "dtype": Dtype})


class Rand2Lane(wiring.Component):
    """As many elements a cycle as it has words: element j comes from word j. They lie in the low bytes, packed, with zeros above.

    Latency is ``stages`` cycles, 0 to 4. A stall of ``o`` holds the whole pipeline.

    Parameters
    ----------
    config : width, pipeline, and whether dtypes are checked.

    Members
    -------
    i : In(stream of rand2_beat)
    o : Out(stream of 32 bits for each word)
    fault : Out(Fault), DTYPE in the cycle in which a beat of an unknown dtype is taken; nothing comes of it
    """

    def __init__(self, config: Rand2Config):
        self.config = config
        beat, elements = rand2_beat(config), config.width * FP32.width
        super().__init__({"i": In(stream.Signature(beat)), "o": Out(stream.Signature(elements)), "fault": Out(Fault)})

    @property
    def clocked(self) -> bool:
        """True if the component has registers."""
        return self.config.pipeline.stages > 0

    def elaborate(self, platform):
        m = Module()
        wrong: Value = Value.cast(Fault.NONE)
        if self.config.checks:
            wrong = Mux(is_unknown(self.i.p.dtype), Fault.DTYPE, wrong)
        valid = taken_if_legal(m, self.i, self.fault, wrong)
        registers = PipelineRegisters(m, STEPS[self.config.pipeline.stages], valid=valid, ready=self.o.ready)
        low, dtype, lanes = self.i.p.low, self.i.p.dtype, range(self.config.width)
        subtract = instantiate(m, platform, "subtract", Fp32Add)
        m.d.comb += [subtract.a.eq(self.i.p.high), subtract.b.eq(Cat(low[:-1], ~low[-1]))]
        words = {f"word_{j}": self.i.p.words[j][WORD_BITS - UNIFORM_BITS :] for j in lanes}
        width, low, dtype, *words = registers.hold("width", width=subtract.o, low=low, dtype=dtype, **words)

        products = {}
        for j in lanes:
            exact = Signal(raw_sum(UNIFORM_BITS, FP32.exponent_bits), name=f"exact_{j}")
            uniform = instantiate(m, platform, f"uniform_{j}", Fp32Result, exact.shape())
            multiply = instantiate(m, platform, f"multiply_{j}", Fp32Multiply)
            m.d.comb += [
                exact.magnitude.eq(words[j]),
                exact.exponent.eq(-UNIFORM_BITS),
                uniform.i.eq(exact),
                multiply.a.eq(width),
                multiply.b.eq(uniform.o),
            ]
            products[f"product_{j}"] = multiply.o
        low, dtype, *products = registers.hold("product", low=low, dtype=dtype, **products)

        sums = {}
        for j in lanes:
            add = instantiate(m, platform, f"add_{j}", Fp32Add)
            m.d.comb += [add.a.eq(low), add.b.eq(products[j])]
            sums[f"sum_{j}"] = add.o
        dtype, *sums = registers.hold("sum", dtype=dtype, **sums)

        elements = []
        for j in lanes:
            cast = instantiate(m, platform, f"from_fp32_{j}", FromFp32, FP32.width)
            m.d.comb += [cast.i.eq(sums[j]), cast.dtype.eq(dtype)]
            elements.append(cast.o)
        packed = Signal(self.o.p.shape())
        with m.Switch(log_bytes(dtype)):
            for log, bits in enumerate(WIDTHS):
                with m.Case(log):
                    m.d.comb += packed.eq(Cat(each[:bits] for each in elements))
        (out,) = registers.hold("elements", packed=packed)
        m.d.comb += [
            self.o.p.eq(out),
            self.o.valid.eq(registers.valid),
            self.i.ready.eq(registers.finish()),
        ]
        return m


RECORDS = (
    Unit(
        name="rand2_lane",
        config_type=Rand2Config,
        build=Rand2Lane,
        summary="Trainium3: random words of a VectorE lane to uniform numbers of any dtype",
        covered=Covered(Rand2Config(pipeline=registered(4)), 300),
        judges=(Judge(50, Rand2Config(), 200),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("first word", r"(exact|uniform|multiply|add|from_fp32)_0"),
            WaveGroup("width", r"(subtract|width)"),
            WaveGroup("products and sums", r"(word|uniform|multiply|product|add|sum)"),
            WaveGroup("elements", r"(from_fp32|packed|elements)"),
            OUTPUT,
        ),
    ),
)
