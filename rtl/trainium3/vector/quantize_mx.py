"""QuantizeMX on a group of VectorE's lanes: one block of 8 partitions by 4 elements a cycle.

    scale   = max(E - offset, 0)                   E: largest biased FP32 exponent of the block
    code[k] = rounded(element[k] / 2**(scale - 127))   offset: emax of the element format; FP8's less 1 with NKI05

Ref: ``nki.isa.quantize_mx`` reference page, NKI 0.3 (rule "ocp") and 0.5 (rule "nki05"); OCP Microscaling Formats (MX)
1.0, section 6.3.
"""

from dataclasses import dataclass, field

from amaranth import Array, Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from bitpath.golden.formats.catalogue import BF16, E2M1, E4M3FN, E5M2, E8M0, FP16, FP32, Rounding
from bitpath.golden.trainium3.declarations.quad_mx import SCALE_PARTITIONS, X4
from bitpath.rtl.common.arithmetic.align import MaxExponent
from bitpath.rtl.common.arithmetic.decode import SPECIAL, Decode, normal_sum, raw_sum
from bitpath.rtl.common.arithmetic.normalize import Normalize
from bitpath.rtl.common.arithmetic.round import Round
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.common.pipeline.pipeline_registers import PipelineRegisters
from bitpath.rtl.common.pipeline.shared_instances import instantiate
from bitpath.rtl.common.unit import CLOCK, INPUTS, OUTPUT, Covered, Judge, Unit, WaveGroup, registered
from bitpath.rtl.trainium3.faults import Fault, taken_if_legal


@dataclass(frozen=True, kw_only=True)
class QuantizeMxConfig:
    """Configuration of a QuantizeMX block.

    Attributes
    ----------
    pipeline : pipeline stages, 0 to 4.
    checks : whether controls are checked; without it they must be right.
    """

    pipeline: PipelineConfig = field(default_factory=lambda: PipelineConfig(stages=2))
    checks: bool = True


# Normalisation of BF16 and FP16 elements for a block.


SOURCES = (BF16, FP16)
"""Formats of the elements, in the order of their index."""
PRECISION = max(fmt.precision for fmt in SOURCES)
"""Significand bits of a normalised element."""
EXPONENT_WIDTH = bits_for(FP32.exponent_mask) + 1
"""Bits of a signed exponent with FP32's bias; normalised BF16 subnormals have a few below 0."""

MX_NUMBER = data.StructLayout({"normal": normal_sum(PRECISION, EXPONENT_WIDTH + 1), "special": SPECIAL})
"""Layout of an element: normalised with FP32's bias, and its special value."""


class MxSource(wiring.Component):
    """Combinational normalisation of a code, with the exponent field of its value in FP32.

    FP16's subnormals are normal in FP32. BF16's are subnormal, so their field is 0 like that of zero. Infinity and NaN
    have 255.

    Members
    -------
    code : In(16)
    source : In(1), index into :data:`SOURCES`
    o : Out(MX_NUMBER)
    field : Out(8)
    """

    clocked = False
    apart = True
    code: In(BF16.width)
    source: In(1)
    o: Out(MX_NUMBER)
    field: Out(FP32.exponent_bits)

    def elaborate(self, platform):
        m = Module()
        decode = instantiate(m, platform, "decode", Decode, SOURCES)
        number = decode.o
        total = Signal(raw_sum(PRECISION, EXPONENT_WIDTH))
        normalize = instantiate(m, platform, "normalize", Normalize, total.shape(), PRECISION)
        special = number.inf | number.nan
        exponent = normalize.o.exponent
        m.d.comb += [
            decode.code.eq(self.code),
            decode.format.eq(self.source),
            total.magnitude.eq(number.significand),
            # Exponent of the lowest bit; the decoder's bias is FP32's.
            total.exponent.eq(number.exponent - (PRECISION - 1)),
            total.sign.eq(number.sign),
            normalize.i.eq(total),
            self.o.normal.eq(normalize.o),
            self.o.special.sign.eq(number.sign),
            self.o.special.inf.eq(number.inf),
            self.o.special.nan.eq(number.nan),
            self.field.eq(Mux(special, FP32.exponent_mask, Mux(normalize.o.zero | (exponent < 0), 0, exponent))),
        ]
        return m


