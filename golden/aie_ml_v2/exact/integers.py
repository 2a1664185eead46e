"""Integer lanes on scalars: multiply-accumulate, shift-round-saturate, upshift.

Ref: llvm-aie for control bits; UG1583 for rounding and saturation codes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode, Saturation
from bitpath.golden.aie_ml_v2.declarations.modes import Mode
from bitpath.golden.scalar.arguments import check_length
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.rounding import shift_round


@dataclass(frozen=True)
class IntegerLaneTrace:
    """Trace of one multiply-accumulate of an integer lane.

    Attributes
    ----------
    mode : the row of Table 7.
    a, b : the operands.
    products : products of each pair, negation applied.
    addends : addends of acc1 and acc2, shift and negation applied.
    total : the exact sum of them all.
    result : the total, wrapped to the lane's bits.
    """

    mode: Mode
    a: tuple[int, ...]
    b: tuple[int, ...]
    products: tuple[int, ...]
    addends: tuple[int, int]
    total: int
    result: int


@checked
def wrap(value: int, bits: int, signed: bool = True) -> int:
    """Return the number that the low `bits` bits of an integer are."""
    low = value % (1 << bits)
    return low - (1 << bits) if signed and low >> bits - 1 else low


@checked
def saturate(value: int, bits: int, saturation: Saturation, signed: bool) -> int:
    """Bring an integer into `bits` bits."""
    if saturation is Saturation.NONE:
        return wrap(value, bits, signed)
    highest = (1 << bits - 1) - 1 if signed else (1 << bits) - 1
    lowest = 0
    if signed:
        lowest = -highest if saturation is Saturation.SYMMETRIC else -highest - 1
    return min(max(value, lowest), highest)


@checked
def trace_integer_lane(
    mode: Mode,
    a: Sequence[int],
    b: Sequence[int],
    acc1: int = 0,
    acc2: int = 0,
    *,
    shift16: bool = False,
    negate_products: bool = False,
    negate_acc1: bool = False,
    negate_acc2: bool = False,
) -> IntegerLaneTrace:
    """Sum products and two accumulators, wrapping; `shift16` multiplies acc1 by 2**16 first."""
    check_length("b", b, len(a), " as a")
    products = tuple((-x if negate_products else x) * y for x, y in zip(a, b, strict=True))
    first = acc1 << 16 if shift16 else acc1
    addends = -first if negate_acc1 else first, -acc2 if negate_acc2 else acc2
    total = sum(products) + sum(addends)
    return IntegerLaneTrace(mode, tuple(a), tuple(b), products, addends, total, wrap(total, mode.lane_bits))


@checked
def integer_lane(mode: Mode, a: Sequence[int], b: Sequence[int], acc1: int = 0, acc2: int = 0, **options: bool) -> int:
    """Return the result of `trace_integer_lane`."""
    return trace_integer_lane(mode, a, b, acc1, acc2, **options).result


@checked
def srs(acc: int, shift: int, out_bits: int, rounding: RoundingCode, saturation: Saturation, signed: bool) -> int:
    """Divide an accumulator lane by ``2**shift``, round, bring into `out_bits` bits."""
    return saturate(shift_round(acc, shift, rounding.mode), out_bits, saturation, signed)


@checked
def ups(x: int, shift: int, acc_bits: int, saturation: Saturation) -> int:
    """Multiply a vector lane by ``2**shift`` into an accumulator lane, saturated before the shift where asked."""
    if saturation is not Saturation.NONE:
        highest = (1 << acc_bits - 1) - 1 >> shift
        lowest = -highest if saturation is Saturation.SYMMETRIC else -(1 << acc_bits - 1) >> shift
        x = min(max(x, lowest), highest)
    return wrap(x << shift, acc_bits)
