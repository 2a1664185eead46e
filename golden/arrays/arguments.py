"""Argument checks for all machines; each error reads "NAME must be ..., not ...".

TypeError: an argument of another type or dtype. ValueError: the type is right, the value, shape or range is not.
Integers may be of any integer type, numpy's scalars included; bool is not an integer.
"""

from collections.abc import Collection, Iterable
from enum import Enum
from operator import index
from typing import Any, TypeVar

import numpy as np

from bitpath.golden.formats.presets import Numerics, Preset

Member = TypeVar("Member", bound=Enum)
_SHOWN_BITS = 128
"""Integers up to this width are shown in digits; Python refuses to write very long ones."""


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


def check_choice(name: str, value: Any, choices: Collection[Any]) -> Any:
    """Return a value, an integer as Python's int; raise unless `choices` holds it. True and 1.0 are not 1."""
    kinds = {str if isinstance(each, str) else int for each in choices}
    if isinstance(value, bool) or not isinstance(value, (*kinds, *((np.integer,) if int in kinds else ()))):
        raise TypeError(f"{name} must be {one_of(map(repr, choices))}, not {shown(value)}")
    if value not in choices:
        raise ValueError(f"{name} must be {one_of(map(repr, choices))}, not {shown(value)}")
    return int(value) if isinstance(value, np.integer) else value


def check_flag(name: str, value: bool) -> None:
    """Raise TypeError unless a value is True or False."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {shown(value)}")


def check_instance(name: str, value: object, kind: type, where: str = "") -> None:
    """Raise TypeError unless a value is an instance of a class; `where` says where the caller finds one."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {_article(kind.__name__)}{where}, not {shown(value)}")


def member(name: str, value: object, members: type[Member]) -> Member:
    """Return an enum's member, given itself or its value."""
    if isinstance(value, members):
        return value
    check_choice(name, value, [each.value for each in members])
    return members(value)


def numerics_of(numerics: Numerics | None, preset: Preset[Numerics]) -> Numerics:
    """Return the numerics given, a preset's for None; raise TypeError for those of another unit."""
    if numerics is None:
        return preset.numerics
    check_instance("numerics", numerics, type(preset.numerics), " (preset.numerics)")
    return numerics


def integer(name: str, value: int, allowed: range | None = None, why: str = "") -> int:
    """Return an integer as Python's int.

    Raises
    ------
    TypeError : another type, bool included.
    ValueError : an integer outside the range.
    """
    try:
        number = index(None if isinstance(value, bool | np.bool_) else value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {shown(value)}") from None
    if allowed is not None and number not in allowed:
        raise ValueError(f"{name} must be {allowed[0]} to {allowed[-1]}{why}, not {shown(number)}")
    return number


def dtype_of(name: str, value: Any, *dtypes: Any) -> np.dtype:
    """Return a dtype argument as numpy's object; raise TypeError unless it is among `dtypes`."""
    try:
        dtype = None if value is None else np.dtype(value)  # numpy reads None as float64
    except (TypeError, ValueError):
        dtype = None
    if dtype is None or dtype not in dtypes:
        raise TypeError(f"{name} must be {one_of(dtypes)}, not {shown(value) if dtype is None else dtype}")
    return dtype


def shown(value: Any) -> str:
    """Return how a sentence names a value: its digits or text where they are short, else its type."""
    if isinstance(value, int) and value.bit_length() > _SHOWN_BITS:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, np.integer | np.floating):
        return str(value)
    return repr(value) if value is None or isinstance(value, str | int | float) else _article(type(value).__name__)


def one_of(options: Iterable[Any]) -> str:
    """Return "a, b or c"."""
    *others, last = map(str, options)
    return f"{', '.join(others)} or {last}" if others else last


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'AEIOUaeiou' else 'a'} {noun}"
