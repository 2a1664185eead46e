"""Checks of the arguments that the Matrix unit's operations share; each error is one sentence."""

from dataclasses import replace
from enum import Enum
from typing import TypeVar

import numpy as np

from bitpath.golden.tensix.declarations.formats import (
    COLUMNS,
    EXPONENT5_FORMATS,
    PHASES,
    STYLE_FORMATS,
    STYLE_OWN_FORMAT,
    Format,
    Style,
)
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, TensixNumerics

Member = TypeVar("Member", bound=Enum)


def member(name: str, value: object, members: type[Member]) -> Member:
    """Return the member of an enum that `value` is, or whose value it is."""
    try:
        return members(value)
    except ValueError:
        allowed = ", ".join(repr(each.value) for each in members)
        raise ValueError(f"{name} is {value!r}; {allowed} are allowed") from None


def format_member(name: str, value: Format | int | str) -> Format:
    """Return a data format given as a member, a hardware code, or a name."""
    try:
        return Format[value] if isinstance(value, str) else Format(value)
    except (KeyError, ValueError):
        raise ValueError(f"{name} is {value!r}; {', '.join(Format.__members__)} are allowed") from None


def source_format(name: str, value: Format | int | str | None, style: Style) -> Format:
    """Return the format of a source, the style's own where none is given."""
    if value is None:
        return STYLE_OWN_FORMAT[style]
    fmt = format_member(name, value)
    if fmt not in STYLE_FORMATS[style]:
        allowed = ", ".join(each.name for each in STYLE_FORMATS[style])
        raise ValueError(f"{name} is {fmt.name}; with style {style.value}, {allowed} are allowed")
    return fmt


def numerics_with(quirk: bool, numerics: TensixNumerics | None) -> TensixNumerics:
    """Return the numerics given, else Wormhole's; `quirk` False switches the -1 quirk off in either."""
    numerics = WORMHOLE.numerics if numerics is None else numerics
    return replace(numerics, minus_one_quirk=numerics.minus_one_quirk and quirk)


def check_phase(phase: int) -> None:
    """Raise where a fidelity phase does not exist."""
    if phase not in range(PHASES):
        raise ValueError(f"phase is {phase!r}; 0 to {PHASES - 1} are allowed")


def check_dst32(style: Style, dst32: bool) -> None:
    """Raise where a style has no Dst of this width."""
    if style is Style.INT8 and not dst32:
        raise ValueError("dst32 is False; with style INT8, True is allowed")


def check_words(name: str, words: np.ndarray, rows: int, bits: int) -> None:
    """Raise where an array is not uint32 [..., rows, 16] of words of `bits` bits."""
    if words.dtype != np.uint32:
        raise TypeError(f"{name} is {words.dtype}; uint32 is allowed")
    if words.shape[-2:] != (rows, COLUMNS):
        raise ValueError(f"{name} has shape {words.shape}; [..., {rows}, {COLUMNS}] is allowed")
    if words.size and int(words.max()) >> bits:
        raise ValueError(f"{name} holds words up to {words.max():#x}; {bits} bits are allowed")


def check_source(name: str, words: np.ndarray, rows: int, fmt: Format) -> None:
    """Raise where an array does not hold logical source words of a format."""
    check_words(name, words, rows, 19)
    if fmt in EXPONENT5_FORMATS and np.any(words >> 15 & 0b111):
        raise ValueError(f"{name} holds exponents above 31; {fmt.name} has 5 exponent bits")


def leading_shape(**arrays: np.ndarray) -> tuple[int, ...]:
    """Return the leading axes, those before the last two, that arrays broadcast to."""
    try:
        return np.broadcast_shapes(*(array.shape[:-2] for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(f"leading axes do not broadcast: the shapes are {shapes}") from None
