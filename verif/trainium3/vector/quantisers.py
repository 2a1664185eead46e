"""Quantisers: at most half a unit of error, saturation to exactly the largest code, and codes that stay what they are."""

from functools import partial

from amaranth import Cat, Const, Mux, Signal, Value, signed

from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode
from bitpath.golden.formats.catalogue import BF16, E4M3, FP32, FloatFormat
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, Format
from bitpath.golden.tensix.declarations.numerics import BfpRange
from bitpath.golden.tensix.declarations.numerics import Tie as TensixTie
from bitpath.rtl.aie_ml_v2.convert.layouts import MxCode as BlockCode
from bitpath.rtl.aie_ml_v2.convert.mx_element import MxElement
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.tensix.pack.block_encode import BlockEncode
from bitpath.rtl.tensix.unpack.block_decode import BlockDecode
from bitpath.rtl.trainium3.rmsnorm_quant.quantize import QuantizePass
from bitpath.rtl.trainium3.vector.config import QuantizeMxConfig
from bitpath.rtl.trainium3.vector.mx_code import ELEMENTS, MxCode
from bitpath.rtl.trainium3.vector.mx_source import SOURCES, MxSource
from bitpath.rtl.trainium3.vector.quantize_mx import BLOCK, QuantizeMx, Rule
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.property import Property, Sabotage
from bitpath.verif.formal.specification import Tie, float_code, leading_place, rounded


def _element(claim: Claim, source: FloatFormat, fmt: FloatFormat, name: str, **inputs: Value) -> tuple:
    """A source code on its way to an element's: both components."""
    first = claim.place(f"{name}_source", MxSource(), source=SOURCES.index(source), **inputs)
    scale = {} if name == "first" else {"scale": claim.inputs["first_code__scale"]}
    second = claim.place(f"{name}_code", MxCode(), i=first.o, element=ELEMENTS.index(fmt), **scale)
    return first, second


def _magnitude(claim: Claim, code: Value, fmt: FloatFormat, name: str) -> tuple[Signal, Signal]:
    """The significand of a finite code as an integer, and the biased exponent that goes with it."""
    fraction, field = code[: fmt.fraction_bits], code[fmt.fraction_bits : fmt.width - 1]
    significand = claim.value(Cat(fraction, field != 0), f"{name}_significand")
    return significand, claim.value(Mux(field == 0, 1, field), f"{name}_biased", fmt.exponent_bits)


def element_code(claim: Claim, source: FloatFormat, fmt: FloatFormat) -> None:
    """The quotient by the scale rounded once; what is beyond the range is the largest code."""
    first, second = _element(claim, source, fmt, "first")
    code = first.code
    significand, biased = _magnitude(claim, code, source, "x")
    special = code[source.fraction_bits : -1].all()
    nan = special & code[: source.fraction_bits].any()
    weight = claim.value(
        biased - (source.bias + source.fraction_bits) - (second.scale - FP32.bias), "weight", signed(11)
    )
    spec = float_code(claim, significand, weight, fmt, "spec")
    finite = claim.value(Mux(special | (spec > fmt.max_code), fmt.max_code, spec), "finite", fmt.width - 1)
    claim.ensure(second.o == Mux(nan, fmt.nan_code, Cat(finite, code[-1])))


def half_unit(claim: Claim, source: FloatFormat, fmt: FloatFormat) -> None:
    """Twice the distance between the quotient and its code's value is no more than the unit of the code's last place."""
    first, second = _element(claim, source, fmt, "first")
    significand, biased = _magnitude(claim, first.code, source, "x")
    # Both on a grid on which the smallest quotient looked at has its last place: smaller ones are no more than that.
    grid = 48
    places = biased + FP32.bias - second.scale - (source.bias + source.fraction_bits) + grid
    shift = claim.value(places, "places", signed(12))
    claim.assume(first.code[source.fraction_bits : -1] != source.exponent_mask, shift >= 0, shift < 64)
    _within_half(claim, claim.value(significand << shift[:6], "x"), second.o, fmt, grid)
    claim.ensure(second.o[-1] == first.code[-1])


