"""Arguments and results of a launch: numpy arrays of the caller, HBM tensors of the kernel."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from bitpath.golden.nki.declarations.errors import NkiValidationError
from bitpath.golden.nki.machine.core import Machine, hbm_tensor
from bitpath.golden.nki.memory.dtypes import STORED, dtype_name
from bitpath.golden.nki.memory.storage import elements
from bitpath.golden.nki.memory.tensor import NkiTensor


@dataclass(frozen=True, eq=False)
class HostTensor:
    """An array with a dtype of ``nl`` that numpy lacks: x4 words in uint32 or uint16, E8M0 in uint8, TF32 in float32.

    Attributes
    ----------
    array : words of the dtype.
    dtype : its name.
    """

    array: np.ndarray
    dtype: str


def host_tensor(array: np.ndarray, dtype: Any) -> HostTensor:
    """Return an argument whose words are of a dtype that numpy lacks.

    Raises NkiValidationError if the array's elements have another size.
    """
    name = dtype_name(dtype)
    if array.dtype.itemsize != STORED[name].itemsize:
        raise NkiValidationError(
            f"array must have elements of {STORED[name].itemsize} bytes for {name}, not {array.dtype}"
        )
    return HostTensor(array, name)


def given(machine: Machine, name: str, value: Any) -> Any:
    """Return a kernel's argument: an HBM tensor for an array, anything else as it is."""
    if isinstance(value, HostTensor):
        array, dtype = value.array, value.dtype
    elif isinstance(value, np.ndarray):
        array, dtype = value, dtype_name(value.dtype)
    else:
        if isinstance(value, list) and machine.options.strict:
            raise NkiValidationError(f"{name}: must not be a list in a strict run; pass a tuple")
        return value
    buffer = "private_hbm" if machine.size == 1 else "shared_hbm"
    made = hbm_tensor(array.shape or (1,), dtype, buffer, name, shared=machine.size > 1)
    storage = made.allocation.storage
    storage.data[0] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    storage.written[:] = True
    return made


def contents(tensor: NkiTensor) -> np.ndarray:
    """Return a tensor's elements as a numpy array; bool as numpy's."""
    values = elements(tensor.allocation.storage.data, tensor.place(), STORED[tensor.dtype]).copy()
    if tensor.dtype == "float8_e8m0fnu":
        return values.view(ml_dtypes.float8_e8m0fnu)
    return values.astype(bool) if tensor.dtype == "bool" else values


def give_back(value: Any, tensor: Any) -> None:
    """Write a tensor that the kernel has written into the caller's array."""
    array = value.array if isinstance(value, HostTensor) else value
    if isinstance(tensor, NkiTensor) and isinstance(array, np.ndarray) and array.flags.writeable:
        words = elements(tensor.allocation.storage.data, tensor.place(), STORED[tensor.dtype])
        array[...] = words.astype(bool) if array.dtype == bool else words.view(array.dtype).reshape(array.shape)


def results(value: Any, arguments: Collection[Any] = ()) -> Any:
    """Return what a kernel returns, tensors as arrays.

    Raises NkiValidationError for a tensor that is neither in shared HBM nor one of the kernel's arguments.
    """
    if isinstance(value, NkiTensor):
        own = [each.allocation for each in arguments if isinstance(each, NkiTensor)]
        if value.allocation.buffer != "shared_hbm" and value.allocation not in own:
            raise NkiValidationError(f"a returned tensor must be in shared_hbm, not {value!r}")
        return contents(value)
    if isinstance(value, tuple | list):
        return type(value)(results(each, arguments) for each in value)
    return value
