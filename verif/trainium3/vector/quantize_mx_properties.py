"""Elements of Quantize-MX: at most half a unit of error, saturation to exactly the largest code, and stable codes."""

from itertools import product

from amaranth import Cat, Mux, Signal, Value, signed

from bitpath.golden.formats.catalogue import BF16, E2M1, FP32, FloatFormat
from bitpath.golden.trainium3.declarations.quad_mx import X4
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.trainium3.vector.quantize_mx import (
    BLOCK,
    ELEMENTS,
    SOURCES,
    MxCode,
    MxSource,
    QuantizeMx,
    QuantizeMxConfig,
    Rule,
)
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Properties
from bitpath.verif.formal.specification import fields, float_code, leading_place, within_half

PROPERTIES = Properties("trainium3/vector")
_EXPONENT = ("number.exponent - self.scale", "number.exponent - (self.scale | 1)")


def _element(claim: Claim, source: FloatFormat, fmt: FloatFormat, name: str, **inputs: Value) -> tuple:
    """A source code on its way to an element's: both components."""
    first = claim.instantiate(f"{name}_source", MxSource(), source=SOURCES.index(source), **inputs)
    scale = {} if name == "first" else {"scale": claim.inputs["first_code__scale"]}
    second = claim.instantiate(f"{name}_code", MxCode(), i=first.o, element=ELEMENTS.index(fmt), **scale)
    return first, second


@PROPERTIES.of(
    "mx_code",
    "mx_code_{source.name}_{fmt.name}",
    "{source.name} by any scale to {fmt.name}: one rounding to even; exactly the largest code beyond the range",
    _EXPONENT,
    "source, fmt",
    product(SOURCES, ELEMENTS),
)
def element_code(claim: Claim, source: FloatFormat, fmt: FloatFormat) -> None:
    first, second = _element(claim, source, fmt, "first")
    code = first.code
    significand, biased = fields(claim, code, source, "x")
    special = code[source.fraction_bits : -1].all()
    nan = special & code[: source.fraction_bits].any()
    weight = claim.value(
        biased - (source.bias + source.fraction_bits) - (second.scale - FP32.bias), "weight", signed(11)
    )
    spec = float_code(claim, significand, weight, fmt, "spec")
    finite = claim.value(Mux(special | (spec > fmt.max_code), fmt.max_code, spec), "finite", fmt.width - 1)
    claim.ensure(second.o == Mux(nan, fmt.max_code if fmt.nan_code is None else fmt.nan_code, Cat(finite, code[-1])))


@PROPERTIES.of(
    "mx_code",
    "mx_code_half_unit_{source.name}_{fmt.name}",
    "{source.name} to {fmt.name}: no more than half a unit from a quotient of 2**-48 and more, below saturation",
    ("number.significand[discarded - 1]", "number.significand[discarded]"),
    "source, fmt",
    product(SOURCES, ELEMENTS),
)
def half_unit(claim: Claim, source: FloatFormat, fmt: FloatFormat) -> None:
    first, second = _element(claim, source, fmt, "first")
    significand, biased = fields(claim, first.code, source, "x")
    # Both on a grid on which the smallest quotient looked at has its last place: smaller ones are no more than that.
    grid = 48
    places = biased + FP32.bias - second.scale - (source.bias + source.fraction_bits) + grid
    shift = claim.value(places, "places", signed(12))
    claim.assume(first.code[source.fraction_bits : -1] != source.exponent_mask, shift >= 0, shift < 64)
    within_half(claim, claim.value(significand << shift[:6], "x"), second.o[: fmt.width], fmt, grid)
    claim.ensure(second.o[fmt.width - 1] == first.code[-1])


def _element_value(claim: Claim, code: Value, scale: Value, fmt: FloatFormat, name: str) -> Value:
    """The BF16 code of a finite element code under a scale, where that is a normal number or 0."""
    got, field = fields(claim, code, fmt, f"{name}_of")
    place = leading_place(claim, got, f"{name}_place")
    exponent = field + place - (fmt.bias + fmt.fraction_bits) + scale
    fraction = claim.value((got << BF16.fraction_bits) >> place, f"{name}_fraction")[: BF16.fraction_bits]
    value = Mux(got == 0, 0, Cat(fraction, claim.value(exponent, f"{name}_exponent", BF16.exponent_bits)))
    return Cat(claim.value(value, name, BF16.width - 1), code[fmt.width - 1])


