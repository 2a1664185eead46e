"""The last axis in groups and back, also of arrays without elements, for which numpy finds no size out."""

import numpy as np


def in_groups(array: np.ndarray, size: int) -> np.ndarray:
    """Return [..., n * size] as [..., n, size]."""
    return array.reshape(*array.shape[:-1], array.shape[-1] // size, size)


def joined(array: np.ndarray) -> np.ndarray:
    """Return [..., n, m] as [..., n * m]."""
    return array.reshape(*array.shape[:-2], array.shape[-2] * array.shape[-1])
