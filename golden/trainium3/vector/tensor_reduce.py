"""tensor_reduce: a tile's free dimension to one number for each partition.

Ref: ``nki.isa.tensor_reduce`` reference page, NKI 0.3 (AWS Neuron documentation, 2025-12-01).
"""

import numpy as np

from bitpath.golden.arrays.arguments import checked, member
from bitpath.golden.trainium3.declarations.vector import SumOrder
from bitpath.golden.trainium3.vector.engine import output_dtype, read_tile, write
from bitpath.golden.trainium3.vector.reduction import SumOrderName, check_reduction, reduce_free


@checked
def tensor_reduce(
    data: np.ndarray,
    op: str,
    *,
    negate: bool = False,
    dtype: np.dtype | type | str = np.float32,
    sum_order: SumOrderName = "serial",
) -> np.ndarray:
    """Reduce a tile along its free dimension, in FP32, then cast to `dtype`.

    Parameters
    ----------
    data : [P, F], P from 1 to 128, of a dtype in `ENGINE_DTYPES`.
    op : "add", "multiply", "max", "min", or "abs_max" or "abs_min", the element of largest or smallest magnitude with its
        sign, the last of equal ones.
    negate : True to negate the result; NaN keeps its code.
    dtype : dtype of the result, also "tf32".
    sum_order : order of "add": "serial", from the first element on, or "exact" with one rounding; "multiply" is serial.

    Returns
    -------
    [P, 1] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype, shape, reduction or order.
    """
    dtype = output_dtype(dtype)
    check_reduction("op", op)
    order = member("sum_order", sum_order, SumOrder)
    reduced = reduce_free(read_tile("data", data), op, order)
    return write(-reduced if negate else reduced, dtype)
