"""Conversion of arrays to the integers that ports carry."""

import numpy as np


def array_bits(array: np.ndarray) -> int:
    """An array's bytes as an integer, element 0 lowest."""
    return int.from_bytes(array.astype(array.dtype.newbyteorder("<")).tobytes(), "little")
