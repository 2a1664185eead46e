"""Arrays of any library as numpy's, at the door of each public function."""

from typing import Any

import numpy as np

from bitpath.golden.scalar.arguments import check_instance, shown


def as_numpy(name: str, value: Any) -> np.ndarray:
    """Return an array, a list, or an object with `__array__` or `__dlpack__`, as a numpy array with the same numbers.

    Tensors of torch, jax and cupy have one of these protocols; none of the three is imported.

    Raises
    ------
    TypeError, ValueError : an object that is no array; rows of different lengths.
    """
    if isinstance(value, np.ndarray):
        return value
    try:
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
        if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
            return np.from_dlpack(value)
        return np.asarray(value)
    except (TypeError, ValueError, BufferError, RuntimeError) as error:
        # Other libraries' exceptions are not made of a text alone, and their texts have many lines.
        kind = TypeError if isinstance(error, TypeError) else ValueError
        reason = next(iter(str(error).splitlines()), type(error).__name__).rstrip(".")
        raise kind(f"{name} must be an array or a list of rows, not {shown(value)}: {reason}") from error


def as_array(name: str, value: Any) -> np.ndarray:
    """Return what `as_numpy` takes if it holds numbers; raise TypeError for anything else."""
    array = as_numpy(name, value) if is_array(value) else None
    if array is None or not holds_numbers(array):
        check_instance(name, value, np.ndarray)
    return array


def is_array(value: Any) -> bool:
    """Return True for arrays, lists and objects that give an array, also for numpy's scalars."""
    return isinstance(value, np.ndarray | list | tuple) or hasattr(value, "__array__") or hasattr(value, "__dlpack__")


def holds_numbers(array: np.ndarray) -> bool:
    """Return False for texts and objects."""
    return array.dtype.kind not in "OSU"
