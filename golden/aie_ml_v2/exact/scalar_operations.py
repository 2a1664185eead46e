"""The scalar unit on single words, in unbounded integers. Ref: AM027, Scalar Unit; llvm-aie for the operations."""

from collections.abc import Callable

from bitpath.golden.aie_ml_v2.declarations.scalar import WORD_BITS, ScalarOp
from bitpath.golden.aie_ml_v2.exact.integers import wrap
from bitpath.golden.scalar.checked import checked

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
