"""A vector register: 512 bits as 64 bytes, byte 0 lowest."""

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import VECTOR_BITS
from bitpath.golden.arrays.arguments import check_array, check_shape

VECTOR_BYTES = VECTOR_BITS // 8


def check_vector(name: str, vector: np.ndarray) -> None:
    """Raise unless an array is uint8 [..., 64]."""
    check_array(name, vector, np.uint8)
    check_shape(name, vector, "...", VECTOR_BYTES)
