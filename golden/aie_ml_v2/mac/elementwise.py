"""The add/compare unit: integers of 8, 16 and 32 bits, and comparisons of 16-bit and 8-bit floats.

Ref: AM027, Vector Unit; llvm-aie for the operations and their codes.
"""

from collections.abc import Callable

import numpy as np

from bitpath.golden.aie_ml_v2.convert.integers import wrap
from bitpath.golden.aie_ml_v2.declarations.codes import FLOAT_OP_FORMATS, FLOAT_OPS, LANE_BITS, VECTOR_BITS, VectorOp
from bitpath.golden.arrays.arguments import (
    check_array,
    check_broadcast,
    check_choice,
    check_integers,
    check_shape,
    checked,
    member,
)
from bitpath.golden.arrays.codec import DTYPES, codes_of, decode_array, format_of

Integers = np.ndarray
_NONE = np.False_
_INTEGER_OPS: dict[
    VectorOp, Callable[[Integers, Integers, Integers | np.bool], tuple[Integers, Integers | np.bool]]
] = {
    VectorOp.ADD: lambda a, b, _: (a + b, _NONE),
    VectorOp.SUB: lambda a, b, _: (a - b, _NONE),
    VectorOp.SEL: lambda a, b, mask: (np.where(mask, b, a), mask),
    VectorOp.ADDSUB: lambda a, b, mask: (np.where(mask, a - b, a + b), mask),
    VectorOp.AND: lambda a, b, _: (a & b, _NONE),
    VectorOp.OR: lambda a, b, _: (a | b, _NONE),
    VectorOp.ABS_GTZ: lambda a, b, _: (np.abs(a), a > 0),
    VectorOp.MAXDIFF_LT: lambda a, b, _: (np.maximum(a - b, 0), a < b),
    VectorOp.SUB_LT: lambda a, b, _: (a - b, a < b),
    VectorOp.SUB_GE: lambda a, b, _: (a - b, a >= b),
    VectorOp.BNEG_LTZ: lambda a, b, _: (~a, a < 0),
    VectorOp.EQZ: lambda a, b, _: (a, a == 0),
    VectorOp.MIN_GE: lambda a, b, _: (np.minimum(a, b), a >= b),
    VectorOp.MAX_LT: lambda a, b, _: (np.maximum(a, b), a < b),
    VectorOp.LT: lambda a, b, _: (a, a < b),
    VectorOp.NEG_GTZ: lambda a, b, _: (-a, a > 0),
    VectorOp.GE: lambda a, b, _: (a, a >= b),
}
MASKED_OPS = (VectorOp.SEL, VectorOp.ADDSUB)
"""Operations that read a mask."""
UNARY_OPS = (VectorOp.ABS_GTZ, VectorOp.BNEG_LTZ, VectorOp.EQZ, VectorOp.NEG_GTZ)
"""Operations that read no second operand."""


@checked
def vector_op(
    op: VectorOp | int | str,
    a: np.ndarray,
    b: np.ndarray | None = None,
    *,
    bits: int,
    signed: bool = True,
    mask: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute on 64 lanes of 8, 32 of 16 or 16 of 32 bits.

    Parameters
    ----------
    op : a `VectorOp`, its code, or its name, for example "max_lt".
    a, b : integers [..., 512 / bits]; operations of one operand leave `b` out.
    bits : bits of a lane.
    signed : True if lanes and result are signed.
    mask : bool as `a`, for "sel" (where b is taken) and "addsub" (where b is subtracted).

    Returns
    -------
    values int64 and mask bool, both as `a`; `pack_mask` gives the mask as a scalar. Values wrap. Operations without a
    mask of their own return False.

    Raises
    ------
    TypeError, ValueError : another operation, dtype or shape; integers out of range; a mask missing or too many.
    """
    op = _operation(op)
    bits = check_choice("bits", bits, LANE_BITS)
    lanes = VECTOR_BITS // bits
    b = np.zeros_like(a) if b is None and op in UNARY_OPS else b
    for name, operand in (("a", a), ("b", b)):
        check_integers(name, operand, bits, signed)
        check_shape(name, operand, "...", lanes, why=f" with {bits} bits")
    if (mask is not None) != (op in MASKED_OPS):
        given, needed = ("None", "a mask") if mask is None else ("given", "None")
        raise ValueError(f"mask must be {needed} with {op.name.lower()}, not {given}")
    if mask is not None:
        check_array("mask", mask, np.bool_)
        check_shape("mask", mask, "...", lanes, why=f" with {bits} bits")
    shapes = {"a": a.shape[:-1], "b": b.shape[:-1]}
    check_broadcast(**shapes if mask is None else shapes | {"mask": mask.shape[:-1]})
    values, flags = _INTEGER_OPS[op](a.astype(np.int64), b.astype(np.int64), _NONE if mask is None else mask)
    return wrap(values, bits, signed), np.broadcast_to(flags, values.shape).copy()


@checked
def float_op(op: VectorOp | int | str, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compare floats of one dtype, or take the smaller or the larger: "min_ge", "max_lt", "lt", "ge".

    A comparison with NaN is false; minimum and maximum with NaN give the other operand. Of equal numbers the minimum is
    b and the maximum a.

    Parameters
    ----------
    a, b : [..., 32] bfloat16 or float16, or [..., 64] of 8-bit floats.

    Returns
    -------
    values of the dtype of `a` (itself for "lt" and "ge") and mask bool.

    Raises
    ------
    TypeError, ValueError : another operation, dtype or shape.
    """
    op = _operation(op)
    check_choice("op", op.name.lower(), [each.name.lower() for each in FLOAT_OPS])
    dtypes = [DTYPES[fmt] for family in FLOAT_OP_FORMATS for fmt in family]
    check_array("a", a, *dtypes)
    check_array("b", b, a.dtype)
    lanes = VECTOR_BITS // (8 * a.dtype.itemsize)
    check_shape("a", a, "...", lanes, why=f" for {a.dtype}")
    check_shape("b", b, "...", lanes, why=f" for {b.dtype}")
    check_broadcast(a=a.shape[:-1], b=b.shape[:-1])
    x, y = (decode_array(format_of(each.dtype), codes_of(each)) for each in (a, b))
    flags = x < y if op in (VectorOp.LT, VectorOp.MAX_LT) else x >= y
    if op in (VectorOp.LT, VectorOp.GE):
        return np.broadcast_to(a, flags.shape).copy(), flags
    take_b = np.isnan(x) | (flags & ~np.isnan(y))
    return np.where(take_b, codes_of(b), codes_of(a)).view(a.dtype), flags


def _operation(op: VectorOp | int | str) -> VectorOp:
    if isinstance(op, str):
        check_choice("op", op, [each.name.lower() for each in VectorOp])
        return VectorOp[op.upper()]
    return member("op", op, VectorOp)
