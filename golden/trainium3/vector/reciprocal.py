"""reciprocal: VectorE's 1 / x.

Ref: ``nki.isa.reciprocal`` reference page, NKI 0.3 (AWS Neuron documentation, 2025-12-01), which says "higher accuracy"
than ScalarE's and no number; here it is correctly rounded (`RmsNormQuantNumerics.root_rounding`).
"""

import numpy as np

from bitpath.golden.arrays.arguments import checked
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.vector.engine import output_dtype, read_tile, write


@checked
def reciprocal(data: np.ndarray, *, dtype: np.dtype | type | str = np.float32) -> np.ndarray:
    """Return 1 / data, rounded to FP32, then cast to `dtype`; infinity of the sign for a zero.

    Parameters
    ----------
    data : [P, F], P from 1 to 128, of a dtype in `ENGINE_DTYPES`.
    dtype : dtype of the result, also "tf32".

    Returns
    -------
    [P, F] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype or shape.
    """
    dtype = output_dtype(dtype)
    return write(fp32.reciprocal(read_tile("data", data)), dtype)
