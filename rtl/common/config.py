"""Configurations of units: frozen dataclasses that travel as JSON and are named by their digest."""

import hashlib
import json
import types
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

from bitpath.golden.formats.catalogue import CATALOGUE, FloatFormat


@dataclass(frozen=True, kw_only=True)
class PipelineConfig:
    """When a unit computes, as against what: the RTL alone reads it.

    Attributes
    ----------
    stages : register ranks inside the datapath; 0 is combinational.
    """

    stages: int = 0

    def __post_init__(self) -> None:
        require_range("pipeline", "stages", self.stages, 0, 4)


def require_integer(unit: str, name: str, value: int) -> None:
    """Raise ValueError unless a field of a unit's configuration is an integer: neither 2.0, nor True or numpy's, which equal
    one and yet give a unit of another digest."""
    if type(value) is not int:
        raise ValueError(f"{unit}: {name} is {value!r}, allowed are integers")


def require_power_of_two(unit: str, name: str, value: int, low: int, high: int) -> None:
    """Raise ValueError unless a field of a unit's configuration is a power of two from ``low`` to ``high``."""
    require_integer(unit, name, value)
    if not (low <= value <= high and value & (value - 1) == 0):
        raise ValueError(f"{unit}: {name} is {value}, allowed are powers of two from {low} to {high}")


def require_range(unit: str, name: str, value: int, low: int, high: int) -> None:
    """Raise ValueError unless a field of a unit's configuration is an integer from ``low`` to ``high``."""
    require_integer(unit, name, value)
    if not low <= value <= high:
        raise ValueError(f"{unit}: {name} is {value}, allowed are {low} to {high}")


def to_dict(config: Any) -> Any:
    """The plain JSON value of a configuration; a catalogued format becomes its name."""
    if isinstance(config, FloatFormat) and CATALOGUE.get(config.name) == config:
        return config.name
    if is_dataclass(config):
        return {field.name: to_dict(getattr(config, field.name)) for field in fields(config)}
    if isinstance(config, Enum):
        return config.value
    if isinstance(config, tuple):
        return [to_dict(item) for item in config]
    return config


def from_dict(cls: Any, value: Any) -> Any:
    """The configuration of type ``cls`` that :func:`to_dict` made ``value`` from.

    Raises
    ------
    ValueError : for a missing or unknown field, an unknown name, or a value of the wrong type.
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
        if value not in CATALOGUE:
            raise ValueError(f"configuration: unknown format {value!r}, known are {', '.join(CATALOGUE)}")
        return CATALOGUE[value]
    if is_dataclass(cls):
        return _dataclass_from(cls, value)
    if issubclass(cls, Enum):
        # By type too: True equals 1, and is no code.
        for member in cls:
            if type(member.value) is type(value) and member.value == value:
                return member
        raise ValueError(
            f"configuration: {value!r} is no {cls.__name__}, known are {', '.join(str(m.value) for m in cls)}"
        )
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
    """Eight hexadecimal digits that name a unit's configuration: its build folder and its Verilog module."""
    canonical = json.dumps([unit, to_dict(config)], sort_keys=True, separators=(",", ":"), default=repr)
    return hashlib.sha256(canonical.encode()).hexdigest()[:8]
