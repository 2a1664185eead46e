"""Decoder, multiplier and exact adder equal arithmetic of the integers behind the codes."""

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
from bitpath.rtl.common.arithmetic.add import ExactAdd
from bitpath.rtl.common.arithmetic.decode import Decode, raw_float, raw_sum, sum_special
from bitpath.rtl.common.arithmetic.multiply import Multiply
from bitpath.rtl.common.arithmetic.normalize import Normalize
from bitpath.rtl.common.arithmetic.round import Round
from bitpath.verif.formal.claim import Claim
from bitpath.verif.formal.contracts import MULTIPLIES_WRONG
from bitpath.verif.formal.property import Properties
from bitpath.verif.formal.specification import fields, float_code, long_multiplication

PROPERTIES = Properties("common/arithmetic")
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
