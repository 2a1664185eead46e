"""A kernel's arguments in an .npz file: arrays and scalars by the name of the parameter.

A key ``name:dtype`` holds words of a dtype that the file cannot name, as ``x:bfloat16`` or ``w:float4_e2m1fn_x4``.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np

from bitpath.golden import nki, trainium3
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.nki.memory.dtypes import STORED, X4
from bitpath.golden.scalar.checked import one_of, suggestion

PLAIN = tuple(map(np.dtype, ("bool", "float32", "float16", "int8", "int16", "int32", "uint8", "uint16", "uint32")))
"""Dtypes that an .npz file holds and a kernel takes."""
SUFFIXES = tuple(
    name for name, stored in STORED.items() if name != "bool" and (name, stored) not in [(p.name, p) for p in PLAIN]
)
"""Dtypes that an .npz file cannot name."""


def arguments(arrays: Mapping[str, np.ndarray], function: Callable, kernel: str) -> dict[str, Any]:
    """Return a kernel's arguments by parameter; an array of no dimension becomes a number or a text of Python.

    Raises ValueError for a missing argument, a key without a parameter, or a dtype that a kernel cannot take.
    """
    parameters = inspect.signature(function).parameters
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    found: dict[str, Any] = {}
    for key, array in arrays.items():
        name, _, dtype = key.partition(":")
        if name not in parameters and not takes_any:
            known = f"it has {one_of(parameters)}" if parameters else "it has none"
            raise ValueError(f"--args: {kernel} has no parameter {name!r}; {known}{suggestion(name, parameters)}")
        if name in found:
            raise ValueError(f"--args: {name} must stand once in the file, not with two dtypes")
        found[name] = _suffixed(key, array, dtype) if ":" in key else _plain(key, array)
    missing = [
        name
        for name, each in parameters.items()
        if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD) and name not in found
    ]
    if missing:
        raise ValueError(f"--args must have {' and '.join(missing)}, which {kernel} needs")
    return found


def _plain(key: str, array: np.ndarray) -> Any:
    if not array.ndim and array.dtype.kind in "biufU":
        return array.item()
    if array.dtype not in PLAIN:
        raise ValueError(
            f"--args: {key} must be bool, float32, float16 or an integer of at most 32 bits, or end with a dtype as"
            f" {key}:bfloat16, not {array.dtype}"
        )
    return array


def _suffixed(key: str, array: np.ndarray, dtype: str) -> np.ndarray | nki.HostTensor:
    if dtype not in STORED:
        raise ValueError(f"--args: {key} must end with {one_of(SUFFIXES)}, not {dtype!r}{suggestion(dtype, STORED)}")
    stored = STORED[dtype]
    if array.dtype.itemsize != stored.itemsize or (array.dtype.kind not in "uV" and array.dtype != stored):
        raise ValueError(
            f"--args: {key} must have words of {stored.itemsize} bytes (uint{8 * stored.itemsize}), not {array.dtype}"
        )
    words = np.ascontiguousarray(array).view(stored)
    return words if stored.name == dtype else nki.host_tensor(words, dtype)


def in_float64(value: Any) -> Any:
    """Return floats as float64, and four elements for each x4 word; integers, bool and scalars as they are."""
    if isinstance(value, nki.HostTensor):
        if value.dtype in X4:
            rows = value.array.reshape(-1, value.array.shape[-1])
            elements = trainium3.unpack_x4(rows, DTYPES[X4[value.dtype]]).astype(np.float64)
            return elements.reshape(*value.array.shape[:-1], -1)
        own = ml_dtypes.float8_e8m0fnu if value.dtype == "float8_e8m0fnu" else value.array.dtype
        return value.array.view(own).astype(np.float64)
    if isinstance(value, np.ndarray):
        return value.copy() if value.dtype.kind in "biu" else value.astype(np.float64)
    return value
