"""Aligners, comparators, decoder, multiplier, exact adder, normalisers and rounders equal arithmetic of the integers behind codes."""

import math
import struct

from amaranth import Array, Cat, Const, Mux, Value, signed

from bitpath.golden.formats.catalogue import (
    BF16,
    E2M1,
    E3M4,
    E4M3,
    E4M3FN,
    E4M3FNUZ,
    E5M2,
    E5M2FNUZ,
    FP16,
    FP32,
    FloatFormat,
    Rounding,
    Specials,
)
from bitpath.golden.formats.dot import ProductRounding
from bitpath.rtl.common.arithmetic.add import ExactAdd
from bitpath.rtl.common.arithmetic.align import Align, Dropped, MaxDistance, MaxExponent
from bitpath.rtl.common.arithmetic.decode import Decode, moving_sum, normal_sum, raw_float, raw_sum, sum_special
from bitpath.rtl.common.arithmetic.multiply import FixedPoint, Multiply
from bitpath.rtl.common.arithmetic.normalize import Normalize, NormalizeShift
from bitpath.rtl.common.arithmetic.product_round import ProductRound
from bitpath.rtl.common.arithmetic.round import Round, RoundSigned
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import MULTIPLIES_WRONG
from bitpath.verif.formal.property import Properties, Sabotage
from bitpath.verif.formal.specification import fields, float_code, leading_place, long_multiplication, rounded

PROPERTIES = Properties("common/arithmetic")
_BROKEN = {
    Dropped.STICKY: ("take & value[:amount].any()", "take & value[0]"),
    Dropped.TRUNCATED: ("Mux(take, value >> amount, value)", "Mux(take, value >> (amount | 4), value)"),
    Dropped.NEAREST_EVEN: ("odd=kept[0]", "odd=~kept[0]"),
}
_SHAPES = (
    # in_width, out_width, max_shift, dropped, signed, name; small ones first.
    (4, 7, 9, Dropped.STICKY, False, "small"),
    (7, 4, 9, Dropped.STICKY, True, "small"),
    (6, 6, 7, Dropped.TRUNCATED, True, "small"),
    (6, 4, 10, Dropped.TRUNCATED, False, "small"),
    (5, 6, 9, Dropped.NEAREST_EVEN, False, "small"),
    (24, 76, 77, Dropped.STICKY, False, "FP32 addition's"),
    (24, 25, 31, Dropped.STICKY, False, "a Tensix Dst's"),
    (24, 8, 15, Dropped.STICKY, False, "an MX element's"),
    (94, 95, 127, Dropped.STICKY, True, "a 64-bit SRS lane's"),
    (25, 27, 31, Dropped.NEAREST_EVEN, False, "aligned partial sum"),
    (8, 27, 31, Dropped.TRUNCATED, False, "aligned product"),
)


@PROPERTIES.of(
    "align",
    "align_{kind}{in_width}_to_{out_width}_{dropped.value}",
    "{what} {in_width} bits onto {out_width}, {lost}, every shift",
    None,
    "in_width, out_width, max_shift, dropped, signed_number, what, kind, lost, sabotage",
    [
        (*sizes, dropped, is_signed, what, "signed_" * is_signed, dropped.value.replace("_", " "), _BROKEN[dropped])
        for *sizes, dropped, is_signed, what in _SHAPES
    ],
)
def align(claim: Claim, in_width: int, out_width: int, max_shift: int, dropped: Dropped, signed_number: bool) -> None:
    dut = claim.instantiate("dut", Align(in_width, out_width, max_shift, dropped, twos_complement=signed_number))
    claim.assume(dut.shift <= max_shift)
    # The number on a grid fine enough for every shift; the lowest places are discarded afterwards.
    places = max_shift + max(out_width, in_width)
    number = signed(in_width) if signed_number else in_width
    fine = claim.value(claim.value(dut.i, "number", number) << places - in_width, "fine")
    moved = claim.value(fine >> dut.shift, "moved")
    cut = places - out_width
    lost = Mux(dut.shift == 0, 0, fine & ((Const(1) << dut.shift) - 1)) != 0
    match dropped:
        case Dropped.TRUNCATED:
            claim.ensure(dut.o == moved >> cut)
        case Dropped.STICKY:
            sticky = lost | ((moved & ((1 << cut) - 1)) != 0)
            claim.ensure(dut.o >> 1 == moved >> cut, dut.o[0] == sticky)
        case Dropped.NEAREST_EVEN:
            claim.ensure(dut.o == rounded(claim, fine, dut.shift + cut, Rounding.RNE, "spec"))


