"""Unit configurations: frozen dataclasses with a JSON form and a digest that names them."""

import hashlib
import json
from dataclasses import dataclass, field, fields
from typing import Any

from bitpath.golden.formats.records import to_dict


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


def digest(unit: str, config: Any) -> str:
    """Eight hexadecimal digits of SHA-256 that name a configuration in build folders and Verilog modules."""
    canonical = json.dumps([unit, to_dict(config)], sort_keys=True, separators=(",", ":"), default=repr)
    return hashlib.sha256(canonical.encode()).hexdigest()[:8]
