"""Codes of the 13 dtypes as arrays, and casts of codes."""

import numpy as np

from bitpath.golden.trainium3 import cast
from bitpath.golden.trainium3.declarations.dtypes import container_bits
from bitpath.golden.trainium3.operands.cast import CAST_DTYPES


def array_of(codes: np.ndarray, name: str) -> np.ndarray:
    """Return codes as an array of the dtype of that name; TF32 as float32."""
    return codes.astype(f"u{container_bits(name) // 8}").view(CAST_DTYPES["fp32" if name == "tf32" else name])


def codes_of(values: np.ndarray) -> np.ndarray:
    """Return the elements' bits as int64."""
    return np.ascontiguousarray(values).view(f"u{values.itemsize}").astype(np.int64)


def cast_words(codes: np.ndarray, source: str, destination: str) -> np.ndarray:
    """Return codes of one dtype as codes of another, as golden casts them."""
    dtype = destination if destination == "tf32" else CAST_DTYPES[destination]
    return codes_of(cast(array_of(codes, source), dtype, source="tf32" if source == "tf32" else None))
