"""A group of VectorE's lanes as QuantizeMX uses them: a block of 8 partitions by 4 elements a cycle.

Ref: ``nki.isa.quantize_mx`` reference page, NKI 0.3 (rule "ocp") and 0.5 (rule "nki05"); OCP Microscaling Formats (MX)
1.0, section 6.3.
"""

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, E4M3FN, E8M0, FP32
from bitpath.golden.trainium3.declarations.quad_mx import SCALE_PARTITIONS, X4
from bitpath.rtl.common.arithmetic.max_exponent import MaxExponent
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.vector.config import QuantizeMxConfig
from bitpath.rtl.trainium3.vector.mx_code import ELEMENTS, MxCode
from bitpath.rtl.trainium3.vector.mx_source import MxSource

STEPS = {
    0: (),
    1: ("scale",),
    2: ("numbers", "scale"),
    3: ("numbers", "scale", "codes"),
    4: ("numbers", "largest", "scale", "codes"),
}
"""After which steps the register ranks stand, by their number."""
BLOCK = SCALE_PARTITIONS * X4
"""Elements that share a scale."""


class Rule(enum.Enum, shape=1):
    """How a block's scale follows from its largest exponent; see ``golden.spec.trainium3.ScaleRule``."""

    OCP = 0
    NKI05 = 1


class MxControl(data.Struct):
    """What is to become of a block; ``source`` and ``element`` are indices into ``SOURCES`` and ``ELEMENTS``."""

    source: 1
    element: 1
    rule: Rule


class MxBeat(data.Struct):
    """A block, element i of partition p at ``elements[4 * p + i]``, and what is to become of it."""

    elements: data.ArrayLayout(BF16.width, BLOCK)
    control: MxControl


class MxQuantized(data.Struct):
    """The block's codes, those of partition p as the x4 word at 4 * p, element 0 lowest; and their scale."""

    codes: data.ArrayLayout(E4M3FN.width, BLOCK)
    scale: E8M0.width


class QuantizeMx(wiring.Component):
    """Scale code ``max(E - offset, 0)``, with E the largest biased FP32 exponent of the block and offset the element's
    largest exponent, one less under NKI05; every element is divided by the scale that is stored.

    Steps: numbers, largest exponent, scale, codes. With ``stages`` register ranks a block appears that many cycles after
    its beat, one a cycle; all ranks stand still while it waits.

    Parameters
    ----------
    config : pipeline.

    Members
    -------
    i : In(stream of MxBeat)
    o : Out(stream of MxQuantized)
    """

    def __init__(self, config: QuantizeMxConfig):
        self.config = config
        super().__init__({"i": In(stream.Signature(MxBeat)), "o": Out(stream.Signature(MxQuantized))})

    @property
    def clocked(self) -> bool:
        """Whether there is a register in it."""
        return self.config.pipeline.stages > 0

    def elaborate(self, platform):
        m = Module()
        registers = PipelineRegisters(m, STEPS[self.config.pipeline.stages], valid=self.i.valid, ready=self.o.ready)

        # Every element has signals of its own: as one wide word, each of them would wake all others in a simulator.
        numbers, fields = {}, {}
        for k in range(BLOCK):
            source = instantiate(m, platform, f"source_{k}", MxSource)
            m.d.comb += [source.code.eq(self.i.p.elements[k]), source.source.eq(self.i.p.control.source)]
            numbers[f"number_{k}"] = source.o
            fields[f"field_{k}"] = source.field
        control, *held = registers.hold("numbers", control=self.i.p.control, **numbers, **fields)
        numbers = dict(zip(numbers, held, strict=False))

        maximum = instantiate(m, platform, "maximum", MaxExponent, BLOCK, FP32.exponent_bits)
        m.d.comb += maximum.i.eq(Cat(held[BLOCK:]))
        largest, control, *held = registers.hold("largest", largest=maximum.o, control=control, **numbers)
        numbers = dict(zip(numbers, held, strict=True))

        offset = Signal(range(max(fmt.emax for fmt in ELEMENTS) + 1))
        scale = Signal(E8M0.width)
        m.d.comb += [
            offset.eq(Array(fmt.emax for fmt in ELEMENTS)[control.element] - (control.rule == Rule.NKI05)),
            scale.eq(Mux(largest > offset, largest - offset, 0)),
        ]
        scale, element, *held = registers.hold("scale", scale=scale, element=control.element, **numbers)

        codes = {}
        for k in range(BLOCK):
            code = instantiate(m, platform, f"code_{k}", MxCode)
            m.d.comb += [code.i.eq(held[k]), code.scale.eq(scale), code.element.eq(element)]
            codes[f"code_{k}"] = code.o
        scale, *held = registers.hold("codes", scale=scale, **codes)
        m.d.comb += [
            self.o.p.eq(Cat(*held, scale)),
            self.o.valid.eq(registers.valid),
            self.i.ready.eq(registers.finish()),
        ]
        return m