@PROPERTIES.of(
    "max_distance",
    "max_distance_{terms}x{width}",
    "the largest of {terms} exponents of {width} bits; saturated distances in {shift_bits} bits",
    ("next_lower.eq(upper - 1)", "next_lower.eq(upper)"),
    "terms, width, shift_bits",
    ((3, 4, 2), (3, 9, 5), (8, 9, 4), (10, 9, 5)),
)
def max_distance(claim: Claim, terms: int, width: int, shift_bits: int) -> None:
    dut = claim.instantiate("dut", MaxDistance(terms, width, shift_bits))
    largest = Const(0, width)
    for k in range(terms):
        counted = claim.value(Mux(dut.counts[k], dut.i[k], 0), f"counted_{k}")
        largest = claim.value(Mux(counted > largest, counted, largest), f"largest_{k}")
    claim.ensure(dut.o == largest)
    top = (1 << shift_bits) - 1
    for k in range(terms):
        distance = largest - dut.i[k]
        claim.ensure(~dut.counts[k] | (dut.shifts[k] == Mux(distance > top, top, distance)))


@PROPERTIES.of(
    "max_exponent",
    "max_exponent_{terms}x{width}",
    "one of {terms} exponents of {width} bits, and none larger",
    ("Mux(a > b, a, b)", "Mux(a > b, a, a)"),
    "terms, width",
    ((5, 4), (8, 8), (32, 8)),
)
def max_exponent(claim: Claim, terms: int, width: int) -> None:
    dut = claim.instantiate("dut", MaxExponent(terms, width))
    claim.ensure(*(dut.o >= dut.i[k] for k in range(terms)))
    claim.ensure(Cat(dut.o == dut.i[k] for k in range(terms)).any())


@PROPERTIES.of(
    "fixed_point",
    "fixed_point_{in_width}_to_{out_width}",
    "{what}: the significand shifted by its exponent, inverted where negative",
    ("upper.eq(lower << 1)", "upper.eq(lower)"),
    "in_width, out_width, exponent_width, origin, what",
    ((4, 12, 4, 2, "small"), (8, 64, 6, 4, "E4M3 and E5M2 products")),
)
def fixed_point(claim: Claim, in_width: int, out_width: int, exponent_width: int, origin: int) -> None:
    dut = claim.instantiate("dut", FixedPoint(in_width, out_width, exponent_width, origin))
    wide = claim.value(dut.i << dut.exponent, "wide")
    placed = claim.value(wide >> origin, "placed")
    # The user of the unit guarantees that no bit lies below the grid.
    claim.assume(wide & ((1 << origin) - 1) == 0)
    claim.ensure(dut.o == (placed ^ dut.negative.replicate(len(placed) + out_width))[:out_width])


_SUBNORMAL = ("Mux(normal, exponent, 1)", "exponent")


@PROPERTIES.of(
    "multiply",
    "multiply_{significand_width}",
    "{significand_width} x {significand_width} bits{how}; exponents added; infinities, NaN",
    MULTIPLIES_WRONG,
    "exponent_width, significand_width, by_hand, how",
    (
        (5, 4, True, " by hand"),
        (8, 8, True, " by hand"),
        (8, 11, True, " by hand"),
        (8, 24, False, ", FP32: the integers' product"),
    ),
)
def multiply(claim: Claim, exponent_width: int, significand_width: int, by_hand: bool) -> None:
    dut = claim.instantiate("dut", Multiply(raw_float(exponent_width, significand_width)))
    a, b = dut.a, dut.b
    product = long_multiplication(a.significand, b.significand) if by_hand else a.significand * b.significand
    a_zero, b_zero = a.significand == 0, b.significand == 0
    claim.ensure(
        dut.o.significand == product,
        dut.o.exponent == a.exponent + b.exponent,
        dut.o.sign == (a.sign != b.sign),
        dut.o.inf == (a.inf | b.inf),
        dut.o.nan == (a.nan | b.nan | (a.inf & b_zero) | (b.inf & a_zero)),
    )


