"""Argument checks for all machines; each error reads "NAME must be ..., not ...".

TypeError: an argument of another type or dtype. ValueError: the type is right, the value, shape or range is not. The
checks of scalars, and `checked`, which applies a function's annotations, are those of `bitpath.golden.scalar`.
"""

from typing import Any

import numpy as np

from bitpath.golden.formats.presets import Numerics, Preset
from bitpath.golden.scalar.arguments import (
    check_choice,
    check_flag,
    check_instance,
    check_length,
    integer,
    member,
    one_of,
    shown,
    suggestion,
)
from bitpath.golden.scalar.checked import checked

__all__ = [
    "check_array",
    "check_broadcast",
    "check_choice",
    "check_contraction",
    "check_flag",
    "check_instance",
    "check_integers",
    "check_length",
    "check_shape",
    "checked",
    "dtype_of",
    "integer",
    "member",
    "numerics_of",
    "one_of",
    "shown",
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
    check_array(name, array)
    if not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"{name} must be an array of integers, not of {array.dtype}")
    lowest, highest = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    if array.size and (int(array.min()) < lowest or int(array.max()) > highest):
        raise ValueError(f"{name} must be {lowest} to {highest}, not {array.min()} to {array.max()}")


def check_broadcast(**shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that leading axes broadcast to; raise ValueError where they do not."""
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        given = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"leading axes must broadcast, not be {given}") from None


def check_contraction(a: np.ndarray, b: np.ndarray) -> None:
    """Raise ValueError unless the columns of `a` [..., M, K] are as many as the rows of `b` [..., K, N]."""
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"b must have {a.shape[-1]} rows, as many as a has columns, not {b.shape[-2]}")


def numerics_of(numerics: Numerics | None, preset: Preset[Numerics]) -> Numerics:
    """Return the numerics given, a preset's for None; raise TypeError for those of another unit."""
    if numerics is None:
        return preset.numerics
    check_instance("numerics", numerics, type(preset.numerics), " (preset.numerics)")
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
