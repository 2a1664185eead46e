"""tensor_partition_reduce: the partitions of a tile to one.

Bit-identical to `bitpath.golden.trainium3.exact.tensor_partition_reduce`.

Ref: ``nki.isa.tensor_partition_reduce`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08). Points that it leaves open
are in `bitpath.golden.trainium3.declarations.gpsimd.GPSIMD_CHOICES`.
"""

import numpy as np

from bitpath.golden.arrays.arguments import check_choice, checked, member
from bitpath.golden.trainium3.declarations.gpsimd import PARTITION_REDUCTIONS
from bitpath.golden.trainium3.declarations.vector import SumOrder
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.operands.cast import CAST_DTYPES, from_fp32, to_fp32
from bitpath.golden.trainium3.vector.engine import INTEGER_DTYPES, bit_dtype, bit_words, check_tile
from bitpath.golden.trainium3.vector.operators import BIT_OPERATORS
from bitpath.golden.trainium3.vector.reduction import SumOrderName, reduce_free


@checked
def tensor_partition_reduce(
    data: np.ndarray,
    op: str,
    *,
    dtype: np.dtype | type | str | None = None,
    sum_order: SumOrderName = "serial",
) -> np.ndarray:
    """Return ``data[0] op data[1] op ... op data[P - 1]``, computed in FP32, then the cast to `dtype`.

    Parameters
    ----------
    data : [P, F], P from 1 to 128, of a dtype that `cast` takes; of integers for bit operators.
    op : "add", "average", which is the sum divided by P with one more rounding, "max", "bitwise_and" or "bitwise_or".
    dtype : as `cast` takes it, also "tf32"; None is float32. Bit operators cast nothing: an integer of data's size, data's
        dtype for None.
    sum_order : order of sums: "serial", from partition 0 on with a rounding each, or "exact" with one rounding.

    Returns
    -------
    [1, F] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype, shape, operator or order.
    """
    check_choice("op", op, PARTITION_REDUCTIONS)
    order = member("sum_order", sum_order, SumOrder)
    if op in BIT_OPERATORS:
        check_tile("data", data, *INTEGER_DTYPES)
        result = bit_dtype(dtype, data.dtype)
        reduce = np.bitwise_and.reduce if op == "bitwise_and" else np.bitwise_or.reduce
        return reduce(bit_words(data), axis=0, keepdims=True).view(result)
    check_tile("data", data, *CAST_DTYPES.values())
    columns = np.ascontiguousarray(to_fp32(data).T)
    reduced = reduce_free(columns, "max" if op == "max" else "add", order)
    if op == "average":
        reduced = fp32.divide(reduced, np.float32(len(data)))
    return from_fp32(reduced.T, np.float32 if dtype is None else dtype)
