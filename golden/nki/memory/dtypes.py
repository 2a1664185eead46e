"""Dtypes of ``nl``: strings, with the numpy dtype in which their elements lie in memory.

Ref: ``nki.language`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08-21).
"""

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np

from bitpath.golden.formats.catalogue import E2M1, E4M3FN, E5M2, FloatFormat
from bitpath.golden.nki.declarations.errors import invalid

STORED: Mapping[str, np.dtype] = {
    name: np.dtype(stored)
    for name, stored in {
        "bool": np.uint8,
        "int8": np.int8,
        "int16": np.int16,
        "int32": np.int32,
        "uint8": np.uint8,
        "uint16": np.uint16,
        "uint32": np.uint32,
        "float16": np.float16,
        "bfloat16": ml_dtypes.bfloat16,
        "tfloat32": np.float32,
        "float32": np.float32,
        "float8_e4m3": ml_dtypes.float8_e4m3,
        "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
        "float8_e5m2": ml_dtypes.float8_e5m2,
        "float8_e8m0fnu": np.uint8,
        "float8_e4m3fn_x4": np.uint32,
        "float8_e5m2_x4": np.uint32,
        "float4_e2m1fn_x4": np.uint16,
    }.items()
}
"""The numpy dtype of each dtype's elements in memory. TF32 lies in float32 words; four FP8 or FP4 elements in one word."""
X4: Mapping[str, FloatFormat] = {"float8_e4m3fn_x4": E4M3FN, "float8_e5m2_x4": E5M2, "float4_e2m1fn_x4": E2M1}
"""Formats of the elements of packed dtypes."""
SCALES = ("float8_e8m0fnu", "uint8")
"""Dtypes of MX scales."""
INTEGERS = ("int8", "int16", "int32", "uint8", "uint16", "uint32")
_NAMES = {"bool_": "bool", "float8_e8m0": "float8_e8m0fnu"}


def dtype_name(dtype: Any) -> str:
    """Return the name of a dtype of ``nl``, numpy or ml_dtypes.

    Raises NkiValidationError for another one.
    """
    name = dtype if isinstance(dtype, str) else _numpy_name(dtype)
    name = _NAMES.get(name, name)
    if name not in STORED:
        raise invalid(f"dtype must be one of {', '.join(STORED)}, not {dtype!r}")
    return name


def _numpy_name(dtype: Any) -> str:
    try:
        return np.dtype(dtype).name
    except TypeError:
        raise invalid(f"dtype must be one of {', '.join(STORED)}, not {dtype!r}") from None


def is_float(name: str) -> bool:
    """Return True for floating-point dtypes of single elements."""
    return name.startswith(("float", "bfloat", "tfloat")) and name not in X4 and name != "float8_e8m0fnu"
