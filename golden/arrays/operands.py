"""Operands of a matmul as numpy arrays, of the dtype that the machines convert from.

An operand may be a numpy array of any float or integer dtype, ml_dtypes' included, a list, or an object with `__array__` or
`__dlpack__`: tensors of torch, jax and cupy have one of these, and none of the three is imported.
"""

from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import shown


def operand(name: str, value: Any, integers: bool) -> np.ndarray:
    """Return an operand [..., R, C] as float32, or as an array of integers for a format of these.

    float64 is rounded to the nearest float32, ties to even; every narrower dtype keeps its numbers.

    Raises
    ------
    TypeError : no numbers, bool, complex; floats for a format of integers.
    ValueError : fewer than two axes, an empty one, rows of different lengths; integers that float32 does not hold.
    """
    array = as_numpy(name, value)
    is_integer = np.issubdtype(array.dtype, np.integer)
    if not is_integer and not _is_float(array.dtype):
        raise TypeError(f"{name} must hold floats or integers, not {array.dtype}")
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


def as_numpy(name: str, value: Any) -> np.ndarray:
    """Return an operand as a numpy array in the machine's main memory, without a change of its numbers.

    Raises
    ------
    TypeError, ValueError : an object that is no array; rows of different lengths.
    """
    if isinstance(value, np.ndarray):
        return value
    # torch: a tensor with a gradient, or on a device, gives its numbers only to those who ask for them.
    for method in ("detach", "cpu"):
        if hasattr(value, method):
            value = getattr(value, method)()
    # cupy: the same.
    if hasattr(value, "__cuda_array_interface__"):
        value = value.get()
    # numpy's protocols have no bfloat16; float32 holds all of torch's.
    if str(getattr(value, "dtype", "")) == "torch.bfloat16":
        value = value.float()
    try:
        if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
            return np.from_dlpack(value)
        return np.asarray(value)
    except (TypeError, ValueError, BufferError, RuntimeError) as error:
        raise type(error)(f"{name} must be an array or a list of rows, not {shown(value)}: {error}") from None


def _is_float(dtype: np.dtype) -> bool:
    """Return True for numpy's floats and those of ml_dtypes, which numpy knows only as dtypes that it can cast."""
    return np.issubdtype(dtype, np.floating) or (dtype.kind == "V" and np.can_cast(dtype, np.float32))