def _rounded(claim: Claim, fmt: FloatFormat, into: FloatFormat) -> tuple[Decode, Value]:
    """A format's decoder, and what normaliser and rounder make of its number in another format, or the same."""
    decode = claim.instantiate("decode", Decode((fmt,)), format=0)
    number = decode.o
    total = raw_sum(len(number.significand), 12)
    weight = number.exponent - (fmt.bias + fmt.fraction_bits)
    given = Cat(number.significand, claim.value(weight, "weight", signed(12)), number.sign)
    normalize = claim.instantiate("normalize", Normalize(total, into.precision), i=given)
    options = {"rounding": Rounding.RNE, "subnormals": True, "overflow_to_infinity": into.infinity_code is not None}
    special = Cat(number.sign, number.inf, number.nan)
    encode = Round(normalize.o.shape(), into, container=into, **options)
    return decode, claim.instantiate("encode", encode, i=normalize.o, special=special).o


@PROPERTIES.of(
    "decode",
    "code_again_{fmt.name}",
    "{fmt.name}: every code comes back through decode, normalize and round; NaN as the one NaN",
    _SUBNORMAL,
    "fmt",
    (E4M3FN, E4M3, E5M2, E3M4, BF16, FP16, FP32),
)
def code_again(claim: Claim, fmt: FloatFormat) -> None:
    decode, code = _rounded(claim, fmt, fmt)
    magnitude = decode.code[:-1]
    nan = magnitude == fmt.nan_code if fmt.specials is Specials.NAN_ONLY else magnitude > (fmt.infinity_code or 0)
    claim.ensure(code == Mux(nan, fmt.nan_code, decode.code), decode.o.nan == nan)


@PROPERTIES.of(
    "decode",
    "widened_{fmt.name}",
    "{fmt.name}, into which nothing rounds: every code through decode, normalize and round is its number in FP32",
    _SUBNORMAL,
    "fmt",
    (E2M1, E4M3FNUZ, E5M2FNUZ),
)
def widened(claim: Claim, fmt: FloatFormat) -> None:
    decode, code = _rounded(claim, fmt, FP32)
    table = Array(_fp32(code, fmt) for code in range(1 << fmt.width))
    claim.ensure(code == table[decode.code])


def _fp32(code: int, fmt: FloatFormat) -> int:
    """FP32 code of a code of a format without infinities; NaN becomes the one NaN."""
    if code == fmt.nan_code:
        return FP32.nan_code
    fraction, field = code % (1 << fmt.fraction_bits), code >> fmt.fraction_bits & (1 << fmt.exponent_bits) - 1
    value = math.ldexp(fraction + (field > 0) * 2**fmt.fraction_bits, max(field, 1) - fmt.bias - fmt.fraction_bits)
    return int.from_bytes(struct.pack(">f", math.copysign(value, -(code >> fmt.width - 1))), "big")


def _exact_adder(fixed_width: int, exponent_width: int, precision: int, offset: int) -> ExactAdd:
    return ExactAdd(
        fixed_width=fixed_width,
        fixed_exponent_width=exponent_width + 1,
        exponent_width=exponent_width,
        precision=precision,
        offset=offset,
    )


