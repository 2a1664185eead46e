"""Checks of the arguments that the operations share; each error is one sentence."""

from collections.abc import Collection
from enum import IntEnum
from typing import Any, TypeVar

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import MX_FORMATS, MxFormat
from bitpath.golden.aie_ml_v2.declarations.numerics import AIE_ML_V2, AieNumerics

Member = TypeVar("Member", bound=IntEnum)


def numerics_or_default(numerics: AieNumerics | None) -> AieNumerics:
    """Return the numerics given, else those of the reference."""
    if numerics is None:
        return AIE_ML_V2.numerics
    if not isinstance(numerics, AieNumerics):
        raise TypeError(
            f"numerics is {type(numerics).__name__}; AieNumerics or None is allowed, of a preset its numerics"
        )
    return numerics


def member(name: str, value: object, members: type[Member]) -> Member:
    """Return the member of an enum that `value` is, or whose value it is."""
    check_choice(name, value, [each.value for each in members])
    return members(value)


def check_choice(name: str, value: object, allowed: Collection[Any]) -> None:
    """Raise where a value is none of the strings or integers allowed; True and 1.0 are not 1."""
    if isinstance(value, bool) or not isinstance(value, str | int | np.integer) or value not in allowed:
        raise ValueError(f"{name} is {value!r}; {', '.join(map(repr, allowed))} are allowed")


def check_range(name: str, value: object, allowed: range) -> None:
    """Raise where a value is no integer of a range."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value not in allowed:
        raise ValueError(f"{name} is {value!r}; {allowed[0]} to {allowed[-1]} are allowed")


def mx_format(value: MxFormat | str) -> MxFormat:
    """Return an MX format given by itself or by name."""
    if isinstance(value, MxFormat):
        return value
    check_choice("fmt", value, MX_FORMATS)
    return MX_FORMATS[value]


def check_array(name: str, array: object, *dtypes: Any) -> None:
    """Raise where something is no array of one of the dtypes; of none given, any dtype is allowed."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{name} is {type(array).__name__}; a numpy array is allowed")
    if dtypes and array.dtype not in dtypes:
        raise TypeError(f"{name} is {array.dtype}; {', '.join(str(np.dtype(each)) for each in dtypes)} are allowed")


def check_integers(name: str, array: object, bits: int, signed: bool) -> None:
    """Raise where something is no array of integers of so many bits."""
    check_array(name, array)
    if not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"{name} is {array.dtype}; integer dtypes are allowed")
    lowest, highest = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    if array.size and (int(array.min()) < lowest or int(array.max()) > highest):
        raise ValueError(f"{name} reaches from {array.min()} to {array.max()}; {lowest} to {highest} are allowed")


def check_last_axis(name: str, array: np.ndarray, size: int, what: str) -> None:
    """Raise where the last axis has another size."""
    if array.ndim < 1 or array.shape[-1] != size:
        raise ValueError(f"{name} has shape {array.shape}; [..., {size}] is allowed, {what}")


def check_broadcast(**shapes: tuple[int, ...]) -> None:
    """Raise where leading axes do not broadcast."""
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError:
        given = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"leading axes do not broadcast: they are {given}") from None
