"""Records of numerics and configurations as JSON values, and back."""

import types
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

from bitpath.golden.formats.catalogue import CATALOGUE, FIXED_FORMATS, FixedFormat, FloatFormat

FORMATS = CATALOGUE | FIXED_FORMATS
"""Formats that a record names."""


def to_dict(config: Any) -> Any:
    """Convert a configuration to plain JSON values; a catalogued format becomes its name."""
    if isinstance(config, (FloatFormat, FixedFormat)) and FORMATS.get(config.name) == config:
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
        options = [option for option in get_args(cls) if (option is types.NoneType) == (value is None)]
        if not options:
            raise ValueError(
                f"configuration: {value!r} is not one of {', '.join(each.__name__ for each in get_args(cls))}"
            )
        cls = options[0]
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
            # `bitpath numerics` shows names.
            member = cls.__members__.get(value) if isinstance(value, str) else None
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
    differing = set(hints).symmetric_difference(value)
    if differing:
        raise ValueError(f"configuration: {cls.__name__} has missing or unknown fields: {', '.join(sorted(differing))}")
    return cls(**{name: from_dict(hint, value[name]) for name, hint in hints.items()})
