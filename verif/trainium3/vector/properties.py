"""Vector units: pipelines and streams, the exponential's table and power, elements of QuantizeMX; random numbers stay until they
are taken."""

from dataclasses import replace
from decimal import Decimal
from functools import partial
from itertools import product
from math import isqrt

from amaranth import Array, Cat, Const, Mux, Signal, Value, signed

from bitpath.golden.formats.catalogue import BF16, E2M1, FP32, FloatFormat
from bitpath.golden.trainium3.declarations.quad_mx import X4
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_EXPONENTIAL, ExponentialNumerics
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.trainium3.vector.exponential import (
    Exponential,
    ExponentialArgument,
    ExponentialConfig,
    ExponentialPower,
)
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
from bitpath.rtl.trainium3.vector.xorwow import Xorwow, XorwowConfig
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import (
    EARLY,
    STAGES,
    earlier,
    says_stages,
    stage_properties,
    staged,
    staged_stream_properties,
    stream_properties,
)
from bitpath.verif.formal.property import Properties, Sabotage
from bitpath.verif.formal.specification import fields, float_code, leading_place, long_multiplication, within_half

PROPERTIES = Properties(
    "trainium3/vector",
    *stage_properties("trainium3.quantize_mx", QuantizeMx, QuantizeMxConfig),
    *staged_stream_properties("trainium3.quantize_mx", QuantizeMx, QuantizeMxConfig),
    *stream_properties("trainium3.exponential", partial(Exponential, ExponentialConfig(width=1))),
)


@PROPERTIES.of(
    "exponential",
    "exponential_{stages}_stages",
    "{result}, its running sum that of the sum before it",
    EARLY,
    "stages, result, depth",
    # The register of the running sum follows the stages; a cycle more, for the sum before.
    [(stages, says_stages(stages + 1), stages + 2) for stages in (0, *STAGES)],
)
def summed_pipeline(claim: Claim, stages: int) -> None:
    """From any state, the output equals the combinational unit's for the request ``latency`` cycles ago and the sum before it.

    Requests have no fault: the sum before a refused one is not its own.
    """
    make, latency = partial(staged, Exponential, partial(ExponentialConfig, width=1), stages), stages + 1
    dut = claim.instantiate("dut", make(), i__valid=1, o__ready=1)
    request = earlier(claim, Value.cast(dut.i.p), latency, "request")
    flat = claim.instantiate(
        "flat", make(), wires=True, beside="accumulator", i__valid=1, o__ready=1, i__payload=request
    )
    claim.assume(claim.inside("flat", "accumulator") == claim.register(dut.o.p.sum, "sum_before"))
    claim.assume(Value.cast(dut.fault) == 0)
    claim.ensure(dut.o.valid, dut.i.ready, Value.cast(dut.o.p) == Value.cast(flat.o.p))


@PROPERTIES.of(
    "xorwow",
    "xorwow_numbers_stay",
    "a lane's numbers stay until they are taken, or its states loaded",
    ("(self.load.p.lane == index)", "1"),
    depth=1,
)
def numbers_stay(claim: Claim) -> None:
    """The property holds from any state."""
    dut = claim.instantiate("dut", Xorwow(XorwowConfig(lanes=2)))
    for lane in range(dut.config.lanes):
        changes = dut.random.ready | (dut.load.valid & (dut.load.p.lane == lane))
        numbers = Value.cast(dut.random.p[lane])
        before = claim.register(numbers, f"before_{lane}")
        claim.ensure(claim.register(changes, f"changes_{lane}") | (numbers == before))


_EXPONENTIAL = TRAINIUM3_EXPONENTIAL.numerics
_SMALL = replace(_EXPONENTIAL, fraction_bits=8, table_bits=2, log2e_bits=10, power_bits=12)


@PROPERTIES.of(
    "exponential_power",
    "exponential_table_{numerics.fraction_bits}",
    "{what}: powers of two to nearest, {numerics.fraction_bits} fraction bits",
    Sabotage(
        "trainium3/vector/exponential.py",
        "bit, factor in enumerate(roots)",
        "bit, factor in enumerate(roots[::-1])",
    ),
    "numerics, what",
    ((_SMALL, "small"), (_EXPONENTIAL, "real")),
)
def table(claim: Claim, numerics: ExponentialNumerics) -> None:
    """If the polynomial is 1, the output is the table's entry."""
    bits, table_bits = numerics.fraction_bits, numerics.table_bits
    dut = claim.instantiate("dut", ExponentialPower(numerics))
    claim.assume(dut.i[: bits - table_bits] == 0)
    entries = Array(_power(numerics, index) for index in range(1 << table_bits))
    entry = claim.value(entries[dut.i[bits - table_bits : bits]], "entry", bits + 1)
    claim.ensure(dut.o.magnitude == entry << bits - dut.dropped, ~dut.o.sign)
    claim.ensure(dut.o.exponent == (dut.i >> bits) - (2 * bits - dut.dropped))