@PROPERTIES.of(
    "mx_code",
    "mx_code_again_{fmt.name}",
    "{fmt.name}: an element's value under the OCP scale, above {above}, of any largest exponent: "
    "the same code and exponent again",
    _EXPONENT,
    "fmt, above",
    [(fmt, fmt.bias + fmt.fraction_bits) for fmt in ELEMENTS],
)
def element_again(claim: Claim, fmt: FloatFormat) -> None:
    first, second = _element(claim, BF16, fmt, "first")
    scale = second.scale
    largest = claim.free("largest", FP32.exponent_bits)
    claim.assume(first.code[BF16.fraction_bits : -1] != BF16.exponent_mask, first.field <= largest, largest < 255)
    claim.assume(scale == Mux(largest > fmt.emax, largest - fmt.emax, 0))
    # Where the smallest subnormal code's value is a normal number of BF16.
    claim.assume(scale > fmt.bias + fmt.fraction_bits)
    again, code = _element(claim, BF16, fmt, "again", code=_element_value(claim, second.o, scale, fmt, "value"))
    claim.ensure(code.o == second.o, again.field <= largest, (first.field != largest) | (again.field == largest))


def _fp32_field(claim: Claim, code: Value, source: FloatFormat, name: str) -> Signal:
    """The exponent field that a code's value has in FP32."""
    significand, biased = fields(claim, code, source, name)
    place = leading_place(claim, significand, f"{name}_place")
    exponent = claim.value(biased + place - (source.bias + source.fraction_bits) + FP32.bias, f"{name}_exponent")
    field = Mux((significand == 0) | (exponent < 0), 0, exponent)
    special = code[source.fraction_bits : -1].all()
    return claim.value(Mux(special, FP32.exponent_mask, field), f"{name}_field", FP32.exponent_bits)


@PROPERTIES.of(
    "quantize_mx",
    "quantize_mx_block",
    "any block, either source, element and rule: the scale of its largest exponent; each code is mx_code's of its element under it",
    ("largest > offset, largest - offset", "largest > offset, largest - offset - 1"),
)
def block(claim: Claim) -> None:
    dut = claim.instantiate(
        "dut", QuantizeMx(QuantizeMxConfig(pipeline=PipelineConfig(stages=0))), i__valid=1, o__ready=1
    )
    control, scale = dut.i.p.control, dut.o.p.scale
    claim.assume(control.element < len(ELEMENTS))
    fp4 = control.element == ELEMENTS.index(E2M1)
    emax = Mux(fp4, E2M1.emax, Mux(control.element == 0, ELEMENTS[0].emax, ELEMENTS[1].emax))
    # What the scale has as the largest exponent: none is above it, and one is there unless the scale stops at 0.
    largest = claim.value(scale + emax - ((control.rule == Rule.NKI05) & ~fp4), "largest")
    reached = []
    for k in range(BLOCK):
        code = dut.i.p.elements[k]
        fields = [_fp32_field(claim, code, source, f"{source.name}_{k}".lower()) for source in SOURCES]
        field = claim.value(Mux(control.source, fields[1], fields[0]), f"field_{k}")
        reached.append(field == largest)
        first = claim.instantiate(f"source_{k}", MxSource(), source=control.source, code=code)
        second = claim.instantiate(f"code_{k}", MxCode(), i=first.o, element=control.element, scale=scale)
        partition, place = divmod(k, X4)
        word = Cat(dut.o.p.codes[X4 * partition + byte] for byte in range(X4))
        half = word.word_select(place, E2M1.width)
        claim.ensure(field <= largest, Mux(fp4, half, dut.o.p.codes[k]) == second.o)
        if place >= X4 // 2:
            claim.ensure(~fp4 | (dut.o.p.codes[k] == 0))
    claim.ensure((scale == 0) | Cat(reached).any())
