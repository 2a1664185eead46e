"""max8, nc_find_index8 and nc_match_replace8: the eight largest numbers of each row, where they are, and without them.

Bit-identical to `bitpath.golden.trainium3.exact.max8_row`, `find_index8_row` and `match_replace8_row`; the rules are in
`bitpath.golden.trainium3.declarations.engines.CHOICES`.

Ref: ``nki.isa.max8``, ``nki.isa.nc_find_index8`` and ``nki.isa.nc_match_replace8`` reference pages, and the release
notes, NKI 0.6 (AWS Neuron documentation, 2026-08).
"""

from collections.abc import Iterable

import numpy as np

from bitpath.golden.arrays.arguments import checked, dtype_of
from bitpath.golden.trainium3.declarations.engines import MAX8_ELEMENTS, MAX8_VALUES
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.vector.engine import output_dtype, read_tile, real, single, write

INDEX_DTYPES = (np.dtype(np.uint16), np.dtype(np.uint32))


@checked
def max8(src: np.ndarray, *, dtype: np.dtype | type | str = np.float32) -> np.ndarray:
    """Return the eight largest numbers of each row in descending order, each as often as it occurs.

    The order is that of "max": NaN comes first, and +0 before -0.

    Parameters
    ----------
    src : [P, F], P from 1 to 128, F from 8 to 16384, of a dtype in `ENGINE_DTYPES`.
    dtype : dtype of the result, also "tf32".

    Returns
    -------
    [P, 8] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype or shape.
    """
    dtype = output_dtype(dtype)
    codes = _read_row("src", src, MAX8_VALUES).view(np.int32)
    # With the lower bits of negative numbers inverted, codes as integers have the order of their numbers; NaN is on top.
    order = np.partition(_ordered(codes), -MAX8_VALUES, axis=1)[:, -MAX8_VALUES:]
    return write(_ordered(np.sort(order, axis=1)[:, ::-1]).view(np.float32), dtype)


@checked
def nc_find_index8(data: np.ndarray, vals: np.ndarray, *, dtype: np.dtype | type | str = np.uint32) -> np.ndarray:
    """Return the index of the first element of each row that equals a value, for each of eight values.

    Equal values take successive elements in ascending order. An index is all ones where no element is left. Numbers are
    compared in FP32: -0 equals +0, and NaN equals nothing.

    Parameters
    ----------
    data : [P, F], P from 1 to 128, F from 8 to 16384, of a dtype in `ENGINE_DTYPES`.
    vals : [P, 8], of a dtype in `ENGINE_DTYPES`.
    dtype : uint16 or uint32.

    Returns
    -------
    [P, 8] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype or shape.
    """
    dtype = dtype_of("dtype", dtype, *INDEX_DTYPES)
    values = _read_row("data", data, MAX8_VALUES)
    return _matches(values, _read_values(vals, len(values)), range(MAX8_VALUES))[0].astype(dtype)


@checked
def nc_match_replace8(
    data: np.ndarray,
    vals: np.ndarray,
    imm: float,
    *,
    dtype: np.dtype | type | str = np.float32,
    index_dtype: np.dtype | type | str = np.uint32,
) -> tuple[np.ndarray, np.ndarray]:
    """Return each row with an element replaced for each of eight values, and the indices of these elements.

    From the last value to the first, each takes the first element that equals it and is not yet taken. An index is all
    ones where no element is left. Numbers are compared in FP32: -0 equals +0, and NaN equals nothing.

    Parameters
    ----------
    data : [P, F], P from 1 to 128, F from 1 to 16384, of a dtype in `ENGINE_DTYPES`.
    vals : [P, 8], of a dtype in `ENGINE_DTYPES`.
    imm : number in place of the elements, rounded to FP32.
    dtype : dtype of the row, also "tf32".
    index_dtype : uint16 or uint32.

    Returns
    -------
    [P, F] of `dtype`, and the indices [P, 8].

    Raises
    ------
    TypeError, ValueError : another dtype or shape.
    """
    dtype, index_dtype = output_dtype(dtype), dtype_of("index_dtype", index_dtype, *INDEX_DTYPES)
    values = _read_row("data", data, 1)
    indices, taken = _matches(values, _read_values(vals, len(values)), reversed(range(MAX8_VALUES)))
    replacement = fp32.one_nan(single("imm", real("imm", imm)))
    return write(np.where(taken, replacement, values), dtype), indices.astype(index_dtype)


def _ordered(codes: np.ndarray) -> np.ndarray:
    """Map int32 FP32 codes to integers in the order of their numbers, and back."""
    return codes ^ (codes >> 31 & 0x7FFFFFFF)


def _read_row(name: str, data: np.ndarray, fewest: int) -> np.ndarray:
    values = read_tile(name, data)
    if not fewest <= values.shape[1] <= MAX8_ELEMENTS:
        raise ValueError(
            f"{name} must have {fewest} to {MAX8_ELEMENTS} elements for each partition, not {values.shape[1]}"
        )
    return values


def _read_values(vals: np.ndarray, partitions: int) -> np.ndarray:
    values = read_tile("vals", vals)
    if values.shape != (partitions, MAX8_VALUES):
        raise ValueError(f"vals must have shape {(partitions, MAX8_VALUES)}, not {values.shape}")
    return values


def _matches(data: np.ndarray, vals: np.ndarray, order: Iterable[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return each value's index, int64 [P, 8], -1 for none, and which elements are taken; values choose in an order."""
    rows = np.arange(len(data))
    indices = np.empty(vals.shape, np.int64)
    taken = np.zeros(data.shape, bool)
    for i in order:
        equal = (data == vals[:, i : i + 1]) & ~taken
        first = equal.argmax(axis=1)
        found = equal[rows, first]
        indices[:, i] = np.where(found, first, -1)
        taken[rows, first] |= found
    return indices, taken
