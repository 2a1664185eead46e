"""Conversions of floats on scalars.

Ref: FP32 to BF16 in all rounding codes and BF16 to integers as measured on first-generation silicon; llvm-aie for the
shift operand, the emulation of FP32 and its order.
"""

from collections.abc import Sequence
from dataclasses import asdict
from fractions import Fraction

from bitpath.golden.aie_ml_v2.declarations.codes import (
    F32_PIECES,
    F32_PRODUCTS,
    FlagGroup,
    Flags,
    FloatSaturation,
    RoundingCode,
    Saturation,
)
from bitpath.golden.aie_ml_v2.exact.fused import LaneTrace
from bitpath.golden.aie_ml_v2.exact.integers import srs, ups
from bitpath.golden.formats.catalogue import BF16, FP32, FloatFormat, Rounding, Specials
from bitpath.golden.scalar.checked import checked, flag_bits
from bitpath.golden.scalar.codec import Kind, Overflow, decode, overflow_code, power_of_two
from bitpath.golden.scalar.rounding import round_to_format, round_to_integer, round_unbounded, shift_round

INT32_MAX = (1 << 31) - 1


@checked
def narrow(
    code: int,
    fmt: FloatFormat,
    rounding: RoundingCode,
    *,
    saturate: FloatSaturation | int | bool = False,
    shift: int = 0,
) -> int:
    """Convert an FP32 code times ``2**shift`` to a narrower format; `saturate` is crFPConvSat, True both of its bits."""
    saturation = flag_bits("saturate", saturate, FloatSaturation)
    x = decode(FP32, code)
    sign = fmt.sign_mask if x.sign else 0
    if x.kind is Kind.NAN:
        if fmt.specials is Specials.UNSIGNED_ZERO:
            return fmt.nan_code
        if fmt.specials is Specials.NAN_ONLY:
            return sign | fmt.nan_code
        payload = (code & FP32.fraction_mask) >> FP32.fraction_bits - fmt.fraction_bits
        return sign | fmt.infinity_code | (payload or 1)
    bit = FloatSaturation.INFINITE if x.kind is Kind.INFINITY else FloatSaturation.FINITE
    overflow = Overflow.SATURATE if bit in saturation else Overflow.SPECIAL
    if x.kind is Kind.INFINITY:
        return sign | overflow_code(fmt, overflow)
    rounded = round_to_format(x.value * power_of_two(shift), fmt, rounding.mode, overflow=overflow, zero_sign=x.sign)
    # The NaN of an overflow keeps the sign.
    return rounded | sign if rounded == fmt.nan_code else rounded


@checked
def widen(code: int, fmt: FloatFormat) -> int:
    """Convert a BF16 or FP16 code to FP32: exact, NaN with its payload."""
    x = decode(fmt, code)
    sign = FP32.sign_mask if x.sign else 0
    if x.kind is Kind.FINITE:
        return round_to_format(x.value, FP32, zero_sign=x.sign)
    return sign | FP32.infinity_code | (code & fmt.fraction_mask) << FP32.fraction_bits - fmt.fraction_bits


@checked
def bf16_to_int32(code: int, shift: int) -> int:
    """Return the largest integer not above a BF16 number times ``2**shift``, saturated; NaN gives 2**31 - 1."""
    x = decode(BF16, code)
    if x.kind is Kind.NAN:
        return INT32_MAX
    if x.kind is Kind.INFINITY:
        return -INT32_MAX - 1 if x.sign else INT32_MAX
    integer = round_to_integer(x.value * power_of_two(shift), Rounding.RTD)
    return min(max(integer, -INT32_MAX - 1), INT32_MAX)


@checked
def f32_to_int32(code: int, shift: int, rounding: RoundingCode) -> int:
    """Convert an FP32 code to BF16, and that times ``2**shift`` to an integer."""
    return bf16_to_int32(narrow(code, BF16, rounding), shift)


