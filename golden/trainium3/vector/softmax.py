"""softmax of rows, as a chain of VectorE's instructions.

Bit-identical to `bitpath.golden.trainium3.exact.softmax`.

Ref: "Trainium3 Architecture Guide for NKI", VectorE's exponential (AWS Neuron documentation, 2026-08).
"""

import numpy as np

from bitpath.golden.arrays.arguments import checked
from bitpath.golden.trainium3.vector.exponential import exponential
from bitpath.golden.trainium3.vector.reciprocal import reciprocal
from bitpath.golden.trainium3.vector.tensor_reduce import tensor_reduce
from bitpath.golden.trainium3.vector.tensor_scalar import tensor_scalar


@checked
def softmax(data: np.ndarray, *, dtype: np.dtype | type | str = np.float32) -> np.ndarray:
    """Return ``exp(x - max) / sum`` of every row.

    Four instructions: tensor_reduce (max), exponential with its running sum, reciprocal of the sum, tensor_scalar
    (multiply). FP32 lies between them; the sum is serial.

    Parameters
    ----------
    data : [P, F], P from 1 to 128, of a dtype in `ENGINE_DTYPES`.
    dtype : dtype of the result, also "tf32".

    Returns
    -------
    [P, F] of `dtype`; NaN in a row with NaN, with +infinity, or of -infinity alone.

    Raises
    ------
    TypeError, ValueError : another dtype or shape.
    """
    powers, total = exponential(data, tensor_reduce(data, "max"), reduce_cmd="reset_reduce")
    return tensor_scalar(powers, "multiply", reciprocal(total[:, np.newaxis]), dtype=dtype)
