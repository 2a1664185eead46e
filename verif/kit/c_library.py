"""A C reference compiled as a shared library, called on numpy arrays."""

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bitpath.golden.c.prototypes import Function

DTYPES = {
    "int": np.dtype(np.int32),
    **{f"{kind}{bits}_t": np.dtype(f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
}
"""Dtypes of the C types."""


class Library:
    """Functions of a shared library, by name without prefix."""

    def __init__(self, path: Path, prefix: str, functions: Sequence[Function]):
        self._library = ctypes.CDLL(str(path))
        self._prefix = prefix
        self._functions = {each.name.removeprefix(prefix): each for each in functions}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._functions)

    def array_form(self, name: str, *arguments: Any) -> Any:
        """Call ``NAME_n``: numbers [n] or one for all, arrays [n, size]; return what it writes.

        Returns
        -------
        The result [n] if any, and the arrays that the function writes: one array, or a tuple of several.
        """
        function = self._functions[name]
        count = max(len(each) for each in arguments if np.ndim(each))
        arrays, written = [], []
        for parameter, argument in zip(function.parameters, arguments, strict=True):
            shape = (count, parameter.size) if parameter.size else (count,)
            array = np.array(np.broadcast_to(argument, shape), DTYPES[parameter.ctype], order="C")
            arrays.append(array)
            if not parameter.constant:
                written.append(array)
        if function.result != "void":
            written.insert(0, np.empty(count, DTYPES[function.result]))
            arrays.append(written[0])
        call = getattr(self._library, f"{self._prefix}{name}_n")
        call(ctypes.c_size_t(count), *(array.ctypes.data_as(ctypes.c_void_p) for array in arrays))
        return written[0] if len(written) == 1 else tuple(written)

    def matmul(self, name: str, a: np.ndarray, b: np.ndarray, *options: int) -> np.ndarray:
        """Call a matmul of codes [m, k] and [k, n] with its options, in the order of its parameters; return [m, n]."""
        parameters = self._functions[name].parameters
        result = np.empty((a.shape[0], b.shape[1]), DTYPES[parameters[-1].ctype])
        matrices = iter([np.ascontiguousarray(each, DTYPES[parameters[3].ctype]) for each in (a, b)] + [result])
        numbers = iter((*a.shape, b.shape[1], *options))
        arguments: list[Any] = []
        held = []
        for parameter in parameters:
            if parameter.pointer:
                held.append(next(matrices))
                arguments.append(held[-1].ctypes.data_as(ctypes.c_void_p))
            else:
                arguments.append(ctypes.c_int(next(numbers)))
        getattr(self._library, self._prefix + name)(*arguments)
        return result