@checked
def split_f32(code: int) -> tuple[int, ...]:
    """Return three BF16 codes, each the nearest to the remainder of the ones before; 0 after an infinity or a NaN."""
    pieces = [narrow(code, BF16, RoundingCode.CONV_EVEN)]
    if decode(BF16, pieces[0]).kind is not Kind.FINITE:
        return pieces[0], *(0,) * (F32_PIECES - 1)
    left = decode(FP32, code).value
    for _ in range(F32_PIECES - 1):
        left -= decode(BF16, pieces[-1]).value
        pieces.append(round_to_format(left, BF16))
    return tuple(pieces)


@checked
def piece_pairs(products: int) -> list[tuple[int, int]]:
    """Return which pieces of A and B are multiplied, in order, smallest products first, for 9, 6 or 3 products."""
    largest = F32_PRODUCTS[products]
    pairs = [(i, j) for i in range(F32_PIECES) for j in range(F32_PIECES) if i + j <= largest]
    return sorted(pairs, key=lambda pair: (-sum(pair), -pair[0]))


# Flags of one lane, by their definitions.
#
# Ref: AM029, SR1; points that it leaves open are in `bitpath.golden.aie_ml_v2.declarations.choices.CHOICES`.


@checked
def narrow_flags(
    code: int,
    fmt: FloatFormat,
    rounding: RoundingCode,
    *,
    saturate: FloatSaturation | int | bool = False,
    shift: int = 0,
) -> Flags:
    """Return the flags of `narrow`."""
    x = decode(FP32, code)
    result = narrow(code, fmt, rounding, saturate=saturate, shift=shift)
    exact = x.value * power_of_two(shift) if x.kind is Kind.FINITE else None
    return _float_flags(result, fmt, exact, rounding.mode, invalid=x.kind is Kind.NAN)


@checked
def dot_flags(lane: LaneTrace) -> Flags:
    """Return the flags of a lane of floats or blocks."""
    exact = None if lane.total is None else lane.total * lane.unit if lane.total else Fraction(0)
    invalid = decode(FP32, lane.result).kind is Kind.NAN
    return _float_flags(lane.result, FP32, exact, lane.numerics.result_rounding.mode, invalid=invalid)


def _float_flags(code: int, fmt: FloatFormat, exact: Fraction | None, mode: Rounding, *, invalid: bool) -> Flags:
    """Return the flags of a result and of the number before its rounding; None where an operand is not finite."""
    result, unbounded = decode(fmt, code), round_unbounded(exact or Fraction(0), fmt, mode)
    return Flags(
        zero=result.is_zero,
        infinity=result.kind is Kind.INFINITY,
        invalid=invalid,
        tiny=0 < abs(unbounded) < fmt.min_normal,
        huge=abs(unbounded) > fmt.max,
    )


@checked
def int32_flags(code: int, shift: int) -> Flags:
    """Return the flags of `bf16_to_int32`."""
    x = decode(BF16, code)
    if x.kind is not Kind.FINITE:
        return Flags(invalid=x.kind is Kind.NAN, huge=x.kind is Kind.INFINITY)
    integer = round_to_integer(x.value * power_of_two(shift), Rounding.RTD)
    zero = bf16_to_int32(code, shift) == 0
    return Flags(zero=zero, tiny=zero and not x.is_zero, huge=not -INT32_MAX - 1 <= integer <= INT32_MAX)


@checked
def mx_flags(inputs: Sequence[int]) -> Flags:
    """Return the flags of a conversion of FP32 codes to a block."""
    return Flags(invalid=any(decode(FP32, code).kind is Kind.NAN for code in inputs))


@checked
def srs_flags(
    acc: int, shift: int, out_bits: int, rounding: RoundingCode, saturation: Saturation, signed: bool
) -> Flags:
    """Return the flags of `srs`."""
    result = srs(acc, shift, out_bits, rounding, saturation, signed)
    return Flags(overflow=result != shift_round(acc, shift, rounding.mode))


@checked
def ups_flags(x: int, shift: int, acc_bits: int, saturation: Saturation) -> Flags:
    """Return the flags of `ups`."""
    return Flags(overflow=ups(x, shift, acc_bits, saturation) != x << shift)


@checked
def status_word(group: FlagGroup, flags: Flags) -> int:
    """Return flags of a group in their places in its status register; the others are left out."""
    given = asdict(flags)
    return sum(given[name] << bit for name, bit in group.bits.items())
