"""memset: a tile filled with one number.

Bit-identical to `bitpath.golden.trainium3.exact.memset_element`.

Ref: ``nki.isa.memset`` reference page, NKI 0.6, and the release notes of NKI 0.3 (AWS Neuron documentation, 2026-08).
"""

from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import checked, integer
from bitpath.golden.arrays.codec import encode_array, format_of
from bitpath.golden.formats.catalogue import TF32
from bitpath.golden.trainium3.declarations.dtypes import TF32_SPARE_BITS
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.golden.trainium3.vector.engine import output_dtype, real


@checked
def memset(shape: tuple[int, int], value: Any, *, dtype: np.dtype | type | str = np.float32) -> np.ndarray:
    """Return a tile of one number, which is rounded once to `dtype`, to nearest even.

    A number beyond the range of a floating-point dtype is infinity, or NaN where it has no infinity.

    Parameters
    ----------
    shape : (P, F), P from 1 to 128 and F of at least 1.
    value : a number; an integer of the dtype's range for an integer dtype.
    dtype : dtype of the result, also "tf32".

    Returns
    -------
    [P, F] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or number; a float for an integer dtype.
    """
    dtype = output_dtype(dtype)
    partitions, elements = shape
    if not 0 < partitions <= PARTITIONS or elements < 1:
        raise ValueError(f"shape must be P from 1 to {PARTITIONS} and F of at least 1, not {partitions} and {elements}")
    if not isinstance(dtype, str) and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        why = f" for {dtype}"
        return np.full(shape, integer("value", value, range(int(limits.min), int(limits.max) + 1), why), dtype)
    number = np.array(real("value", value))
    if isinstance(dtype, str):
        return np.full(shape, encode_array(TF32, number) << TF32_SPARE_BITS, np.uint32).view(np.float32)
    return np.full(shape, encode_array(format_of(dtype), number), f"u{dtype.itemsize}").view(dtype)
