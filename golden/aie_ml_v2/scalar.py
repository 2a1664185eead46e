"""The scalar unit on words of 32 bits: sums, logic, shifts, products, comparisons, counts, and a step of a division.

Ref: AM027, Scalar Unit; llvm-aie for the operations. Points without public documents are listed in
`bitpath.golden.aie_ml_v2.declarations.choices.CHOICES`.
"""

from collections.abc import Callable

import numpy as np

from bitpath.golden.aie_ml_v2.convert.floats import fix_to_float, float_to_fix
from bitpath.golden.aie_ml_v2.convert.integers import wrap
from bitpath.golden.aie_ml_v2.declarations.mover import WORD_BITS, ScalarFunction, ScalarOp, Sr2
from bitpath.golden.arrays import fp32
from bitpath.golden.arrays.arguments import check_array, check_broadcast, check_integers, checked, integer
from bitpath.golden.formats.catalogue import FP32

# Inverse, square root and inverse square root of the scalar unit.
#
# The hardware's bits are not public; here results are correctly rounded (`bitpath.golden.aie_ml_v2.declarations.choices.CHOICES`).
#
# Ref: AM027, Scalar Unit; llvm-aie for the integer forms, whose conversions at both ends belong to the instruction; AM029 for
# the status register.


_FUNCTIONS = {
    ScalarFunction.INV: fp32.reciprocal,
    ScalarFunction.SQRT: fp32.square_root,
    ScalarFunction.INVSQRT: fp32.reciprocal_square_root,
}