def _within_half(claim: Claim, x: Value, code: Value, fmt: FloatFormat, grid: int) -> None:
    """Of a magnitude in units of ``2**-grid``."""
    got, field = _magnitude(claim, code, fmt, "o")
    unit_place = claim.value(field + (grid - fmt.bias - fmt.fraction_bits), "unit_place", 7)
    unit = claim.value(Const(1) << unit_place, "unit")
    value = claim.value(got << unit_place, "value")
    error = claim.value(Mux(x > value, x - value, value - x), "error")
    saturated = code[:-1] == fmt.max_code
    claim.ensure((saturated & (x > value)) | ((error << 1) <= unit))
    # Half a unit above the largest number and farther it is the largest code.
    top = (
        (1 << fmt.precision) - 1 if fmt.max_code & fmt.fraction_mask == fmt.fraction_mask else (1 << fmt.precision) - 2
    )
    beyond = (2 * top + 1) << (grid + fmt.emax - fmt.fraction_bits - 1)
    claim.ensure((x < beyond) | saturated)


def _element_value(claim: Claim, code: Value, scale: Value, fmt: FloatFormat, name: str) -> Value:
    """The BF16 code of a finite element code under a scale, where that is a normal number or 0."""
    got, field = _magnitude(claim, code, fmt, f"{name}_of")
    place = leading_place(claim, got, f"{name}_place")
    exponent = field + place - (fmt.bias + fmt.fraction_bits) + scale
    fraction = claim.value((got << BF16.fraction_bits) >> place, f"{name}_fraction")[: BF16.fraction_bits]
    value = Mux(got == 0, 0, Cat(fraction, claim.value(exponent, f"{name}_exponent", BF16.exponent_bits)))
    return Cat(claim.value(value, name, BF16.width - 1), code[-1])


def element_again(claim: Claim, fmt: FloatFormat) -> None:
    """Under the OCP rule: a code's value, quantised under its scale, is that code, and keeps the scale what it is."""
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
    significand, biased = _magnitude(claim, code, source, name)
    place = leading_place(claim, significand, f"{name}_place")
    exponent = claim.value(biased + place - (source.bias + source.fraction_bits) + FP32.bias, f"{name}_exponent")
    field = Mux((significand == 0) | (exponent < 0), 0, exponent)
    special = code[source.fraction_bits : -1].all()
    return claim.value(Mux(special, FP32.exponent_mask, field), f"{name}_field", FP32.exponent_bits)


def block(claim: Claim) -> None:
    """The scale is what the rule says of the largest exponent, and each code that of its own element under it."""
    dut = claim.place("dut", QuantizeMx(QuantizeMxConfig(pipeline=PipelineConfig(stages=0))), i__valid=1, o__ready=1)
    control, scale = dut.i.p.control, dut.o.p.scale
    emax = Mux(control.element, ELEMENTS[1].emax, ELEMENTS[0].emax)
    # What the scale has as the largest exponent: none is above it, and one is there unless the scale stops at 0.
    largest = claim.value(scale + emax - (control.rule == Rule.NKI05), "largest")
    reached = []
    for k in range(BLOCK):
        code = dut.i.p.elements[k]
        fields = [_fp32_field(claim, code, source, f"{source.name}_{k}".lower()) for source in SOURCES]
        field = claim.value(Mux(control.source, fields[1], fields[0]), f"field_{k}")
        reached.append(field == largest)
        first = claim.place(f"source_{k}", MxSource(), source=control.source, code=code)
        second = claim.place(f"code_{k}", MxCode(), i=first.o, element=control.element, scale=scale)
        claim.ensure(field <= largest, dut.o.p.codes[k] == second.o)
    claim.ensure((scale == 0) | Cat(reached).any())