def _adder(claim: Claim, fmt: FloatFormat) -> tuple[Value, Value, Value]:
    """Two operands and their sum in a format, through the same operators as FP32's."""
    a, b = (claim.instantiate(f"decode_{name}", Decode((fmt,)), format=0) for name in "ab")
    offset = fmt.bias + fmt.fraction_bits
    significand = a.o.significand
    exact = claim.instantiate(
        "add",
        _exact_adder(fmt.precision + 1, fmt.exponent_bits, fmt.precision, offset),
        fixed=Mux(a.o.sign, -significand, significand),
        fixed_exponent=a.o.exponent - offset,
        number=b.o,
    )
    normalize = claim.instantiate("normalize", Normalize(exact.o.shape(), fmt.precision), i=exact.o)
    options = {"rounding": Rounding.RNE, "subnormals": True, "overflow_to_infinity": True, "container": fmt}
    special = sum_special(claim.m, (a.o, b.o))
    result = claim.instantiate("round", Round(normalize.o.shape(), fmt, **options), i=normalize.o, special=special)
    return a.code, b.code, result.o


@PROPERTIES.of(
    "exact_add",
    "add_{fmt.name}",
    "{fmt.name} through the operators of FP32's sum: the wide integer rounded once; infinities, NaN, zeros' signs",
    ("self.max_distance - distance)", "self.max_distance - distance + 1)"),
    "fmt",
    (E5M2, E4M3, E3M4),
)
def add(claim: Claim, fmt: FloatFormat) -> None:
    code_a, code_b, o = _adder(claim, fmt)
    infinity, largest = fmt.infinity_code, fmt.max_code
    a, b = code_a[:-1], code_b[:-1]
    (x, e), (y, f) = fields(claim, code_a, fmt, "x"), fields(claim, code_b, fmt, "y")
    wide_x, wide_y = claim.value(x << e, "wide_x"), claim.value(y << f, "wide_y")
    total = claim.value(Mux(code_a[-1], -wide_x, wide_x) + Mux(code_b[-1], -wide_y, wide_y), "total")
    magnitude = claim.value(Mux(total < 0, -total, total), "magnitude", len(total))
    weight = claim.value(Const(-(fmt.bias + fmt.fraction_bits)), "weight")
    code = float_code(claim, magnitude, weight, fmt, "spec")
    nan = (a > infinity) | (b > infinity) | ((a == infinity) & (b == infinity) & (code_a[-1] ^ code_b[-1]))
    inf = (a == infinity) | (b == infinity)
    bits = fmt.width - 1
    finite = Cat(
        claim.value(Mux(code > largest, infinity, code), "finite", bits),
        Mux(total == 0, code_a[-1] & code_b[-1], total < 0),
    )
    infinite = Cat(Const(infinity, bits), Mux(a == infinity, code_a[-1], code_b[-1]))
    claim.ensure(o == Mux(nan, fmt.nan_code, Mux(inf, infinite, finite)))


@PROPERTIES.of(
    "exact_add",
    "exact_add_{fixed_width}_{precision}",
    "{fixed_width} fixed bits and a {precision}-bit significand with its leading bit: rounds to {precision} bits as the wide sum does",
    ("self.below = precision + 1", "self.below = precision - 2"),
    "fixed_width, exponent_width, precision",
    ((4, 4, 3), (6, 4, 4)),
)
def exact_add(claim: Claim, fixed_width: int, exponent_width: int, precision: int) -> None:
    offset = 3
    dut = claim.instantiate("dut", _exact_adder(fixed_width, exponent_width, precision, offset))
    claim.assume(dut.number.significand[-1] | (dut.number.significand == 0))
    # Both in units of the smallest weight that either may have.
    down = (1 << exponent_width) + offset
    significand = claim.value(dut.number.significand, "significand")
    number = claim.value(significand << (dut.number.exponent + (down - offset)), "number")
    fixed = claim.value(dut.fixed << (dut.fixed_exponent + down)[: exponent_width + 2], "wide_fixed")
    total = claim.value(fixed + Mux(dut.number.sign, -number, number), "total")
    magnitude = claim.value(Mux(total < 0, -total, total), "magnitude", len(total))
    weight = Const(-down, signed(len(dut.o.exponent) + 1))
    spec = float_code(claim, magnitude, claim.value(weight, "weight"), FP32, "spec", precision=precision)
    got = float_code(claim, dut.o.magnitude, dut.o.exponent, FP32, "got", precision=precision)
    claim.ensure(got == spec, (total == 0) | (dut.o.sign == (total < 0)))


