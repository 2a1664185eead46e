"""Flags of one lane, by their definitions.

Ref: AM029, SR1; points that it leaves open are in `bitpath.golden.aie_ml_v2.declarations.choices.CHOICES`.
"""

from collections.abc import Sequence
from dataclasses import asdict
from fractions import Fraction

from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode, Saturation
from bitpath.golden.aie_ml_v2.declarations.status import FlagGroup, Flags, FloatSaturation
from bitpath.golden.aie_ml_v2.exact.conversions import INT32_MAX, bf16_to_int32, narrow
from bitpath.golden.aie_ml_v2.exact.fused import LaneTrace
from bitpath.golden.aie_ml_v2.exact.integers import srs, ups
from bitpath.golden.formats.catalogue import BF16, FP32, FloatFormat
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.codec import Kind, decode, power_of_two
from bitpath.golden.scalar.rounding import round_to_integer, round_unbounded, shift_round


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
