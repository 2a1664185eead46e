"""The scalar unit on single words, in unbounded integers: conversions, functions and operations."""

from collections.abc import Callable
from fractions import Fraction

from bitpath.golden.aie_ml_v2.declarations.mover import WORD_BITS, ScalarFunction, ScalarOp, Sr2
from bitpath.golden.aie_ml_v2.exact.integers import wrap
from bitpath.golden.formats.catalogue import FP32, Rounding
from bitpath.golden.scalar import fp32
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.codec import Kind, Unpacked, decode, power_of_two
from bitpath.golden.scalar.rounding import floor_log2, round_to_format, round_to_integer

# Integers with a binary point to FP32 and back on scalars, each with the flags of SR2.
#
# Ref: llvm-aie for the shifts and the status register.


HIGHEST = (1 << WORD_BITS - 1) - 1


@checked
def fix_to_float(n: int, shift: int = 0) -> tuple[int, Sr2]:
    """Return the FP32 code nearest to ``n * 2**-shift``."""
    exact = n * power_of_two(-shift)
    code = round_to_format(exact, FP32)
    flags = Sr2(0) if n else Sr2.TO_FLOAT_ZERO
    return code, flags if decode(FP32, code).value == exact else flags | Sr2.TO_FLOAT_INEXACT


@checked
def float_to_fix(code: int, shift: int = 0) -> tuple[int, Sr2]:
    """Return the 32-bit integer nearest to an FP32 number times ``2**shift``; of NaN 2**31 - 1."""
    x = decode(FP32, code)
    if x.kind is Kind.NAN:
        return HIGHEST, Sr2.TO_FIX_INVALID | Sr2.TO_FIX_INEXACT
    if x.kind is Kind.INFINITY:
        return -HIGHEST - 1 if x.sign else HIGHEST, Sr2.TO_FIX_HUGE | Sr2.TO_FIX_INEXACT
    exact: Fraction = x.value * power_of_two(shift)
    rounded = round_to_integer(exact, Rounding.RNE)
    result = min(max(rounded, -HIGHEST - 1), HIGHEST)
    flags = Sr2(0) if result else Sr2.TO_FIX_ZERO
    flags |= Sr2(0) if result == exact else Sr2.TO_FIX_INEXACT
    return result, flags if result == rounded else flags | Sr2.TO_FIX_HUGE


# Inverse, square root and inverse square root on scalars, correctly rounded, with the flags of SR2.
#
# Ref: AM027, Scalar Unit; llvm-aie for the conversions of both ends; AM029 for the flags.


_CODES = {
    ScalarFunction.INV: fp32.reciprocal,
    ScalarFunction.SQRT: fp32.square_root,
    ScalarFunction.INVSQRT: fp32.reciprocal_square_root,
}
_EQUALITIES = {
    ScalarFunction.INV: lambda x, y: x * y == 1,
    ScalarFunction.SQRT: lambda x, y: y * y == x,
    ScalarFunction.INVSQRT: lambda x, y: x * y * y == 1,
}
"""True if y is exactly the function of x."""


@checked
def scalar_function(
    function: ScalarFunction, code: int, fix_in: int | None = None, fix_out: int | None = None
) -> tuple[int, Sr2]:
    """Return an FP32 code, with `fix_out` an integer, and the flags of the function and of the conversions.

    Parameters
    ----------
    code : an FP32 code, with `fix_in` an integer.
    """
    before, after = Sr2(0), Sr2(0)
    if fix_in is not None:
        code, before = fix_to_float(code, fix_in)
    result = _CODES[function](code)
    own = _flags(function, decode(FP32, code), decode(FP32, result))
    if fix_out is not None:
        result, after = float_to_fix(result, fix_out)
    return result, before | own | after


def _flags(function: ScalarFunction, x: Unpacked, y: Unpacked) -> Sr2:
    if y.kind is Kind.NAN:
        return Sr2.INVALID
    flags = Sr2.INFINITY if y.kind is Kind.INFINITY else Sr2.ZERO if y.is_zero else Sr2(0)
    if x.kind is Kind.INFINITY or x.is_zero:
        return flags
    if function is ScalarFunction.INV:  # of all others the result is a normal number
        unbounded = _unbounded(1 / abs(x.value))
        flags |= Sr2.HUGE if unbounded > FP32.max else Sr2.TINY if unbounded < FP32.min_normal else Sr2(0)
    exact = y.kind is Kind.FINITE and _EQUALITIES[function](x.value, y.value)
    return flags if exact else flags | Sr2.INEXACT


def _unbounded(value: Fraction) -> Fraction:
    """Round a positive value to FP32's precision with any exponent."""
    last_place = power_of_two(floor_log2(value) - FP32.fraction_bits)
    return round_to_integer(value / last_place, Rounding.RNE) * last_place


