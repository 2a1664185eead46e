"""Operands of a matmul as numpy arrays, of the dtype that the machines convert from.

An operand may be a numpy array of any float or integer dtype, ml_dtypes' included, a list, or an object with `__array__` or
`__dlpack__`: tensors of torch, jax and cupy have one of these, and none of the three is imported.
"""

from typing import Any

import numpy as np

from bitpath.golden.scalar.as_numpy import as_numpy


def operand(name: str, value: Any, integers: bool) -> np.ndarray:
    """Return an operand [..., R, C] as float32, or as an array of integers for a format of these.

    float64 is rounded to the nearest float32, ties to even; every narrower dtype keeps its numbers.

    Raises
    ------
    TypeError : no numbers, bool, complex; floats for a format of integers.
    ValueError : fewer than two axes, an empty one, rows of different lengths; integers that float32 does not hold.
    """
    array = numbers(name, value)
    is_integer = np.issubdtype(array.dtype, np.integer)
    if array.ndim < 2 or 0 in array.shape:
        raise ValueError(f"{name} must have two dimensions or more of at least 1, not shape {array.shape}")
    if integers:
        if not is_integer:
            raise TypeError(f"{name} must hold integers for a format of integers, not {array.dtype}")
        return array
    with np.errstate(over="ignore"):  # a float64 beyond float32 is an infinity
        single = array.astype(np.float32)
    if is_integer and not np.array_equal(single.astype(object), array.astype(object)):
        raise ValueError(f"{name} must hold integers that float32 represents, such as those up to 2**24")
    return single


def numbers(name: str, value: Any) -> np.ndarray:
    """Return an array of any shape that holds floats or integers; raise TypeError for other numbers and other objects."""
    array = as_numpy(name, value)
    if not np.issubdtype(array.dtype, np.integer) and not _is_float(array.dtype):
        raise TypeError(f"{name} must hold floats or integers, not {array.dtype}")
    return array


def _is_float(dtype: np.dtype) -> bool:
    """Return True for numpy's floats and those of ml_dtypes, which numpy knows only as dtypes that it can cast."""
    return np.issubdtype(dtype, np.floating) or (dtype.kind == "V" and np.can_cast(dtype, np.float32))
