"""Unit configurations: frozen dataclasses with a JSON form and a digest that names them."""

import hashlib
import json
import types
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

from bitpath.golden.formats.catalogue import CATALOGUE, FIXED_FORMATS, FixedFormat, FloatFormat

FORMATS = CATALOGUE | FIXED_FORMATS
"""Formats that a configuration names."""


def require_integer(unit: str, name: str, value: int) -> None:
    """Raise ValueError unless a configuration field is a Python int: 2.0, True and numpy integers equal an int and change
    the digest."""
    if type(value) is not int:
        raise ValueError(f"{unit}: {name} must be an integer, not {value!r}")


def require_power_of_two(unit: str, name: str, value: int, low: int, high: int) -> None:
    """Raise ValueError unless a configuration field is a power of two from ``low`` to ``high``."""
    require_integer(unit, name, value)
    if not (low <= value <= high and value & (value - 1) == 0):
        raise ValueError(f"{unit}: {name} must be a power of two from {low} to {high}, not {value}")


def require_range(unit: str, name: str, value: int, low: int, high: int) -> None:
    """Raise ValueError unless a configuration field is an integer from ``low`` to ``high``."""
    require_integer(unit, name, value)
    if not low <= value <= high:
        raise ValueError(f"{unit}: {name} must be {low} to {high}, not {value}")


def in_range(low: int, high: int, default: int) -> Any:
    """Return a field of a `UnitConfig`: an integer from ``low`` to ``high``."""
    return field(default=default, metadata={"require": (require_range, low, high)})


def power_of_two(low: int, high: int, default: int) -> Any:
    """Return a field of a `UnitConfig`: a power of two from ``low`` to ``high``."""
    return field(default=default, metadata={"require": (require_power_of_two, low, high)})


class UnitConfig:
    """Base of configurations with declared ranges; a subclass names the unit that error messages name.

    Raises
    ------
    ValueError : a field made by `in_range` or `power_of_two` has another value or no integer.
    """

    def __init_subclass__(cls, unit: str = "") -> None:
        if unit:
            cls._unit = unit

    def __post_init__(self) -> None:
        for each in fields(self):
            if "require" in each.metadata:
                require, low, high = each.metadata["require"]
                require(self._unit, each.name, getattr(self, each.name), low, high)


@dataclass(frozen=True, kw_only=True)
class PipelineConfig(UnitConfig, unit="pipeline"):
    """Timing of a unit; results do not depend on it, and golden models do not read it.

    Attributes
    ----------
    stages : pipeline stages of the datapath, 0 to 4; 0 is combinational.
    """

    stages: int = in_range(0, 4, 0)


def to_dict(config: Any) -> Any:
    """Convert a configuration to plain JSON values; a catalogued format becomes its name."""
    if isinstance(config, FloatFormat | FixedFormat) and FORMATS.get(config.name) == config:
        return config.name
    if is_dataclass(config):
        return {field.name: to_dict(getattr(config, field.name)) for field in fields(config)}
    if isinstance(config, Enum):
        return config.value
    if isinstance(config, tuple):
        return [to_dict(item) for item in config]
    return config


def from_dict(cls: Any, value: Any) -> Any:
    """Convert the JSON value of :func:`to_dict` back to a configuration of type ``cls``.

    Raises
    ------
    ValueError : if a field is missing or unknown, or a value has an unknown name or the wrong type.
    """
    if get_origin(cls) in (Union, types.UnionType):
        cls = next(option for option in get_args(cls) if (option is types.NoneType) == (value is None))
    if cls is types.NoneType:
        return None
    if get_origin(cls) is tuple:
        if not isinstance(value, list):
            raise ValueError(f"configuration: {value!r} is not a list")
        return tuple(from_dict(get_args(cls)[0], item) for item in value)
    if cls is FloatFormat and isinstance(value, str):
        if value not in FORMATS:
            raise ValueError(f"configuration: unknown format {value!r}, known are {', '.join(FORMATS)}")
        return FORMATS[value]
    if is_dataclass(cls):
        return _dataclass_from(cls, value)
    if issubclass(cls, Enum):
        try:
            member = cls(value)
        except ValueError:
            member = None
        # The type counts: True equals 1 but is not the code 1.
        if member is None or type(member.value) is not type(value):
            raise ValueError(
                f"configuration: {value!r} is no {cls.__name__}, known are {', '.join(str(m.value) for m in cls)}"
            )
        return member
    if type(value) is not cls:
        raise ValueError(f"configuration: {value!r} is not of type {cls.__name__}")
    return value


def _dataclass_from(cls: Any, value: Any) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"configuration: {value!r} is not an object with the fields of {cls.__name__}")
    hints = get_type_hints(cls)
    differing = set(hints) ^ set(value)
    if differing:
        raise ValueError(f"configuration: {cls.__name__} has missing or unknown fields: {', '.join(sorted(differing))}")
    return cls(**{name: from_dict(hint, value[name]) for name, hint in hints.items()})


def digest(unit: str, config: Any) -> str:
    """Eight hexadecimal digits of SHA-256 that name a configuration in build folders and Verilog modules."""
    canonical = json.dumps([unit, to_dict(config)], sort_keys=True, separators=(",", ":"), default=repr)
    return hashlib.sha256(canonical.encode()).hexdigest()[:8]