# FP8 or FP4 code of a normalised element and its block's scale.
#
# Ref: ``nki.isa.quantize_mx`` reference page; OCP 8-bit Floating Point Specification (OFP8) 1.0; OCP Microscaling Formats (MX)
# 1.0, section 5.3.3.


ELEMENTS = (E4M3FN, E5M2, E2M1)
"""Formats of the codes, in the order of their index; an index of 3 names none."""
BEYOND = 1 << (EXPONENT_WIDTH - 1)
"""Exponent of an infinity, above every format's range, so that it saturates."""


class MxCode(wiring.Component):
    """Combinational ``o = element(i / 2**(scale - 127))``, rounded once to nearest even and saturated.

    Infinity saturates too; NaN becomes the format's NaN, or +6 in E2M1, which has none. Division by a power of two keeps the
    significand, so only the code is rounded.

    Members
    -------
    i : In(MX_NUMBER)
    scale : In(8), E8M0
    element : In(2), index into :data:`ELEMENTS`
    o : Out(8); the upper four bits of an E2M1 code are 0
    """

    clocked = False
    apart = True
    i: In(MX_NUMBER)
    scale: In(E8M0.width)
    element: In(range(len(ELEMENTS)))
    o: Out(E4M3FN.width)

    def elaborate(self, platform):
        m = Module()
        number = self.i.normal
        # Unbiased exponent of the quotient, since both biases are equal; one bit more than EXPONENT_WIDTH for BEYOND.
        exponent = Signal(signed(EXPONENT_WIDTH + 1))
        m.d.comb += exponent.eq(Mux(self.i.special.inf, BEYOND, number.exponent - self.scale))
        codes = []
        for fmt in ELEMENTS:
            normal = Signal(normal_sum(fmt.precision, len(exponent)), name=f"normal_{fmt.name.lower()}")
            discarded = len(number.significand) - fmt.precision
            rounder = instantiate(
                m,
                platform,
                f"round_{fmt.name.lower()}",
                Round,
                normal.shape(),
                fmt,
                rounding=Rounding.RNE,
                subnormals=True,
                overflow_to_infinity=False,
                container=fmt,
            )
            m.d.comb += [
                normal.significand.eq(number.significand[discarded:]),
                normal.guard.eq(number.significand[discarded - 1]),
                # The element's own guard and sticky bits are 0: its significand is exact.
                normal.sticky.eq(number.significand[: discarded - 1].any()),
                normal.exponent.eq(exponent),
                normal.sign.eq(number.sign),
                normal.zero.eq(number.zero),
                rounder.i.eq(normal),
                rounder.special.sign.eq(self.i.special.sign),
                rounder.special.inf.eq(0),
                rounder.special.nan.eq(self.i.special.nan),
            ]
            codes.append(rounder.o)
        m.d.comb += self.o.eq(Array(codes)[self.element])
        return m


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


RECORDS = (
    Unit(
        name="quantize_mx",
        config_type=QuantizeMxConfig,
        build=QuantizeMx,
        summary="Trainium3: 8 partitions x 4 elements to an MXFP8 block a cycle",
        covered=Covered(QuantizeMxConfig(pipeline=registered(2)), 500),
        judges=(Judge(16, QuantizeMxConfig()),),
        waves=(
            CLOCK,
            INPUTS,
            WaveGroup("first element", r"(source_0|code_0)\."),
            WaveGroup("largest exponent and scale", r"(maximum|offset|(largest|scale)(?!_number))"),
            WaveGroup("numbers", r"(source|numbers|largest|scale)_"),
            WaveGroup("codes", r"code"),
            OUTPUT,
        ),
    ),
)
