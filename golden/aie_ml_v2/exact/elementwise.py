"""The add/compare unit on one lane.

Ref: llvm-aie for the operations; AM027 for the lanes.
"""

from collections.abc import Callable
from fractions import Fraction

from bitpath.golden.aie_ml_v2.declarations.codes import VectorOp
from bitpath.golden.aie_ml_v2.exact.integers import wrap
from bitpath.golden.formats.catalogue import FloatFormat
from bitpath.golden.scalar.checked import checked
from bitpath.golden.scalar.codec import Kind, Unpacked, decode

INTEGER_OPS: dict[VectorOp, Callable[[int, int, bool], tuple[int, bool]]] = {
    VectorOp.ADD: lambda a, b, _: (a + b, False),
    VectorOp.SUB: lambda a, b, _: (a - b, False),
    VectorOp.SEL: lambda a, b, mask: (b if mask else a, mask),
    VectorOp.ADDSUB: lambda a, b, mask: (a - b if mask else a + b, mask),
    VectorOp.AND: lambda a, b, _: (a & b, False),
    VectorOp.OR: lambda a, b, _: (a | b, False),
    VectorOp.ABS_GTZ: lambda a, b, _: (abs(a), a > 0),
    VectorOp.MAXDIFF_LT: lambda a, b, _: (max(a - b, 0), a < b),
    VectorOp.SUB_LT: lambda a, b, _: (a - b, a < b),
    VectorOp.SUB_GE: lambda a, b, _: (a - b, a >= b),
    VectorOp.BNEG_LTZ: lambda a, b, _: (~a, a < 0),
    VectorOp.EQZ: lambda a, b, _: (a, a == 0),
    VectorOp.MIN_GE: lambda a, b, _: (min(a, b), a >= b),
    VectorOp.MAX_LT: lambda a, b, _: (max(a, b), a < b),
    VectorOp.LT: lambda a, b, _: (a, a < b),
    VectorOp.NEG_GTZ: lambda a, b, _: (-a, a > 0),
    VectorOp.GE: lambda a, b, _: (a, a >= b),
}
"""Value before it is wrapped, and bit of the mask, of a, b and the mask given."""


@checked
def integer_op(op: VectorOp, a: int, b: int, bits: int, signed: bool, mask: bool) -> tuple[int, bool]:
    """Return a lane's value and its bit of the mask; `mask` picks b in SEL and the subtraction in ADDSUB."""
    value, flag = INTEGER_OPS[op](a, b, mask)
    return wrap(value, bits, signed), flag


@checked
def float_op(op: VectorOp, a: int, b: int, fmt: FloatFormat) -> tuple[int, bool]:
    """Return the code and the bit of the mask of MIN_GE, MAX_LT, LT or GE on two float codes."""
    flag = _compare(op, a, b, fmt)
    if op in (VectorOp.LT, VectorOp.GE):
        return a, flag
    if decode(fmt, a).kind is Kind.NAN:
        return b, flag
    if decode(fmt, b).kind is Kind.NAN:
        return a, flag
    # MIN_GE takes b where a >= b, MAX_LT takes b where a < b; of equal numbers that is b and a.
    return b if flag else a, flag


def _compare(op: VectorOp, a: int, b: int, fmt: FloatFormat) -> bool:
    x, y = decode(fmt, a), decode(fmt, b)
    if Kind.NAN in (x.kind, y.kind):
        return False
    left, right = (_place(each) for each in (x, y))
    return left < right if op in (VectorOp.MAX_LT, VectorOp.LT) else left >= right


def _place(x: Unpacked) -> tuple[int, Fraction]:
    """Return a key that orders numbers and infinities."""
    if x.kind is Kind.INFINITY:
        return (-1) ** x.sign, Fraction(0)
    return 0, x.value
