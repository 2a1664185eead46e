"""Casts between the 13 dtypes of a NeuronCore's engines and DMA engines, on arrays.

Results are bit-identical to `bitpath.golden.trainium3.exact.conversions`; the rules are in
`bitpath.golden.trainium3.declarations.dtypes.CHOICES`.
"""

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_choice, checked, dtype_of
from bitpath.golden.arrays.codec import DTYPES, encode_array
from bitpath.golden.formats.catalogue import TF32, FloatFormat
from bitpath.golden.trainium3.declarations.dtypes import FORMATS, TF32_SPARE_BITS
from bitpath.golden.trainium3.operands import fp32

TF32_NAME = "tf32"
"""TF32 has no numpy dtype: it lies in float32 and goes by its name."""
CAST_DTYPES = {
    name: DTYPES[fmt] if isinstance(fmt, FloatFormat) else np.dtype(name)
    for name, fmt in FORMATS.items()
    if fmt is not TF32
}
"""The numpy dtype of each dtype's name, but for TF32."""
FLOAT32 = CAST_DTYPES["fp32"]


@checked
def cast(values: np.ndarray, dtype: np.dtype | type | str, *, source: str | None = None) -> np.ndarray:
    """Return values as another dtype: ``from_fp32(to_fp32(values), dtype)``; of equal dtypes a copy of the bits.

    Parameters
    ----------
    values : array of any shape, of a dtype in `CAST_DTYPES`.
    dtype : one of `CAST_DTYPES`, or "tf32".
    source : "tf32" if `values` are float32 words that hold TF32; None if their dtype says all.

    Returns
    -------
    Array of the same shape, of `dtype`; float32 for "tf32".

    Raises
    ------
    TypeError : another dtype; x4 and FP4 dtypes cannot be cast.
    ValueError : another `source`, or one with values that are not float32.
    """
    destination = _destination(dtype)
    _check_source(values, source)
    if destination == (source or values.dtype):
        return values.copy()
    return _write(_read(values, source), destination)


@checked
def to_fp32(values: np.ndarray, source: str | None = None) -> np.ndarray:
    """Return values as float32: floats exactly, INT32 and UINT32 rounded to nearest even, every NaN canonical.

    Parameters, errors: as `cast`. TF32 words are rounded to 10 fraction bits.
    """
    _check_source(values, source)
    return _read(values, source)


@checked
def from_fp32(values: np.ndarray, dtype: np.dtype | type | str) -> np.ndarray:
    """Round float32 values to a dtype, to nearest even.

    A float beyond the largest is infinity, or NaN where the dtype has no infinity; an integer saturates, and is 0 for NaN.
    Errors: as `cast`.
    """
    check_array("values", values, FLOAT32)
    return _write(values, _destination(dtype))


def _destination(dtype: np.dtype | type | str) -> np.dtype | str:
    if isinstance(dtype, str) and dtype == TF32_NAME:
        return TF32_NAME
    return dtype_of("dtype", dtype, *CAST_DTYPES.values())


def _check_source(values: np.ndarray, source: str | None) -> None:
    check_array("values", values, *CAST_DTYPES.values())
    if source is not None and check_choice("source", source, (TF32_NAME,)) and values.dtype != FLOAT32:
        raise ValueError(f"values must be float32 where source is 'tf32', not {values.dtype}")


def _read(values: np.ndarray, source: str | None) -> np.ndarray:
    if values.dtype.kind in "iu":
        return values.astype(np.float32)
    return _round_to_tf32(values) if source else fp32.read(values)


def _write(values: np.ndarray, dtype: np.dtype | str) -> np.ndarray:
    if isinstance(dtype, str):
        return _round_to_tf32(values)
    if dtype.kind not in "iu":
        return fp32.write(values, dtype)
    limits = np.iinfo(dtype)
    # float64 holds the limits of 32-bit integers.
    numbers = np.where(np.isnan(values), np.float32(0), values).astype(np.float64)
    return np.clip(np.rint(numbers), limits.min, limits.max).astype(dtype)


def _round_to_tf32(values: np.ndarray) -> np.ndarray:
    return np.asarray(encode_array(TF32, values, dtype=np.uint32) << np.uint32(TF32_SPARE_BITS)).view(np.float32)
