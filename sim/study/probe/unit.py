"""A unit of a machine as a probe sees it: its numerics, the operations that read them, and candidate operands."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bitpath.golden.formats.sources import Preset

Dots = Mapping[str, np.ndarray]
"""Operands of an operation by name, each [N, ...] for N dots."""


@dataclass(frozen=True)
class Operand:
    """An operand of one dot: numpy's name of the dtype of its codes or register words, and their shape."""

    dtype: str
    shape: tuple[int, ...] = ()


@dataclass(frozen=True)
class Operation:
    """An operation of a machine on one lane.

    Attributes
    ----------
    name : as files and messages have it.
    operands : of one dot, in the order of the device script.
    result : the W raw words of the result: numpy's name of their dtype, unsigned, and their shape [W].
    golden : (numerics, **settings, **dots) to raw words [N, W].
    exact : (numerics, **settings, **operands of one dot as integers and lists) to W raw words, by the scalar authority.
    pool : (seed) to candidate dots, the hand-made ones first.
    settings : what does not differ between dots, such as formats.
    """

    name: str
    operands: Mapping[str, Operand]
    result: Operand
    golden: Callable[..., np.ndarray]
    exact: Callable[..., list[int]]
    pool: Callable[[int], Dots]
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Unit:
    """A numerics dataclass of a machine, and the operations that read it.

    Attributes
    ----------
    name : as messages have it.
    presets : the default one first.
    operations : all that read the numerics.
    values : admissible values of a field by its name, or of all fields of a type, where the type does not state them.
    left_out : fields that are declarations, with the reason; every variant has the default preset's value.
    no_effect : fields whose variants are known to compute equal bits, with the reason.
    """

    name: str
    presets: Sequence[Preset[Any]]
    operations: Sequence[Operation]
    values: Mapping[str | type, Sequence[Any]] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    no_effect: Mapping[str, str] = field(default_factory=dict)


def stacked(*dots: Dots) -> dict[str, np.ndarray]:
    """Return dots one after the other."""
    return {name: np.concatenate([each[name] for each in dots]) for name in dots[0]}


def count(dots: Dots) -> int:
    """Return the number of dots."""
    return len(next(iter(dots.values())))