_STICKY = ("value[:discarded].any()", "value[: discarded - 1].any()")
_WEIGHT = ("(self.in_width - 1) - Cat(zeros)", "self.in_width - Cat(zeros)")
_ODD = ("odd=kept[0]", "odd=kept[1]")
_ZERO = ("fmt.emin - i.exponent", "fmt.emin + 1 - i.exponent")


@PROPERTIES.of(
    "normalize",
    "normalize_{width}_to_{precision}",
    "{width} bits to their {precision} leading ones, guard and sticky",
    None,
    "width, precision, sabotage",
    ((9, 4, _STICKY), (5, 8, _WEIGHT), (28, 24, _STICKY), (48, 24, _STICKY), (78, 24, _STICKY)),
)
def normalize(claim: Claim, width: int, precision: int) -> None:
    dut = claim.instantiate("dut", Normalize(raw_sum(width, 10), precision))
    place = leading_place(claim, dut.i.magnitude, "place")
    wide = claim.value(dut.i.magnitude << precision + 1, "wide")
    moved = claim.value(wide >> place, "moved", precision + 2)
    lost = (wide & ((Const(1) << place) - 1)) != 0
    zero = dut.i.magnitude == 0
    claim.ensure(
        dut.o.zero == zero,
        dut.o.sign == dut.i.sign,
        zero | (dut.o.significand == moved >> 2),
        zero | (dut.o.guard == moved[1]),
        zero | (dut.o.sticky == (moved[0] | lost)),
        zero | (dut.o.exponent == dut.i.exponent + place),
    )


@PROPERTIES.of(
    "round",
    "round_{fmt.name}_in_{container.name}_{rounding.value}{kind}",
    "{fmt.name} in {container.name}'s code, {rounding.name}; {beyond} beyond; subnormals {fate}",
    None,
    "fmt, container, rounding, subnormals, infinity, kind, beyond, fate, sabotage",
    (
        (E4M3FN, E4M3FN, Rounding.RNE, True, False, "", "largest number", "kept", _ODD),
        (E5M2, E5M2, Rounding.RNE, True, False, "", "largest number", "kept", _ODD),
        (FP16, FP16, Rounding.RNE, True, True, "", "infinity", "kept", _ODD),
        (BF16, FP32, Rounding.RTZ, False, False, "_flushing", "largest number", "flushed", _ZERO),
        (BF16, FP32, Rounding.RNE, True, True, "", "infinity", "kept", _ODD),
        (FP32, FP32, Rounding.RNE, True, True, "", "infinity", "kept", _ODD),
        (FP32, FP32, Rounding.RTZ, True, True, "", "infinity", "kept", _ZERO),
    ),
)
def round_code(
    claim: Claim, fmt: FloatFormat, rounding: Rounding, subnormals: bool, infinity: bool, container: FloatFormat
) -> None:
    options = {"rounding": rounding, "subnormals": subnormals, "overflow_to_infinity": infinity, "container": container}
    dut = claim.instantiate("dut", Round(normal_sum(fmt.precision, 10), fmt, **options))
    i = dut.i
    claim.assume(i.zero == ~i.significand[-1])
    below = claim.value(i.exponent - (fmt.precision + 1), "weight")
    magnitude = Mux(i.zero, 0, Cat(i.sticky, i.guard, i.significand))
    # The sticky bit means a nonzero remainder below the guard bit, so the specification appends it as the lowest bit.
    code = float_code(claim, claim.value(magnitude, "magnitude"), below, fmt, "spec", tie=rounding)
    top = fmt.infinity_code if infinity else fmt.max_code
    flushed = Mux((code >> fmt.fraction_bits) == 0, 0, code) if not subnormals else code
    finite = claim.value(Mux(code > fmt.max_code, top, flushed), "finite")
    unused = container.fraction_bits - fmt.fraction_bits
    infinite = (fmt.infinity_code or fmt.max_code) << unused
    sign = Mux(i.zero | dut.special.inf, dut.special.sign, i.sign)
    number = Cat(Mux(dut.special.inf, infinite, finite << unused)[: container.width - 1], sign)
    claim.ensure(dut.o == Mux(dut.special.nan, container.nan_code, number))