@PROPERTIES.of(
    "exponential_power",
    "exponential_power_{numerics.fraction_bits}",
    "{what}: what the table has by the polynomial on {numerics.fraction_bits} fraction bits, three products {how}",
    ("entry * past_one", "entry * (past_one | 1)"),
    "numerics, what, how, by_hand",
    ((_SMALL, "small", "by hand", True), (_EXPONENTIAL, "real", "of the integers", False)),
)
def power(claim: Claim, numerics: ExponentialNumerics, by_hand: bool) -> None:
    """Steps 2 to 4 of the exponential, as ``ExponentialNumerics`` has them, with the table's entries."""

    def multiplied(a: Value, b: Value) -> Value:
        return long_multiplication(a, b) if by_hand else a * b

    bits, rest_bits = numerics.fraction_bits, numerics.fraction_bits - numerics.table_bits
    dut = claim.instantiate("dut", ExponentialPower(numerics))
    at_entry = claim.instantiate("at_entry", ExponentialPower(numerics), i=Cat(Const(0, rest_bits), dut.i[rest_bits:]))
    entry = claim.value(at_entry.o.magnitude >> bits - dut.dropped, "entry", bits + 1)
    linear = claim.value(multiplied(dut.i[:rest_bits], Const(_ln2(bits))) >> bits, "linear", rest_bits)
    past_one = claim.value(linear + (multiplied(linear, linear) >> bits + 1), "past_one", rest_bits + 1)
    value = claim.value((entry << bits) + multiplied(entry, past_one), "value", 2 * bits + 2)
    claim.ensure(dut.o.magnitude == value >> dut.dropped)


def _ln2(bits: int) -> int:
    """To nearest; 28 digits suffice."""
    return int((Decimal(2).ln() * (1 << bits)).to_integral_value())


def _power(numerics: ExponentialNumerics, index: int) -> int:
    """``2**(index * 2**-table_bits)`` to nearest: a power of two's root, with a bit more."""
    root = 1 << index + (numerics.fraction_bits + 1 << numerics.table_bits)
    for _ in range(numerics.table_bits):
        root = isqrt(root)
    return (root + 1) >> 1


@PROPERTIES.of(
    "exponential_argument",
    "exponential_argument_{numerics.fraction_bits}",
    "{what}: any FP32 number times log2(e), {numerics.fraction_bits} fraction bits; 128 and more is far enough; NaN",
    ("number.significand * factor", "number.significand * (factor - 1)"),
    "numerics, what",
    ((_SMALL, "small"), (_EXPONENTIAL, "real")),
)
def argument(claim: Claim, numerics: ExponentialNumerics) -> None:
    """Step 1 of the exponential; of 128 and more, only that the result is infinite or zero."""
    dut = claim.instantiate("dut", ExponentialArgument(numerics))
    bits, log2e_bits = numerics.fraction_bits, numerics.log2e_bits
    fraction, field, sign = dut.t[: FP32.fraction_bits], dut.t[FP32.fraction_bits : -1], dut.t[-1]
    significand = claim.value(Cat(fraction, field != 0), "significand")
    log2e = int(((1 << log2e_bits) / Decimal(2).ln()).to_integral_value())
    product = claim.value(significand * log2e, "product")
    down = FP32.bias + FP32.fraction_bits + log2e_bits - bits
    u = claim.value(product >> (down - Mux(field == 0, 1, field))[: FP32.exponent_bits], "u", len(dut.o))
    far = field >= FP32.bias + 7
    beyond = Mux(sign, (dut.o >> bits) < FP32.emin - FP32.fraction_bits - 1, (dut.o >> bits) > FP32.emax)
    claim.ensure(Mux(far, beyond, dut.o.as_unsigned() == u ^ sign.replicate(len(u))))
    claim.ensure(dut.nan == (dut.t[:-1] > FP32.infinity_code))


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
    # The smallest subnormal code's value is a normal number of BF16 here.
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
    # The largest exponent by the scale: no exponent is above it, and one equals it unless the scale stops at 0.
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
