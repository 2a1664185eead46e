"""Argument checks for all machines; each error reads "NAME must be ..., not ...".

TypeError: an argument of another type or dtype. ValueError: the type is right, the value, shape or range is not. The
checks of scalars, and `checked`, which applies a function's annotations, are those of `bitpath.golden.scalar`.
"""

from typing import Any, Literal

import numpy as np

from bitpath.golden.formats.sources import Numerics, Preset
from bitpath.golden.scalar.checked import (
    as_numpy,
    check_choice,
    check_flag,
    check_instance,
    check_length,
    checked,
    integer,
    member,
    one_of,
    shown,
    suggestion,
)

# Operands of a matmul as numpy arrays, of the dtype that the machines convert from.
#
# An operand may be a numpy array of any float or integer dtype, ml_dtypes' included, or a list. It may also be an
# object with `__array__` or `__dlpack__`, such as a tensor of torch, jax or cupy; none of the three is imported.


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


__all__ = [
    "check_array",
    "check_broadcast",
    "check_choice",
    "check_flag",
    "check_instance",
    "check_integers",
    "check_length",
    "check_matrix",
    "check_product",
    "check_shape",
    "checked",
    "dtype_of",
    "integer",
    "member",
    "numerics_of",
    "one_of",
    "shown",
    "signed_range",
    "suggestion",
]


def check_array(name: str, value: np.ndarray, *dtypes: Any) -> None:
    """Raise TypeError unless a value is a numpy array of one of the dtypes; without dtypes, any dtype passes."""
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{name} must be a numpy array, not {shown(value)}")
    if dtypes and value.dtype not in dtypes:
        raise TypeError(f"{name} must be {one_of(map(np.dtype, dtypes))}, not {value.dtype}")


def check_shape(name: str, array: np.ndarray, *sizes: int | str, why: str = "") -> None:
    """Raise ValueError unless an array has these axes: a number is a size, a name any size, "..." any leading axes."""
    expected = sizes[sizes[0] == "..." :]
    axes = array.shape[-len(expected) :] if len(expected) < len(sizes) else array.shape
    if len(axes) != len(expected) or any(
        isinstance(size, int) and size != axis for size, axis in zip(expected, axes, strict=True)
    ):
        raise ValueError(f"{name} must have shape [{', '.join(map(str, sizes))}]{why}, not {array.shape}")


def check_integers(name: str, array: np.ndarray, bits: int, signed: bool) -> None:
    """Raise unless a value is an array of any integer dtype whose numbers fit in `bits` bits."""
    _check_integer_dtype(name, array)
    check_range(name, array, signed_range(bits) if signed else range(1 << bits))


def _check_integer_dtype(name: str, array: np.ndarray) -> None:
    check_array(name, array)
    if not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"{name} must be an array of integers, not of {array.dtype}")


def signed_range(bits: int) -> range:
    """Return the integers of two's complement."""
    return range(-(1 << bits - 1), 1 << bits - 1)


def check_range(name: str, array: np.ndarray, allowed: range) -> None:
    """Raise ValueError unless all integers of an array lie in a range."""
    if array.size and (int(array.min()) < allowed[0] or int(array.max()) > allowed[-1]):
        raise ValueError(f"{name} must be {allowed[0]} to {allowed[-1]}, not {array.min()} to {array.max()}")


def check_broadcast(**shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that leading axes broadcast to; raise ValueError where they do not."""
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        given = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"leading axes must broadcast, not be {given}") from None


def check_matrix(
    name: str, matrix: np.ndarray, integers: range | None = None, *, no_nan: str = "", dimensions: Literal[2, 3] = 2
) -> None:
    """Raise unless a value is a matrix, at least 1 by 1, of float32, or of any integer dtype with numbers of a range.

    With ``no_nan``, the reason in words, NaN is refused too. With three dimensions it is a stack of matrices.
    """
    if integers is None:
        check_array(name, matrix, np.float32)
    else:
        _check_integer_dtype(name, matrix)
    if matrix.ndim != dimensions or 0 in matrix.shape:
        count = "two" if dimensions == 2 else "three"
        raise ValueError(f"{name} must have {count} dimensions of at least 1, not shape {matrix.shape}")
    if integers is not None:
        check_range(name, matrix, integers)
    elif no_nan and np.isnan(matrix).any():
        raise ValueError(f"{name} holds NaN, which {no_nan}")


def check_product(
    a: np.ndarray,
    b: np.ndarray,
    integers: tuple[range | None, range | None] = (None, None),
    no_nan: tuple[str, str] = ("", ""),
) -> None:
    """Check the operands of a matmul, [M, K] and [K, N], on every machine; the other arguments are `check_matrix`'s of each."""
    for name, matrix, allowed, reason in zip("ab", (a, b), integers, no_nan, strict=True):
        check_matrix(name, matrix, allowed, no_nan=reason)
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"b must have {a.shape[-1]} rows, as many as a has columns, not {b.shape[-2]}")


def numerics_of(numerics: Numerics | None, preset: Preset[Numerics]) -> Numerics:
    """Return the numerics given, a preset's for None; raise TypeError for those of another unit."""
    if numerics is None:
        return preset.numerics
    kind = type(preset.numerics)
    check_instance("numerics", numerics, kind, " (preset.numerics)")
    if type(numerics) is not kind:
        # A subclass has fields that this unit does not read.
        raise TypeError(f"numerics must be a {kind.__name__} (preset.numerics), not a {type(numerics).__name__}")
    return numerics


def dtype_of(name: str, value: Any, *dtypes: Any) -> np.dtype:
    """Return a dtype argument as numpy's object; raise TypeError unless it is among `dtypes`."""
    try:
        dtype = None if value is None else np.dtype(value)  # numpy reads None as float64
    except (TypeError, ValueError):
        dtype = None
    if dtype is None or dtype not in dtypes:
        raise TypeError(f"{name} must be {one_of(dtypes)}, not {shown(value) if dtype is None else dtype}")
    return dtype