@PROPERTIES.of(
    "round_signed",
    "normalize_and_round_{width}_{fmt.name}_{rounding.value}",
    "a {width}-bit two's complement sum through normalize_shift and round_signed to {fmt.name}, {rounding.name}",
    Sabotage("common/arithmetic/normalize.py", "free |= allowed[level] & ~needed", "free |= allowed[level]"),
    "width, low, fmt, rounding",
    (
        (14, 2, BF16, Rounding.RNE),
        (14, 2, BF16, Rounding.RTZ),
        (40, 4, FP32, Rounding.RNE),
        (118, 4, FP32, Rounding.RNE),
    ),
)
def normalize_and_round(claim: Claim, width: int, low: int, fmt: FloatFormat, rounding: Rounding) -> None:
    total = moving_sum(width, 10, (width - 1).bit_length())
    coarse = claim.instantiate("coarse", NormalizeShift(total, low, fmt.precision, inverted=False))
    fine = claim.instantiate("fine", NormalizeShift(coarse.o.shape(), 0, fmt.precision, inverted=True), i=coarse.o)
    options = {"rounding": rounding, "subnormals": True, "overflow_to_infinity": True}
    dut = claim.instantiate(
        "dut", RoundSigned(fine.o.shape(), fmt, **options), i=fine.o, special=0, negate=0, alone=0, number=0
    )
    i = coarse.i
    allowed = claim.value(i.exponent - 1, "allowed", len(i.exponent))
    levels = len(i.allowed)
    claim.assume(i.exponent >= 1, i.exponent < 512, i.sticky == 0)
    claim.assume(i.allowed == allowed[:levels], i.free == (allowed[levels:] != 0))
    value = claim.value(Cat(i.digits, i.sign).as_signed(), "value")
    magnitude = claim.value(Mux(i.sign, -value, value), "magnitude", width + 1)
    weight = claim.value(i.exponent - (width - 1 + fmt.bias), "weight", signed(12))
    code = float_code(claim, magnitude, weight, fmt, "spec", tie=rounding)
    finite = Mux(code > fmt.max_code, fmt.infinity_code, code) << FP32.fraction_bits - fmt.fraction_bits
    claim.ensure(dut.o == Cat(claim.value(finite, "finite", FP32.width - 1), i.sign))


FMT, PRODUCT_OFFSET = BF16, 2 * (BF16.bias + FP16.fraction_bits)
PRODUCT = raw_float(BF16.exponent_bits + 1, 2 * FP16.precision)
"""A product of two elements that are BF16 or FP16 each."""


@PROPERTIES.of(
    "product_round",
    "product_round_bf16",
    "any product of BF16 or FP16 elements: one rounding to BF16, to even; infinity beyond the range; specials pass",
    ("i.exponent - self.offset", "i.exponent - (self.offset - 1)"),
)
def rounded_product(claim: Claim) -> None:
    rounding = ProductRounding(format=FMT, rounding=Rounding.RNE)
    dut = claim.instantiate("dut", ProductRound(PRODUCT, PRODUCT_OFFSET, rounding))
    i, o = dut.i, dut.o
    weight = claim.value(i.exponent - PRODUCT_OFFSET, "weight", signed(len(i.exponent) + 2))
    spec = float_code(claim, i.significand, weight, FMT, "spec")
    infinite = claim.value(i.inf | (spec > FMT.max_code), "infinite", 1)
    code = claim.value(spec[: FMT.width - 1], "code")
    significand, biased = fields(claim, Cat(code, Const(0, 1)), FMT, "expected")
    claim.ensure(
        o.nan == i.nan,
        i.nan | (o.inf == infinite),
        i.nan | (o.sign == i.sign),
        i.nan | infinite | ((o.significand == significand) & (o.exponent == biased)),
    )
