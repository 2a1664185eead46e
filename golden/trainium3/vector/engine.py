"""Tiles, scalar operands and operators that the instructions of ScalarE and VectorE share, with their checks."""

from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

from bitpath.golden.arrays.arguments import check_array, dtype_of, shown
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, E3M4, E4M3, E4M3FN, E5M2, FP16, FP32
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.golden.trainium3.operands import fp32

FLOAT_DTYPES = tuple(DTYPES[fmt] for fmt in (FP32, BF16, FP16, E4M3, E4M3FN, E5M2, E3M4))
"""Dtypes that the engines read and write."""

Binary = Callable[[np.ndarray, np.ndarray], np.ndarray]
OPERATORS: Mapping[str, Binary] = {
    "add": fp32.add,
    "subtract": fp32.subtract,
    "multiply": fp32.multiply,
    "max": fp32.maximum,
    "min": fp32.minimum,
    "abs_max": fp32.absolute_maximum,
}
"""Operators of VectorE's instructions: of two FP32 numbers one, rounded once."""


def read_tile(name: str, data: np.ndarray) -> np.ndarray:
    """Return a tile [P, F] of 1 to 128 partitions as float32.

    Raises
    ------
    TypeError : no array, or another dtype than `FLOAT_DTYPES`.
    ValueError : another shape.
    """
    check_array(name, data, *FLOAT_DTYPES)
    if data.ndim != 2 or not 0 < data.shape[0] <= PARTITIONS or not data.shape[1]:
        raise ValueError(
            f"{name} must have shape [P, F] with P from 1 to {PARTITIONS} and F of at least 1, not {data.shape}"
        )
    return fp32.read(data)


def read_operand(name: str, operand: float | np.ndarray, partitions: int) -> np.ndarray:
    """Return a scalar operand as float32, [1, 1] or [P, 1]: a number, rounded once, or one for each partition.

    Raises
    ------
    TypeError : neither a number nor an array of `FLOAT_DTYPES`.
    ValueError : an array of another shape, or a number beyond float64's range.
    """
    if isinstance(operand, np.ndarray):
        check_array(name, operand, *FLOAT_DTYPES)
        if operand.shape != (partitions, 1):
            raise ValueError(f"{name} must have shape {(partitions, 1)} or a number, not {operand.shape}")
        return fp32.read(operand)
    return fp32.one_nan(single(name, operand).reshape(1, 1))


def single(name: str, value: float) -> np.ndarray:
    """Return a number as a float32 scalar array, rounded once, to nearest even; infinity beyond FP32's range.

    Raises
    ------
    TypeError, ValueError : as `real`.
    """
    with np.errstate(over="ignore"):
        return np.asarray(real(name, value, ", or an array [P, 1]")).astype(np.float32)


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


def output_dtype(dtype: np.dtype | type) -> np.dtype:
    """Return the dtype of a result; raise TypeError unless `FLOAT_DTYPES` holds it."""
    return dtype_of("dtype", dtype, *FLOAT_DTYPES)