def block_element(claim: Claim, block: BlockCode, rounding: RoundingCode) -> None:
    """A block's element: the number in units of its last place, rounded once, and the largest magnitude beyond."""
    dut = claim.place("dut", MxElement(flush=True, min_code=False))
    exponent = dut.i[FP32.fraction_bits : -1]
    _under(claim, dut, block, rounding)
    bits = block.fmt.magnitude_bits
    significand = Mux(exponent == 0, 0, Cat(dut.i[: FP32.fraction_bits], Const(1, 1)))
    distance = dut.shared - dut.shifted - exponent + (FP32.precision - bits)
    shift = claim.value(Mux(distance > 63, 63, distance), "shift", 6)
    tie = Tie.EVEN if rounding is RoundingCode.CONV_EVEN else Tie.AWAY
    number = rounded(claim, claim.value(significand, "significand"), shift, tie, "spec")
    top = block.fmt.max_code
    magnitude = claim.value(Mux(number > top, top, number), "magnitude", bits)
    claim.ensure(dut.leaves == (number > top), dut.o == Mux(dut.i[-1], -magnitude, magnitude))


def block_element_again(claim: Claim, block: BlockCode) -> None:
    """A code's value under the same exponent is that code, to nearest even."""
    dut = claim.place("dut", MxElement(flush=True, min_code=False))
    _under(claim, dut, block, RoundingCode.CONV_EVEN)
    code = claim.free("code", signed(block.fmt.width))
    claim.assume(code != block.fmt.min_code)
    magnitude = claim.value(Mux(code < 0, -code, code), "magnitude", block.fmt.magnitude_bits)
    place = leading_place(claim, magnitude, "place")
    exponent = dut.shared - dut.shifted - (block.fmt.magnitude_bits - 1) + place
    claim.assume(exponent >= 1)
    fraction = claim.value((magnitude << FP32.fraction_bits) >> place, "fraction")[: FP32.fraction_bits]
    number = Mux(magnitude == 0, 0, Cat(fraction, claim.value(exponent, "exponent", FP32.exponent_bits)))
    claim.assume(dut.i[:-1] == number, dut.i[-1] == (code < 0))
    claim.ensure(dut.o == code)


def _under(claim: Claim, dut: MxElement, block: BlockCode, rounding: RoundingCode) -> None:
    exponent = dut.i[FP32.fraction_bits : -1]
    claim.assume(dut.control.block_format == block, dut.control.rounding == rounding)
    claim.assume(exponent + dut.shifted <= dut.shared)


def block_float_again(claim: Claim, fmt: Format) -> None:
    """A Tensix block's datum, decoded and encoded under its exponent, is that datum."""
    decode = claim.place("decode", BlockDecode(BfpRange.WRAP, BfpRange.WRAP), l1_format=int(fmt))
    encode = claim.place("encode", BlockEncode(TensixTie.AWAY), i=decode.o, shared=decode.shared, out_format=int(fmt))
    bits = BLOCK_FLOATS[fmt].magnitude_bits
    # The exponent of the smallest magnitude is above 0; a zero has no sign; exponents of an 'a' variant have 5 bits.
    claim.assume(decode.shared > bits, decode.shared < (32 if fmt.name.endswith("A") else 255))
    claim.assume(decode.code >> bits + 1 == 0, decode.code != 1 << bits)
    claim.ensure(encode.o == decode.code)


def _pass(claim: Claim, *, static: bool) -> tuple[QuantizePass, Signal]:
    """RMSNorm-Quant's last pass, and the product that it rounds: any one, in its register."""
    dut = claim.place("dut", QuantizePass())
    claim.assume(dut.options.static == static)
    return dut, claim.inside("dut", "product")


