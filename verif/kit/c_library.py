"""A C reference compiled as a shared library, called on numpy arrays."""

import ctypes
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitpath.golden.c.export import export
from bitpath.golden.c.prototypes import Function, functions

DTYPES = {
    "int": np.dtype(np.int32),
    **{f"{kind}{bits}_t": np.dtype(f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
}
"""Dtypes of the C types."""
GUARD = 0x5A5A5A5A
FEW, MANY = 1 << 12, 1 << 20
"""Random results of a case in `make test`, and in the deep tests."""
counts = pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.deep)], ids=["few", "many"])


def write_reference(folder: Path, machine: str, preset: str) -> tuple[Path, list[Function]]:
    """Write a machine's C reference to a folder, and return its source and its functions."""
    texts = export(machine, preset)
    for file, text in texts.items():
        (folder / file).write_text(text)
    return folder / f"bitpath_{machine}.c", functions(texts[f"bitpath_{machine}.h"])


class Library:
    """Functions of a shared library, by name without prefix; `computed` counts the results of their array forms."""

    def __init__(self, path: Path, prefix: str, functions: Sequence[Function]):
        self._library = ctypes.CDLL(str(path))
        self._prefix = prefix
        self.computed: Counter[str] = Counter()
        self._functions = {each.name.removeprefix(prefix): each for each in functions}

    def array_form(self, name: str, *arguments: Any) -> Any:
        """Call ``NAME_n`` with numbers [n], or one for all, and arrays [n, size].

        Returns
        -------
        The result [n], unless void, and the arrays that the function writes: one array, or a tuple of several.
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
        self.computed[name] += count
        return written[0] if len(written) == 1 else tuple(written)

    def matmul(self, name: str, a: np.ndarray, b: np.ndarray, *options: int) -> np.ndarray:
        """Call a matmul of codes [m, k] and [k, n] with its options, in the order of its parameters; return [m, n]."""
        parameters = self._functions[name].parameters
        rows, columns = a.shape[0], b.shape[1]
        # One number more, which stays as it is.
        buffer = np.full(rows * columns + 1, GUARD, DTYPES[parameters[-1].ctype])
        result = buffer[:-1]
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
        if buffer[-1] != GUARD:
            raise AssertionError(f"{name} writes behind its result")
        return result.reshape(rows, columns)
