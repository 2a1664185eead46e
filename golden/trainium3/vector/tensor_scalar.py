"""tensor_scalar and tensor_scalar_reduce: one or two operations of a tile with a number for each partition.

Ref: ``nki.isa.tensor_scalar`` and ``nki.isa.tensor_scalar_reduce`` reference pages, NKI 0.3 (AWS Neuron documentation,
2025-12-01).
"""

import numpy as np

from bitpath.golden.arrays.arguments import check_choice, checked, member
from bitpath.golden.trainium3.declarations.vector import SumOrder
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.vector.engine import OPERATORS, output_dtype, read_operand, read_tile
from bitpath.golden.trainium3.vector.reduction import SumOrderName, check_reduction, reduce_free


@checked
def tensor_scalar(
    data: np.ndarray,
    op0: str,
    operand0: float | np.ndarray | None = None,
    op1: str | None = None,
    operand1: float | np.ndarray | None = None,
    *,
    reverse0: bool = False,
    reverse1: bool = False,
    dtype: np.dtype | type = np.float32,
) -> np.ndarray:
    """Return ``(data op0 operand0) op1 operand1``, each operation rounded to FP32, then the cast to `dtype`.

    Parameters
    ----------
    data : [P, F], P from 1 to 128, of float32, bfloat16, float16 or an 8-bit float.
    op0, op1 : "add", "subtract", "multiply", "max", "min", "abs_max" (the operand of larger magnitude, with its sign, the
        right one of equal ones), or "abs", which takes no operand; no second operation for None.
    operand0, operand1 : numbers, rounded to FP32, or arrays [P, 1] of data's dtypes.
    reverse0, reverse1 : True if the operand is left of the operator.
    dtype : dtype of the result.

    Returns
    -------
    [P, F] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or operator; an operand missing, or given where there is none to take.
    """
    dtype = output_dtype(dtype)
    values = apply_operator("0", read_tile("data", data), op0, operand0, reverse0)
    if op1 is not None:
        values = apply_operator("1", values, op1, operand1, reverse1)
    elif operand1 is not None or reverse1:
        raise ValueError("op1 must be an operator with operand1 or reverse1, not None")
    return fp32.write(values, dtype)


@checked
def tensor_scalar_reduce(
    data: np.ndarray,
    op0: str,
    operand0: float | np.ndarray | None = None,
    *,
    reduce_op: str,
    reverse0: bool = False,
    dtype: np.dtype | type = np.float32,
    sum_order: SumOrderName = "serial",
) -> tuple[np.ndarray, np.ndarray]:
    """Compute ``data op0 operand0``, and reduce it, before the cast to `dtype`, along the free dimension.

    Parameters
    ----------
    reduce_op : "add", "max", "min" or "abs_max".
    sum_order : order of "add", "serial" or "exact".
    data, op0, operand0, reverse0, dtype : as `tensor_scalar`.

    Returns
    -------
    the result [P, F] of `dtype`, and the reduction [P, 1], float32.

    Raises
    ------
    TypeError, ValueError : as `tensor_scalar`; another reduction or order.
    """
    dtype = output_dtype(dtype)
    check_reduction("reduce_op", reduce_op)
    order = member("sum_order", sum_order, SumOrder)
    values = apply_operator("0", read_tile("data", data), op0, operand0, reverse0)
    return fp32.write(values, dtype), reduce_free(values, reduce_op, order)


def apply_operator(
    number: str, values: np.ndarray, op: str, operand: float | np.ndarray | None, reverse: bool
) -> np.ndarray:
    """Apply an operator with a scalar operand to float32 [P, F]; errors call them op and operand with their number."""
    check_choice(f"op{number}", op, (*OPERATORS, "abs"))
    if op == "abs":
        if operand is not None or reverse:
            raise ValueError(f"op{number} must be a binary operator with an operand or reverse, not 'abs'")
        return fp32.absolute(values)
    other = read_operand(f"operand{number}", operand, len(values))
    return OPERATORS[op](*((other, values) if reverse else (values, other)))
