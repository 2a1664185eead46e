"""The add/compare unit on one lane.

Ref: llvm-aie for the operations; AM027 for the lanes.
"""

from fractions import Fraction

from bitpath.golden.codec import Kind, Unpacked, decode
from bitpath.golden.exact.aie_ml_v2.integers import wrap
from bitpath.golden.spec.aie_ml_v2 import VectorOp
from bitpath.golden.spec.formats import FloatFormat


def integer_op(op: VectorOp, a: int, b: int, bits: int, signed: bool, mask: bool = False) -> tuple[int, bool]:
    """Return a lane's value and its bit of the mask; `mask` picks b in SEL and the subtraction in ADDSUB."""
    value, flag = _integer(op, a, b, mask)
    return wrap(value, bits, signed), flag


def _integer(op: VectorOp, a: int, b: int, mask: bool) -> tuple[int, bool]:
    match op:
        case VectorOp.ADD:
            return a + b, False
        case VectorOp.SUB:
            return a - b, False
        case VectorOp.SEL:
            return b if mask else a, mask
        case VectorOp.ADDSUB:
            return a - b if mask else a + b, mask
        case VectorOp.AND:
            return a & b, False
        case VectorOp.OR:
            return a | b, False
        case VectorOp.ABS_GTZ:
            return abs(a), a > 0
        case VectorOp.MAXDIFF_LT:
            return max(a - b, 0), a < b
        case VectorOp.SUB_LT:
            return a - b, a < b
        case VectorOp.SUB_GE:
            return a - b, a >= b
        case VectorOp.BNEG_LTZ:
            return ~a, a < 0
        case VectorOp.EQZ:
            return a, a == 0
        case VectorOp.MIN_GE:
            return min(a, b), a >= b
        case VectorOp.MAX_LT:
            return max(a, b), a < b
        case VectorOp.LT:
            return a, a < b
        case VectorOp.NEG_GTZ:
            return -a, a > 0
        case VectorOp.GE:
            return a, a >= b


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
    """Return what orders numbers and infinities."""
    if x.kind is Kind.INFINITY:
        return (-1) ** x.sign, Fraction(0)
    return 0, x.value