@checked
def scalar_function(
    function: ScalarFunction | str, bits: np.ndarray, *, fix_in: int | None = None, fix_out: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return 1 / x ("inv"), sqrt(x) ("sqrt") or 1 / sqrt(x) ("invsqrt"), rounded to nearest even, and the flags.

    Subnormals count on both sides, and every NaN is 0x7FC00000. A zero gives infinity of its sign, but a zero for "sqrt";
    below zero both roots are NaN; infinity gives a zero of its sign, but infinity for "sqrt".

    Parameters
    ----------
    bits : FP32 codes, uint32 of any shape; with `fix_in` int32.
    fix_in : None, or the shift, -32 to 31, with which `fix_to_float` converts the argument.
    fix_out : None, or the shift, -32 to 31, with which `float_to_fix` converts the result.

    Returns
    -------
    FP32 codes, uint32, with `fix_out` int32; and flags of SR2, uint32, of the function and of the conversions. NaN sets
    invalid and not inexact; an infinity from an infinity or from a zero is neither huge nor inexact.

    Raises
    ------
    TypeError, ValueError : another function, dtype or shift.
    """
    function = ScalarFunction(function)
    check_array("bits", bits, np.uint32 if fix_in is None else np.int32)
    before: np.ndarray | int = 0
    if fix_in is not None:
        bits, before = fix_to_float(bits, fix_in)
    x = bits.view(np.float32)
    y = np.asarray(_FUNCTIONS[function](x))
    result, flags = y.view(np.uint32), before | _flags(function, x, y)
    if fix_out is not None:
        result, after = float_to_fix(result, fix_out)
        flags |= after
    return result, np.asarray(flags)


def _flags(function: ScalarFunction, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the function's own flags for a float32 argument and result."""
    with np.errstate(invalid="ignore"):
        argument, result = x.astype(np.float64), y.astype(np.float64)
        if function is ScalarFunction.SQRT:
            exact = result * result == argument
        else:
            # The inverse of a number with more than one bit has no end. The product with a power of two is exact.
            one_bit = np.frexp(np.abs(result))[0] == 0.5
            powers = result if function is ScalarFunction.INV else result * result
            exact = one_bit & (argument * powers == 1)
    number = np.isfinite(x) & (x != 0) & ~np.isnan(y)
    flags = (
        np.where(y == 0, Sr2.ZERO, 0)
        | np.where(np.isinf(y), Sr2.INFINITY, 0)
        | np.where(np.isnan(y), Sr2.INVALID, 0)
        | np.where((y != 0) & (np.abs(result) < float(FP32.min_normal)), Sr2.TINY, 0)
        | np.where(number & np.isinf(y), Sr2.HUGE, 0)
        | np.where(number & ~exact, Sr2.INEXACT, 0)
    )
    return np.asarray(flags.astype(np.uint32))


MASK = (1 << WORD_BITS) - 1
_SIGN = 1 << WORD_BITS - 1
Words = np.ndarray


def _signed(a: Words) -> Words:
    return wrap(a, WORD_BITS)


def _product(a: Words, b: Words) -> Words:
    """Return the low 32 bits of the product, which 64 bits without sign hold."""
    return ((a.astype(np.uint64) * b.astype(np.uint64)) & np.uint64(MASK)).astype(np.int64)


def _shifted(a: Words, amount: Words) -> Words:
    """Return a * 2**amount, for any 32-bit amount; right shifts keep the sign of a."""
    left, right = np.clip(amount, 0, WORD_BITS), np.clip(-amount, 0, WORD_BITS)
    return a << left >> right


def _leading_zeros(a: Words) -> Words:
    return WORD_BITS - np.frexp(a.astype(np.float64))[1]


_WITH_CARRY: dict[ScalarOp, Callable[[Words, Words, Words], Words]] = {
    ScalarOp.ADD: lambda a, b, _: a + b,
    ScalarOp.ADC: lambda a, b, carry: a + b + carry,
    ScalarOp.SUB: lambda a, b, _: a - b,
    ScalarOp.SBC: lambda a, b, carry: a - b - carry,
}
"""Exact results; the carry is bit 32, of a difference its sign."""
_WITHOUT: dict[ScalarOp, Callable[[Words, Words, Words], Words]] = {
    ScalarOp.ABS: lambda a, b, _: np.abs(_signed(a)),
    ScalarOp.AND: lambda a, b, _: a & b,
    ScalarOp.OR: lambda a, b, _: a | b,
    ScalarOp.XOR: lambda a, b, _: a ^ b,
    ScalarOp.LSHL: lambda a, b, _: _shifted(a, _signed(b)),
    ScalarOp.ASHL: lambda a, b, _: _shifted(_signed(a), _signed(b)),
    ScalarOp.MUL: lambda a, b, _: _product(a, b),
    ScalarOp.MAC: lambda a, b, acc: acc + _product(a, b),
    ScalarOp.MSC: lambda a, b, acc: acc - _product(a, b),
    ScalarOp.MIN: lambda a, b, _: np.minimum(_signed(a), _signed(b)),
    ScalarOp.MAX: lambda a, b, _: np.maximum(_signed(a), _signed(b)),
    ScalarOp.MINU: lambda a, b, _: np.minimum(a, b),
    ScalarOp.MAXU: lambda a, b, _: np.maximum(a, b),
    ScalarOp.LT: lambda a, b, _: _signed(a) < _signed(b),
    ScalarOp.LTU: lambda a, b, _: a < b,
    ScalarOp.GE: lambda a, b, _: _signed(a) >= _signed(b),
    ScalarOp.GEU: lambda a, b, _: a >= b,
    ScalarOp.EQ: lambda a, b, _: a == b,
    ScalarOp.NE: lambda a, b, _: a != b,
    ScalarOp.EQZ: lambda a, b, _: a == 0,
    ScalarOp.NEZ: lambda a, b, _: a != 0,
    ScalarOp.SELEQZ: lambda a, b, acc: np.where(acc == 0, a, b),
    ScalarOp.SELNEZ: lambda a, b, acc: np.where(acc != 0, a, b),
    ScalarOp.CLZ: lambda a, b, _: _leading_zeros(a),
    ScalarOp.CLB: lambda a, b, _: _leading_zeros(np.where(a & _SIGN, a ^ MASK, a)),
    ScalarOp.POPCOUNT: lambda a, b, _: np.bitwise_count(a),
    ScalarOp.EXT_S8: lambda a, b, _: wrap(a, 8),
    ScalarOp.EXT_S16: lambda a, b, _: wrap(a, 16),
    ScalarOp.EXT_U8: lambda a, b, _: wrap(a, 8, signed=False),
    ScalarOp.EXT_U16: lambda a, b, _: wrap(a, 16, signed=False),
}
"""Results before they are wrapped, of a, b and acc."""


@checked
def scalar_op(
    op: ScalarOp | str,
    a: np.ndarray,
    b: np.ndarray | int = 0,
    *,
    carry: np.ndarray | int = 0,
    acc: np.ndarray | int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute an operation of the scalar unit; results wrap to 32 bits.

    Parameters
    ----------
    op : a `ScalarOp`, or its value, for example "ashl".
    a, b : unsigned words of any shapes that broadcast; operations of one operand ignore b.
    carry : 0 or 1, the carry before.
    acc : unsigned words: the accumulator of "mac" and "msc", r27 of the selections.

    Returns
    -------
    uint32 result and uint8 carry; operations that do not make a carry return the one before.

    Raises
    ------
    TypeError, ValueError : another operation or dtype; integers out of range; shapes that do not broadcast.
    """
    op = ScalarOp(op)
    given = {"a": (a, WORD_BITS), "b": (b, WORD_BITS), "carry": (carry, 1), "acc": (acc, WORD_BITS)}
    taken = {name: _words(name, words, bits) for name, (words, bits) in given.items()}
    shape = check_broadcast(**{name: words.shape for name, words in taken.items()})
    words, others, carries, third = (np.broadcast_to(each, shape) for each in taken.values())
    if op in _WITH_CARRY:
        total = _WITH_CARRY[op](words, others, carries)
        carries = total >> WORD_BITS & 1
    else:
        total = np.asarray(_WITHOUT[op](words, others, third)).astype(np.int64)
        carries = total >> WORD_BITS - 1 if op is ScalarOp.ABS else carries
    return np.asarray((total & MASK).astype(np.uint32)), np.asarray(carries.astype(np.uint8))


@checked
def divide_step(rest: np.ndarray, quotient: np.ndarray, divisor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rest and quotient after one step of a division; 32 steps divide.

    The quotient's highest bit moves into the rest, which is compared with 33 bits. Where the divisor fits, it is subtracted and
    the quotient's new lowest bit is 1. Before the first step the rest is 0 and the quotient is the dividend.

    Parameters
    ----------
    rest, quotient, divisor : unsigned words of any shapes that broadcast; the quotient is the machine's r31.

    Returns
    -------
    uint32 rest and quotient.

    Raises
    ------
    TypeError, ValueError : no integers; integers out of range; shapes that do not broadcast.
    """
    given = {"rest": rest, "quotient": quotient, "divisor": divisor}
    taken = {name: _words(name, words, WORD_BITS) for name, words in given.items()}
    check_broadcast(**{name: words.shape for name, words in taken.items()})
    before, digits, step = taken.values()
    moved = before << 1 | digits >> WORD_BITS - 1
    fits = moved >= step
    rests, quotients = np.where(fits, moved - step, moved), digits << 1 | fits
    return np.asarray((rests & MASK).astype(np.uint32)), np.asarray((quotients & MASK).astype(np.uint32))


def _words(name: str, words: np.ndarray | int, bits: int) -> np.ndarray:
    array = words if isinstance(words, np.ndarray) else np.asarray(integer(name, words))
    check_integers(name, array, bits, signed=False)
    return array.astype(np.int64)
