"""Tiles, scalar operands and results that the instructions of ScalarE and VectorE share, with their checks."""

from fractions import Fraction
from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import check_array, dtype_of, integer, shown
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import E3M4
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.operands.cast import CAST_DTYPES, TF32_NAME, from_fp32, to_fp32

ENGINE_DTYPES = (*CAST_DTYPES.values(), DTYPES[E3M4])
"""Dtypes that the engines read and write, but for TF32, which lies in float32: an operand as `cast` leaves it, a result by
the name "tf32"."""

INTEGER_DTYPES = tuple(dtype for dtype in ENGINE_DTYPES if dtype.kind in "iu")
"""Dtypes of bit operators."""

FLOAT_DTYPES = tuple(dtype for dtype in ENGINE_DTYPES if dtype not in INTEGER_DTYPES)
NARROW_DTYPES = tuple(dtype for dtype in ENGINE_DTYPES if dtype not in (np.dtype(np.int32), np.dtype(np.uint32)))
"""Dtypes of instructions that take no integers of 32 bits and no TF32."""


def read_tile(name: str, data: np.ndarray) -> np.ndarray:
    """Return a tile [P, F] of 1 to 128 partitions as float32.

    Raises
    ------
    TypeError : no array, or another dtype than `ENGINE_DTYPES`.
    ValueError : another shape.
    """
    check_tile(name, data, *ENGINE_DTYPES)
    return read(data)


def check_tile(name: str, data: np.ndarray, *dtypes: np.dtype) -> None:
    """Raise TypeError or ValueError unless a value is a tile [P, F] of one of the dtypes."""
    check_array(name, data, *dtypes)
    if data.ndim != 2 or not 0 < data.shape[0] <= PARTITIONS or not data.shape[1]:
        raise ValueError(
            f"{name} must have shape [P, F] with P from 1 to {PARTITIONS} and F of at least 1, not {data.shape}"
        )


def check_shapes(**tiles: np.ndarray) -> None:
    """Raise ValueError unless two tiles have one shape; the keywords are the names of the arguments."""
    (first, tile), (second, other) = tiles.items()
    if other.shape != tile.shape:
        raise ValueError(f"{second} must have {first}'s shape {tile.shape}, not {other.shape}")


def read_operand(name: str, operand: float | np.ndarray, partitions: int) -> np.ndarray:
    """Return a scalar operand as float32, [1, 1] or [P, 1]: a number, rounded once, or one for each partition.

    Raises
    ------
    TypeError : neither a number nor an array of `ENGINE_DTYPES`.
    ValueError : an array of another shape, or a number beyond float64's range.
    """
    if isinstance(operand, np.ndarray):
        check_array(name, operand, *ENGINE_DTYPES)
        if operand.shape != (partitions, 1):
            raise ValueError(f"{name} must have shape {(partitions, 1)} or a number, not {operand.shape}")
        return read(operand)
    return fp32.one_nan(single(name, operand).reshape(1, 1))


def single(name: str, value: float, otherwise: str = ", or an array [P, 1]") -> np.ndarray:
    """Return a number as a float32 scalar array, rounded once, to nearest even; infinity beyond FP32's range.

    Raises
    ------
    TypeError, ValueError : as `real`.
    """
    with np.errstate(over="ignore"):
        return np.asarray(real(name, value, otherwise)).astype(np.float32)


def real(name: str, value: float, otherwise: str = "") -> float:
    """Return a number of Python's or numpy's as float64; one that it does not hold is rounded to odd.

    Of the two neighbours of such a number the odd one is never on, and always on the right side of, all numbers and
    midpoints of the engines' formats, so that rounding it to one of those is rounding the number itself.

    Raises
    ------
    TypeError : not a number; bool is not one. `otherwise` names the alternative in the message.
    ValueError : a finite number beyond float64's range.
    """
    if isinstance(value, bool) or not isinstance(value, float | int | np.floating | np.integer):
        raise TypeError(f"{name} must be a number{otherwise}, not {shown(value)}")
    if isinstance(value, float | np.floating) and not np.isfinite(value):
        return float(value)
    exact = Fraction(*value.as_integer_ratio()) if isinstance(value, float | np.floating) else Fraction(int(value))
    try:
        nearest = float(value) if exact == 0 else float(exact)  # a zero with its sign
    except OverflowError:
        raise ValueError(f"{name} must be a number of float64's range{otherwise}, not {shown(value)}") from None
    if exact == nearest or np.float64(nearest).view(np.int64) & 1:
        return nearest
    return float(np.nextafter(nearest, np.inf if exact > nearest else -np.inf))


def output_dtype(dtype: np.dtype | type | str) -> np.dtype | str:
    """Return the dtype of a result; raise TypeError unless it is "tf32" or in `ENGINE_DTYPES`."""
    if isinstance(dtype, str) and dtype == TF32_NAME:
        return dtype
    return dtype_of("dtype", dtype, *ENGINE_DTYPES)


def read(array: np.ndarray) -> np.ndarray:
    """Return an operand as float32; INT32 and UINT32 are rounded to nearest even."""
    return fp32.read(array) if array.dtype == DTYPES[E3M4] else to_fp32(array)


def write(values: np.ndarray, dtype: np.dtype | str) -> np.ndarray:
    """Round float32 values to the dtype of a result, as `bitpath.golden.trainium3.operands.cast` does."""
    if isinstance(dtype, str) or dtype != DTYPES[E3M4]:
        return from_fp32(values, dtype)
    return fp32.write(values, dtype)


def bit_words(array: np.ndarray) -> np.ndarray:
    """View elements as unsigned words of their size."""
    return array.view(np.dtype(f"u{array.dtype.itemsize}"))


def bit_dtype(dtype: np.dtype | type | str | None, data: np.dtype) -> np.dtype:
    """Return the dtype of a bit operator's result, data's for None; raise TypeError unless it has data's size."""
    if dtype is None:
        return data
    return dtype_of("dtype", dtype, *(each for each in INTEGER_DTYPES if each.itemsize == data.itemsize))


def read_bit_operand(name: str, operand: Any, words: np.ndarray) -> np.ndarray:
    """Return a scalar operand of a bit operator as unsigned words, [1, 1] or [P, 1].

    Raises
    ------
    TypeError : neither an integer nor an array of integers of the words' size.
    ValueError : another shape, or an integer that the size does not hold, with sign or without.
    """
    if isinstance(operand, np.ndarray):
        check_array(name, operand, *(each for each in INTEGER_DTYPES if each.itemsize == words.dtype.itemsize))
        if operand.shape != (len(words), 1):
            raise ValueError(f"{name} must have shape {(len(words), 1)} or a number, not {operand.shape}")
        return bit_words(operand)
    width = 8 * words.dtype.itemsize
    value = integer(name, operand, range(-(1 << width - 1), 1 << width), f" for bit operators on {width} bits")
    return np.array([[value % (1 << width)]], words.dtype)
