"""QuantizeMX on a group of VectorE's lanes: one block of 8 partitions by 4 elements a cycle.

    scale   = max(E - offset, 0)                   E: largest biased FP32 exponent of the block
    code[k] = rounded(element[k] / 2**(scale - 127))   offset: emax of the element format; FP8's less 1 with NKI05

Ref: ``nki.isa.quantize_mx`` reference page, NKI 0.3 (rule "ocp") and 0.5 (rule "nki05"); OCP Microscaling Formats (MX)
1.0, section 6.3.
"""

from amaranth import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from bitpath.golden.formats.catalogue import BF16, E2M1, E4M3FN, E8M0, FP32
from bitpath.golden.trainium3.declarations.quad_mx import SCALE_PARTITIONS, X4
from bitpath.rtl.common.arithmetic.max_exponent import MaxExponent
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.trainium3.faults import Fault, taken_if_legal
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
"""Steps that end in a pipeline register, by ``stages``."""
BLOCK = SCALE_PARTITIONS * X4
"""Elements that share one scale."""


class Rule(enum.Enum, shape=1):
    """Rule that derives a block's scale from its largest exponent; see ``ScaleRule`` of the declarations."""

    OCP = 0
    NKI05 = 1


class MxControl(data.Struct):
    """Control of a block, whose ``source`` and ``element`` index ``SOURCES`` and ``ELEMENTS``."""

    source: 1
    element: range(len(ELEMENTS))
    rule: Rule


class MxBeat(data.Struct):
    """A block with element i of partition p at ``elements[4 * p + i]``, and its control."""

    elements: data.ArrayLayout(BF16.width, BLOCK)
    control: MxControl


class MxQuantized(data.Struct):
    """Codes of a block and their scale; partition p has the x4 word at ``4 * p``, element 0 lowest.

    E2M1's x4 word has 16 bits: it takes the lower two of the partition's four bytes, and the others are 0.
    """

    codes: data.ArrayLayout(E4M3FN.width, BLOCK)
    scale: E8M0.width


class QuantizeMx(wiring.Component):
    """Quantises a block to MXFP8 or MXFP4: normalise, find the largest exponent, derive the scale, divide and round.

    Latency is ``stages`` cycles, 0 to 4; throughput is one block a cycle. A stall of ``o`` holds the whole pipeline.

    Parameters
    ----------
    config : pipeline, and whether controls are checked.

    Members
    -------
    i : In(stream of MxBeat)
    o : Out(stream of MxQuantized)
    fault : Out(Fault), DTYPE in the cycle in which a block of an element format that there is not is taken; nothing comes of it
    """

    def __init__(self, config: QuantizeMxConfig):
        self.config = config
        super().__init__(
            {"i": In(stream.Signature(MxBeat)), "o": Out(stream.Signature(MxQuantized)), "fault": Out(Fault)}
        )

    @property
    def clocked(self) -> bool:
        """True if the component has registers."""
        return self.config.pipeline.stages > 0

    def elaborate(self, platform):
        m = Module()
        wrong: Value = Value.cast(Fault.NONE)
        if self.config.checks:
            wrong = Mux(Value.cast(self.i.p.control.element) >= len(ELEMENTS), Fault.DTYPE, Fault.NONE)
        valid = taken_if_legal(m, self.i, self.fault, wrong)
        registers = PipelineRegisters(m, STEPS[self.config.pipeline.stages], valid=valid, ready=self.o.ready)

        # Separate signals for each element: a change in one wide word would make a simulator evaluate all elements.
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

        fp4 = Signal()
        offset = Signal(range(max(fmt.emax for fmt in ELEMENTS) + 1))
        scale = Signal(E8M0.width)
        m.d.comb += [
            fp4.eq(control.element >= ELEMENTS.index(E2M1)),
            offset.eq(Array(fmt.emax for fmt in ELEMENTS)[control.element] - ((control.rule == Rule.NKI05) & ~fp4)),
            scale.eq(Mux(largest > offset, largest - offset, 0)),
        ]
        scale, element, *held = registers.hold("scale", scale=scale, element=control.element, **numbers)

        codes = {}
        for k in range(BLOCK):
            code = instantiate(m, platform, f"code_{k}", MxCode)
            m.d.comb += [code.i.eq(held[k]), code.scale.eq(scale), code.element.eq(element)]
            codes[f"code_{k}"] = code.o
        is_fp4 = element >= ELEMENTS.index(E2M1)
        words = {
            f"word_{p}": self._word(m, p, is_fp4, [codes[f"code_{X4 * p + i}"] for i in range(X4)])
            for p in range(BLOCK // X4)
        }
        scale, *held = registers.hold("codes", scale=scale, **words)
        m.d.comb += [
            self.o.p.eq(Cat(*held, scale)),
            self.o.valid.eq(registers.valid),
            self.i.ready.eq(registers.finish()),
        ]
        return m

    def _word(self, m: Module, p: int, is_fp4: Value, codes: list[Value]) -> Signal:
        """Partition p's x4 word: four bytes, or four half bytes below zeros."""
        word = Signal(X4 * E4M3FN.width, name=f"word_{p}")
        m.d.comb += word.eq(Mux(is_fp4, Cat(code[: E2M1.width] for code in codes), Cat(codes)))
        return word
