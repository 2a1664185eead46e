"""tensor_copy: a tile, cast where its dtype changes.

Ref: ``nki.isa.tensor_copy`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08).
"""

from typing import Literal

import numpy as np

from bitpath.golden.arrays.arguments import check_choice, checked
from bitpath.golden.trainium3.operands.cast import CAST_DTYPES, cast
from bitpath.golden.trainium3.vector.engine import check_tile

EngineName = Literal["vector", "scalar", "gpsimd"]


@checked
def tensor_copy(
    data: np.ndarray,
    dtype: np.dtype | type | str | None = None,
    *,
    engine: EngineName = "vector",
    source: str | None = None,
) -> np.ndarray:
    """Return a tile as another dtype: equal dtypes move bits, NaN payloads included, others go through FP32.

    Parameters
    ----------
    data : [P, F], P from 1 to 128.
    dtype, source : as `cast`; None keeps data's dtype.
    engine : "vector", "scalar" or "gpsimd", which changes time only.

    Returns
    -------
    [P, F] of `dtype`.

    Raises
    ------
    TypeError, ValueError : as `cast`; another shape or engine.
    """
    check_choice("engine", engine, ("vector", "scalar", "gpsimd"))
    check_tile("data", data, *CAST_DTYPES.values())
    return cast(data, source or data.dtype if dtype is None else dtype, source=source)
