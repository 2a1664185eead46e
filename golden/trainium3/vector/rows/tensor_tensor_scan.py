"""tensor_tensor_scan: a recurrence along each row, over the elements of two tiles.

Bit-identical to `bitpath.golden.trainium3.exact.scan_row`.

Ref: ``nki.isa.tensor_tensor_scan`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08).
"""

import numpy as np

from bitpath.golden.arrays.arguments import check_choice, checked
from bitpath.golden.trainium3.vector.engine import check_shapes, output_dtype, read_operand, read_tile, write
from bitpath.golden.trainium3.vector.operators import OPERATORS


@checked
def tensor_tensor_scan(
    data0: np.ndarray,
    data1: np.ndarray,
    initial: float | np.ndarray,
    op0: str,
    op1: str,
    *,
    reverse0: bool = False,
    reverse1: bool = False,
    dtype: np.dtype | type | str = np.float32,
) -> np.ndarray:
    """Return the states ``s = (data0[i] op0 s) op1 data1[i]`` of each row, from ``s = initial`` on.

    Each operation is rounded to FP32. The next element takes the state before the cast to `dtype`.

    Parameters
    ----------
    data0, data1 : [P, F], P from 1 to 128, each of a dtype in `ENGINE_DTYPES`.
    initial : a number, rounded to FP32, or an array [P, 1] of the tiles' dtypes.
    op0, op1 : operators of `OPERATORS`.
    reverse0 : True for ``s op0 data0[i]``.
    reverse1 : True for ``data1[i] op1`` the result of op0.
    dtype : dtype of the result, also "tf32".

    Returns
    -------
    [P, F] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or operator.
    """
    dtype = output_dtype(dtype)
    first, second = read_tile("data0", data0), read_tile("data1", data1)
    check_shapes(data0=first, data1=second)
    for name, op in (("op0", op0), ("op1", op1)):
        check_choice(name, op, OPERATORS)
    state = np.broadcast_to(read_operand("initial", initial, len(first)), (len(first), 1))[:, 0]
    states = np.empty_like(first)
    for x, y, out in zip(first.T, second.T, states.T, strict=True):
        state = OPERATORS[op0](*((state, x) if reverse0 else (x, state)))
        state = OPERATORS[op1](*((y, state) if reverse1 else (state, y)))
        out[:] = state
    return write(states, dtype)