def pass_half_unit(claim: Claim, *, static: bool) -> None:
    """The product, or with a static scale the product rounded to BF16, is no more than half a unit from its code."""
    dut, product = _pass(claim, static=static)
    code = product[:-1]
    if static:
        below = FP32.fraction_bits - BF16.fraction_bits
        code = claim.value(rounded(claim, code, Const(below), Tie.EVEN, "nearest") << below, "code", FP32.width - 1)
    significand, biased = _magnitude(claim, Cat(code, product[-1]), FP32, "x")
    grid = 34
    places = claim.value(biased + grid - (FP32.bias + FP32.fraction_bits), "places", signed(10))
    # By a row's own scale nothing is brought into the range, and half a unit above the largest number it is left.
    last = (FP32.bias + E4M3.emax << E4M3.precision) + (1 << E4M3.precision) - 1
    limit = FP32.infinity_code if static else last << FP32.fraction_bits - E4M3.precision
    claim.assume(code < limit, places >= 0)
    # With a static scale as many places as make a number beyond the range.
    amount = claim.value(Mux(places > 31, 31, places), "amount", 5)
    _within_half(claim, claim.value(significand << amount, "x"), dut.o, E4M3, grid)
    claim.ensure(dut.o[-1] == Mux((product[:-1] == 0) & int(static), 0, product[-1]))


def pass_static(claim: Claim) -> None:
    """Any product plus 0, rounded to BF16, brought within the range, then to the code."""
    dut, product = _pass(claim, static=True)
    code, below = product[:-1], FP32.fraction_bits - BF16.fraction_bits
    bf16 = claim.value(rounded(claim, code, Const(below), Tie.EVEN, "nearest") << below, "bf16", FP32.width)
    significand, biased = _magnitude(claim, bf16, FP32, "x")
    weight = claim.value(biased - (FP32.bias + FP32.fraction_bits), "weight", signed(10))
    spec = float_code(claim, significand, weight, E4M3, "spec")
    beyond = (code >= FP32.infinity_code) | (spec > E4M3.max_code)
    finite = claim.value(Mux(beyond, E4M3.max_code, spec), "finite", E4M3.width - 1)
    sign = product[-1] & (code != 0)
    claim.ensure(dut.o == Mux(code > FP32.infinity_code, E4M3.nan_code, Cat(finite, sign)))


def pass_again(claim: Claim, *, static: bool) -> None:
    """Every finite code comes back from its value, but -0 with a static scale."""
    dut, product = _pass(claim, static=static)
    code = claim.free("code", E4M3.width)
    got, field = _magnitude(claim, code, E4M3, "of")
    place = leading_place(claim, got, "place")
    exponent = claim.value(field + place + (FP32.bias - E4M3.bias - E4M3.fraction_bits), "exponent", FP32.exponent_bits)
    fraction = claim.value((got << FP32.fraction_bits) >> place, "fraction")[: FP32.fraction_bits]
    claim.assume(code[:-1] <= E4M3.max_code)
    claim.assume(product == Cat(Mux(got == 0, Const(0, FP32.width - 1), Cat(fraction, exponent)), code[-1]))
    claim.ensure(dut.o == Mux((got == 0) & int(static), 0, code))


_EXPONENT = Sabotage(
    "trainium3/vector/mx_code.py", "number.exponent - self.scale", "number.exponent - (self.scale | 1)"
)
_GUARD = Sabotage("trainium3/vector/mx_code.py", "number.significand[rest - 1]", "number.significand[rest]")
_LEAVES = Sabotage(
    "aie_ml_v2/convert/mx_element.py", "rounded.eq(kept + decision.up)", "rounded.eq(kept | decision.up)"
)
_DISTANCE = Sabotage(
    "aie_ml_v2/convert/mx_element.py", "self.shared - exponent - self.shifted", "self.shared - exponent"
)

