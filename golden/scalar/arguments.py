"""Argument checks for all machines; each error reads "NAME must be ..., not ...".

TypeError: an argument of another type. ValueError: the type is right, the value or range is not. Integers may be of any
integer type, numpy's scalars and objects with ``__index__`` included; bool is not an integer.
"""

from collections.abc import Collection, Iterable, Sized
from difflib import get_close_matches
from enum import Enum, Flag
from operator import index
from typing import Any, TypeVar

import numpy as np

Member = TypeVar("Member", bound=Enum)
Bits = TypeVar("Bits", bound=Flag)
_SHOWN_BITS = 128
"""Integers up to this width are shown in digits; Python refuses to write very long ones."""
MOST_LISTED = 100
"""Choices that an error lists."""
_NOUNS = {np.ndarray: "a numpy array", bytes: "bytes"}


def check_choice(name: str, value: Any, choices: Collection[Any]) -> Any:
    """Return a value, an integer as Python's int; raise unless `choices` holds it. True and 1.0 are not 1."""
    try:
        choice = value if isinstance(value, str) else integer(name, value)
    except TypeError:
        choice = None
    if not isinstance(choice, tuple({str if isinstance(each, str) else int for each in choices})):
        raise TypeError(f"{name} must be {_listed(choices)}, not {shown(value)}")
    if choice not in choices:
        close = suggestion(choice, choices) if isinstance(choice, str) else ""
        raise ValueError(f"{name} must be {_listed(choices)}, not {shown(value)}{close}")
    return choice


def _listed(choices: Collection[Any]) -> str:
    """Return all choices, or the first and the last of many."""
    if len(choices) <= MOST_LISTED:
        return one_of(map(repr, choices))
    first, *_, last = choices
    return f"one of {len(choices)} names from {first!r} to {last!r}"


def check_flag(name: str, value: bool) -> bool:
    """Return a flag as Python's bool; raise TypeError unless it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, not {shown(value)}")
    return bool(value)


def check_length(name: str, values: Sized, length: int | None = None, why: str = "") -> None:
    """Raise ValueError unless a sequence has a length; without one, unless it has elements."""
    if len(values) != length if length is not None else not len(values):
        allowed = "at least 1 element" if length is None else f"{length} elements"
        raise ValueError(f"{name} must have {allowed}{why}, not {len(values)}")


def check_instance(name: str, value: object, kind: type, where: str = "") -> None:
    """Raise TypeError unless a value is an instance of a class; `where` says where the caller finds one."""
    if not isinstance(value, kind):
        noun = _NOUNS.get(kind) or _article(kind.__name__)
        raise TypeError(f"{name} must be {noun}{where}, not {shown(value)}")


def member(name: str, value: object, members: type[Member]) -> Member:
    """Return an enum's member, given itself or its value."""
    if isinstance(value, members):
        return value
    return members(check_choice(name, value, [each.value for each in members]))


def flag_bits(name: str, value: object, flag: type[Bits]) -> Bits:
    """Return bits of a flag, given themselves, their integer, True for all of them or False for none."""
    none = flag(0)
    if isinstance(value, bool | np.bool_):
        return ~none if value else none
    return flag(integer(name, value, range((~none).value + 1)))  # type: ignore[arg-type]  # it checks


def integer(name: str, value: int, allowed: range | None = None, why: str = "") -> int:
    """Return an integer as Python's int.

    Raises
    ------
    TypeError : another type, bool included.
    ValueError : an integer outside the range.
    """
    try:
        number = value if type(value) is int else index(None if isinstance(value, bool | np.bool_) else value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {shown(value)}") from None
    if allowed is not None and number not in allowed:
        raise ValueError(f"{name} must be {allowed[0]} to {allowed[-1]}{why}, not {shown(number)}")
    return number


def shown(value: Any) -> str:
    """Return how a sentence names a value: its digits or text where they are short, else its type."""
    if isinstance(value, int) and value.bit_length() > _SHOWN_BITS:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, np.integer | np.floating):
        return str(value)
    return repr(value) if value is None or isinstance(value, str | int | float) else _article(type(value).__name__)


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" with the known name closest to ``name`` in any case of letters; "" if none is close."""
    by_lower = {each.lower(): each for each in known}
    close = get_close_matches(name.lower(), by_lower, 1)
    return f"; did you mean {by_lower[close[0]]!r}?" if close else ""


def one_of(options: Iterable[Any]) -> str:
    """Return "a, b or c"."""
    *others, last = map(str, options)
    return f"{', '.join(others)} or {last}" if others else last


def _article(noun: str) -> str:
    return f"{'an' if noun[0] in 'AEIOUaeiou' else 'a'} {noun}"