# The scalar unit on single words, in unbounded integers. Ref: AM027, Scalar Unit; llvm-aie for the operations.


_LOWEST = -(1 << WORD_BITS - 1)


def _signed(word: int) -> int:
    return wrap(word, WORD_BITS)


def _shifted(value: int, word: int) -> int:
    """Return an integer times a power of two; beyond 32 places nothing but zeros or the sign is left."""
    amount = _signed(word)
    return value << min(amount, WORD_BITS) if amount >= 0 else value >> min(-amount, WORD_BITS)


def _leading_copies(word: int) -> int:
    """Return how many bits from the top down are as the highest."""
    return WORD_BITS - min(_signed(word), ~_signed(word), key=lambda each: each < 0).bit_length()


_OPERATIONS: dict[ScalarOp, Callable[[int, int, int, int], int]] = {
    ScalarOp.ADD: lambda a, b, carry, acc: a + b,
    ScalarOp.ADC: lambda a, b, carry, acc: a + b + carry,
    ScalarOp.SUB: lambda a, b, carry, acc: a - b,
    ScalarOp.SBC: lambda a, b, carry, acc: a - b - carry,
    ScalarOp.ABS: lambda a, b, carry, acc: abs(_signed(a)),
    ScalarOp.AND: lambda a, b, carry, acc: a & b,
    ScalarOp.OR: lambda a, b, carry, acc: a | b,
    ScalarOp.XOR: lambda a, b, carry, acc: a ^ b,
    ScalarOp.LSHL: lambda a, b, carry, acc: _shifted(a, b),
    ScalarOp.ASHL: lambda a, b, carry, acc: _shifted(_signed(a), b),
    ScalarOp.MUL: lambda a, b, carry, acc: a * b,
    ScalarOp.MAC: lambda a, b, carry, acc: acc + a * b,
    ScalarOp.MSC: lambda a, b, carry, acc: acc - a * b,
    ScalarOp.MIN: lambda a, b, carry, acc: min(_signed(a), _signed(b)),
    ScalarOp.MAX: lambda a, b, carry, acc: max(_signed(a), _signed(b)),
    ScalarOp.MINU: lambda a, b, carry, acc: min(a, b),
    ScalarOp.MAXU: lambda a, b, carry, acc: max(a, b),
    ScalarOp.LT: lambda a, b, carry, acc: int(_signed(a) < _signed(b)),
    ScalarOp.LTU: lambda a, b, carry, acc: int(a < b),
    ScalarOp.GE: lambda a, b, carry, acc: int(_signed(a) >= _signed(b)),
    ScalarOp.GEU: lambda a, b, carry, acc: int(a >= b),
    ScalarOp.EQ: lambda a, b, carry, acc: int(a == b),
    ScalarOp.NE: lambda a, b, carry, acc: int(a != b),
    ScalarOp.EQZ: lambda a, b, carry, acc: int(a == 0),
    ScalarOp.NEZ: lambda a, b, carry, acc: int(a != 0),
    ScalarOp.SELEQZ: lambda a, b, carry, acc: b if acc else a,
    ScalarOp.SELNEZ: lambda a, b, carry, acc: a if acc else b,
    ScalarOp.CLZ: lambda a, b, carry, acc: WORD_BITS - a.bit_length(),
    ScalarOp.CLB: lambda a, b, carry, acc: _leading_copies(a),
    ScalarOp.POPCOUNT: lambda a, b, carry, acc: a.bit_count(),
    ScalarOp.EXT_S8: lambda a, b, carry, acc: wrap(a, 8),
    ScalarOp.EXT_S16: lambda a, b, carry, acc: wrap(a, 16),
    ScalarOp.EXT_U8: lambda a, b, carry, acc: wrap(a, 8, signed=False),
    ScalarOp.EXT_U16: lambda a, b, carry, acc: wrap(a, 16, signed=False),
}
"""Exact results of words without sign."""


@checked
def scalar_op(op: ScalarOp, a: int, b: int = 0, carry: int = 0, acc: int = 0) -> tuple[int, int]:
    """Return the word and the carry."""
    exact = _OPERATIONS[op](a, b, carry, acc)
    word = wrap(exact, WORD_BITS, signed=False)
    match op:
        case ScalarOp.ADD | ScalarOp.ADC | ScalarOp.SUB | ScalarOp.SBC:
            return word, int(exact != word)
        case ScalarOp.ABS:
            return word, int(exact == -_LOWEST)
        case _:
            return word, carry


@checked
def divide_step(rest: int, quotient: int, divisor: int) -> tuple[int, int]:
    """Return rest and quotient after one step."""
    moved = 2 * rest + (quotient >> WORD_BITS - 1)
    digit = int(moved >= divisor)
    rest, quotient = moved - digit * divisor, 2 * quotient + digit
    return wrap(rest, WORD_BITS, signed=False), wrap(quotient, WORD_BITS, signed=False)