PROPERTIES = (
    *(
        Property(
            f"mx_code_{source.name}_{fmt.name}".lower(),
            "trainium3.mx_code",
            f"{source.name} by any scale to {fmt.name}: one rounding to even; exactly the largest code beyond the range",
            partial(element_code, source=source, fmt=fmt),
            _EXPONENT,
        )
        for source in SOURCES
        for fmt in ELEMENTS
    ),
    *(
        Property(
            f"mx_code_half_unit_{source.name}_{fmt.name}".lower(),
            "trainium3.mx_code",
            f"{source.name} to {fmt.name}: no more than half a unit from a quotient of 2**-48 and more, below saturation",
            partial(half_unit, source=source, fmt=fmt),
            _GUARD,
        )
        for source in SOURCES
        for fmt in ELEMENTS
    ),
    *(
        Property(
            f"mx_code_again_{fmt.name}".lower(),
            "trainium3.mx_code",
            f"{fmt.name}: an element's value under the OCP scale, above {fmt.bias + fmt.fraction_bits}, of any largest exponent: "
            "the same code and exponent again",
            partial(element_again, fmt=fmt),
            _EXPONENT,
        )
        for fmt in ELEMENTS
    ),
    Property(
        "quantize_mx_block",
        "trainium3.quantize_mx",
        "any block, either source, element and rule: the scale of its largest exponent; each code is mx_code's of its element under it",
        block,
        Sabotage(
            "trainium3/vector/quantize_mx.py",
            "largest > offset, largest - offset",
            "largest > offset, largest - offset - 1",
        ),
    ),
    *(
        Property(
            f"mx_element_{block.fmt.name}_{rounding.name}".lower(),
            "aie_ml_v2.mx_element",
            f"{block.fmt.name.upper()}, {rounding.name}: subnormals flushed, no most negative code: half a unit of error at most; exactly "
            "the largest magnitude beyond",
            partial(block_element, block=block, rounding=rounding),
            _LEAVES,
        )
        for block in BlockCode
        for rounding in (RoundingCode.CONV_EVEN, RoundingCode.SYMMETRIC_INF)
    ),
    *(
        Property(
            f"mx_element_again_{block.fmt.name}".lower(),
            "aie_ml_v2.mx_element",
            f"{block.fmt.name.upper()}, to even: every code but the most negative comes back from its value",
            partial(block_element_again, block=block),
            _DISTANCE,
        )
        for block in BlockCode
    ),
    *(
        Property(
            f"block_float_again_{fmt.name}".lower(),
            "tensix.block_encode",
            f"{fmt.name}: every datum comes back from its float, but -0, where the shared exponent gives it normal numbers",
            partial(block_float_again, fmt=fmt),
            Sabotage("tensix/pack/block_encode.py", "MAX_SHIFT, distance + 1", "MAX_SHIFT, distance + 2"),
        )
        for fmt in BLOCK_FLOATS
    ),
    Property(
        "quantize_pass_static",
        "trainium3.quantize",
        "static scale: any product to BF16, then to E4M3; exactly the largest code beyond the range; NaN",
        pass_static,
        Sabotage("trainium3/rmsnorm_quant/quantize.py", "Const(RANGE,", "Const(RANGE + (1 << 19),"),
    ),
    *(
        Property(
            f"quantize_pass_half_unit_{name}",
            "trainium3.quantize",
            f"E4M3, {what}: no more than half a unit from a product of 2**-11 and more{rest}",
            partial(pass_half_unit, static=static),
            Sabotage("common/fp32/fp32_cast.py", "number.significand[dropped - 1]", "number.significand[dropped]"),
        )
        for name, static, what, rest in (
            ("row", False, "the row's own scale", ", below 248"),
            ("static", True, "static scale", " rounded to BF16; exactly the largest code beyond"),
        )
    ),
    *(
        Property(
            f"quantize_pass_again_{name}",
            "trainium3.quantize",
            f"E4M3, {what}: every finite code comes back from its value{rest}",
            partial(pass_again, static=static),
            Sabotage("common/fp32/fp32_cast.py", "number.exponent - FP32.bias", "number.exponent - FP32.bias + 1"),
        )
        for name, static, what, rest in (
            ("row", False, "the row's own scale", ""),
            ("static", True, "static scale", ", but -0 as 0"),
        )
    ),
)
