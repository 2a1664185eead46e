"""tensor_scalar and tensor_scalar_reduce: one or two operations of a tile with a number for each partition.

Ref: ``nki.isa.tensor_scalar`` and ``nki.isa.tensor_scalar_reduce`` reference pages, NKI 0.6 (AWS Neuron documentation,
2026-08).
"""

from typing import Literal

import numpy as np

from bitpath.golden.arrays.arguments import check_choice, checked, member
from bitpath.golden.trainium3.declarations.vector import SumOrder
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.vector.accumulators import start_of
from bitpath.golden.trainium3.vector.engine import (
    INTEGER_DTYPES,
    bit_dtype,
    bit_words,
    check_tile,
    output_dtype,
    read_bit_operand,
    read_operand,
    read_tile,
    write,
)
from bitpath.golden.trainium3.vector.operators import BIT_NOT, BIT_OPERATORS, OPERATORS, UNARY
from bitpath.golden.trainium3.vector.reduction import IDENTITIES, SumOrderName, check_reduction, reduce_onto

_REDUCE_COMMANDS = ("reset_reduce", "reduce", "load_reduce")


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
    dtype: np.dtype | type | str | None = None,
) -> np.ndarray:
    """Return ``(data op0 operand0) op1 operand1``, each operation rounded to FP32, then the cast to `dtype`.

    Parameters
    ----------
    data : [P, F], P from 1 to 128, of a dtype in `ENGINE_DTYPES`.
    op0, op1 : an operator of `OPERATORS` ("abs_max" and "abs_min" give the operand of larger or smaller magnitude with its
        sign, the right one of equal ones), or one of `UNARY`, which takes no operand; no second operation for None. Or
        both of `BIT_OPERATORS`, or "bitwise_not" without operand, on integers, which are not cast.
    operand0, operand1 : numbers, rounded to FP32, or arrays [P, 1] of data's dtypes; for bit operators integers of data's
        size.
    reverse0, reverse1 : True if the operand is left of the operator.
    dtype : dtype of the result, also "tf32"; None is float32, or data's with bit operators, which take another integer
        dtype of its size.

    Returns
    -------
    [P, F] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or operator; an operand missing, or given where there is none to take.
    """
    if op1 is None and (operand1 is not None or reverse1):
        raise ValueError("op1 must be an operator with operand1 or reverse1, not None")
    steps = [("0", op0, operand0, reverse0), *([] if op1 is None else [("1", op1, operand1, reverse1)])]
    bits = [isinstance(op, str) and op in (*BIT_OPERATORS, BIT_NOT) for _, op, _, _ in steps]
    if any(bits):
        if not all(bits):
            raise ValueError(f"op0 and op1 must both be bit operators or neither, not {op0!r} and {op1!r}")
        check_tile("data", data, *INTEGER_DTYPES)
        dtype = bit_dtype(dtype, data.dtype)
        words = bit_words(data)
        for step in steps:
            words = _apply_bits(words, *step)
        return words.view(dtype)
    dtype = output_dtype(np.float32 if dtype is None else dtype)
    values = read_tile("data", data)
    for step in steps:
        values = apply_operator(values, *step)
    return write(values, dtype)


@checked
def tensor_scalar_reduce(
    data: np.ndarray,
    op0: str,
    operand0: float | np.ndarray | None = None,
    *,
    reduce_op: str,
    reverse0: bool = False,
    reduce_cmd: Literal["reset_reduce", "reduce", "load_reduce"] = "reset_reduce",
    accumulators: np.ndarray | None = None,
    reduce_init: float | np.ndarray | None = None,
    reduce_res_negate: bool = False,
    dtype: np.dtype | type | str = np.float32,
    sum_order: SumOrderName = "serial",
) -> tuple[np.ndarray, np.ndarray]:
    """Compute ``data op0 operand0``, and reduce it, before the cast to `dtype`, along the free dimension.

    The reduction starts from a register, element after element.

    Parameters
    ----------
    reduce_op : "add", "multiply", "max", "min", "abs_max" or "abs_min".
    reduce_cmd : "reset_reduce" starts from the reduction's identity, "reduce" from `accumulators`, "load_reduce" from
        `reduce_init`.
    accumulators : [P] or [P, 1] float32, for "reduce".
    reduce_init : a number or an array [P, 1], for "load_reduce".
    reduce_res_negate : True to negate the reduction that is returned; NaN keeps its code. The machine's registers hold
        it without the negation.
    sum_order : order of "add", "serial" or "exact".
    data, op0, operand0, reverse0, dtype : as `tensor_scalar`.

    Returns
    -------
    the result [P, F] of `dtype`, and the reduction [P, 1], float32.

    Raises
    ------
    TypeError, ValueError : as `tensor_scalar`; another reduction, command or order; a register missing, or given where
        the command takes none.
    """
    dtype = output_dtype(dtype)
    check_reduction("reduce_op", reduce_op)
    order = member("sum_order", sum_order, SumOrder)
    values = apply_operator(read_tile("data", data), "0", op0, operand0, reverse0)
    load = "reduce_init", reduce_init
    start = start_of(IDENTITIES[reduce_op], len(values), reduce_cmd, _REDUCE_COMMANDS, accumulators, load)
    reduced = reduce_onto(start, values, reduce_op, order)
    return write(values, dtype), fp32.one_nan(-reduced) if reduce_res_negate else reduced


def apply_operator(
    values: np.ndarray, number: str, op: str, operand: float | np.ndarray | None, reverse: bool
) -> np.ndarray:
    """Apply an operator with a scalar operand to float32 [P, F]; errors call them op and operand with their number."""
    check_choice(f"op{number}", op, (*OPERATORS, *UNARY))
    if op in UNARY:
        _check_no_operand(number, op, operand, reverse)
        return UNARY[op](values)
    other = read_operand(f"operand{number}", operand, len(values))
    return OPERATORS[op](*((other, values) if reverse else (values, other)))


def _apply_bits(
    words: np.ndarray, number: str, op: str, operand: float | np.ndarray | None, reverse: bool
) -> np.ndarray:
    """Apply a bit operator with a scalar operand to unsigned words [P, F]."""
    if op == BIT_NOT:
        _check_no_operand(number, op, operand, reverse)
        return ~words
    other = read_bit_operand(f"operand{number}", operand, words)
    return BIT_OPERATORS[op](*((np.broadcast_to(other, words.shape), words) if reverse else (words, other)))


def _check_no_operand(number: str, op: str, operand: float | np.ndarray | None, reverse: bool) -> None:
    if operand is not None or reverse:
        raise ValueError(f"op{number} must be a binary operator with an operand or reverse, not {op!r}")
