"""scalar_tensor_tensor: a tile with a number for each partition, then with another tile.

Ref: ``nki.isa.scalar_tensor_tensor`` reference page, NKI 0.3 (AWS Neuron documentation, 2025-12-01).
"""

import numpy as np

from bitpath.golden.arrays.arguments import check_choice, checked
from bitpath.golden.trainium3.vector.engine import check_shapes, output_dtype, read_tile, write
from bitpath.golden.trainium3.vector.operators import OPERATORS
from bitpath.golden.trainium3.vector.tensor_scalar import apply_operator


@checked
def scalar_tensor_tensor(
    data: np.ndarray,
    op0: str,
    operand0: float | np.ndarray,
    op1: str,
    operand1: np.ndarray,
    *,
    reverse0: bool = False,
    reverse1: bool = False,
    dtype: np.dtype | type | str = np.float32,
) -> np.ndarray:
    """Return ``(data op0 operand0) op1 operand1``, each operation rounded to FP32, then the cast to `dtype`.

    Parameters
    ----------
    data : [P, F], P from 1 to 128, of a dtype in `ENGINE_DTYPES`.
    op0, op1 : operators of `OPERATORS`.
    operand0 : a number, rounded to FP32, or an array [P, 1] of data's dtypes.
    operand1 : [P, F] of data's dtypes, not necessarily its own.
    reverse0, reverse1 : True if the operand is left of the operator.
    dtype : dtype of the result, also "tf32".

    Returns
    -------
    [P, F] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or operator.
    """
    dtype = output_dtype(dtype)
    values, other = read_tile("data", data), read_tile("operand1", operand1)
    check_shapes(data=values, operand1=other)
    for name, op in (("op0", op0), ("op1", op1)):
        check_choice(name, op, OPERATORS)
    scaled = apply_operator(values, "0", op0, operand0, reverse0)
    return write(OPERATORS[op1](*((other, scaled) if reverse1 else (scaled, other))), dtype)
