"""Index expressions of NKI 0.1: ``nl.arange``, ``nl.mgrid``, their comparisons, and masks.

Ref: "NKI programming model" and "NKI API common fields", AWS Neuron SDK 2.26.1 (2025-09).
"""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from bitpath.golden.nki.declarations.errors import invalid

OUTSIDE = "is outside of the part of NKI 0.1 that runs here"
GUIDE = f"this name {OUTSIDE}; the NKI migration guide of SDK 2.27 says its form in `nki`"


def outside(what: str, instead: str) -> NotImplementedError:
    """Return the error of a kernel that needs more than this part of NKI 0.1."""
    return NotImplementedError(f"{what} {OUTSIDE}; in `nki` write {instead}")


# Indices: affine expressions of nl.arange and nl.mgrid, masks of comparisons, and the box that a mask leaves.


Box = tuple[slice, ...]


class Index(np.ndarray):
    """Integers of an index expression; a comparison is a `Predicate`."""

    def __ge__(self, other: Any) -> Any:
        return Predicate(self - other, "greater_equal")

    def __gt__(self, other: Any) -> Any:
        return Predicate(self - other, "greater")

    def __le__(self, other: Any) -> Any:
        return Predicate(other - self, "greater_equal")

    def __lt__(self, other: Any) -> Any:
        return Predicate(other - self, "greater")

    def __eq__(self, other: object) -> Any:
        return Predicate(self - other, "equal")

    def __ne__(self, other: object) -> Any:
        return Predicate(self - other, "not_equal")

    __hash__ = None


_COMPARISONS = {"greater_equal": np.greater_equal, "greater": np.greater, "equal": np.equal, "not_equal": np.not_equal}


class Predicate:
    """Where a difference of indices compares with 0; `difference` and `op` are None for several comparisons."""

    def __init__(self, difference: Any, op: str | None, values: np.ndarray | None = None):
        self.op = op
        self.difference = None if op is None else np.asarray(difference)
        self.values = _COMPARISONS[op](self.difference, 0) if op is not None else values

    def __and__(self, other: Any) -> "Predicate":
        values = other.values if isinstance(other, Predicate) else other
        return Predicate(None, None, np.logical_and(self.values, values))

    __rand__ = __and__


def arange(*args: int) -> Index:
    """Return integers as numpy's arange."""
    return np.arange(*map(int, args)).view(Index)


class _Grid(tuple):
    """Indices of nl.mgrid, the partition's as ``p`` and those behind it as ``x``, ``y`` and ``z``."""

    p, x, y, z = (property(itemgetter(k)) for k in range(4))


class Mgrid:
    """Indices of a box, each of the whole shape: ``nl.mgrid[0:128, 0:512]``."""

    def __getitem__(self, key: Any) -> _Grid:
        return _Grid(each.view(Index) for each in np.mgrid[key])


def affine(values: Any, shape: Sequence[int]) -> tuple[int, tuple[int, ...]]:
    """Return the first of the values and their step along each dimension.

    Raises NkiValidationError unless they are an affine expression.
    """
    spread = np.broadcast_to(np.asarray(values), shape)
    first = int(spread[(0,) * spread.ndim])
    steps = tuple(
        int(spread[tuple(int(k == axis) for k in range(spread.ndim))]) - first if num > 1 else 0
        for axis, num in enumerate(shape)
    )
    if not (
        spread == first + sum(step * at for step, at in zip(steps, np.indices(shape, sparse=True), strict=True))
    ).all():
        raise invalid("an index must be an affine expression of nl.arange, with one step in each dimension")
    return first, steps


def box_of(mask: Any, shape: Sequence[int]) -> Box:
    """Return the slices that a mask leaves of a tile; empty ones if it leaves nothing.

    Raises NotImplementedError for another set of elements.
    """
    if mask is None:
        return (slice(None),) * len(shape)
    try:
        values = np.broadcast_to(np.asarray(mask.values if isinstance(mask, Predicate) else mask), shape)
    except ValueError:
        raise invalid(f"mask must fit a tile of shape {tuple(shape)}") from None
    found = []
    for axis in range(values.ndim):
        places = np.flatnonzero(values.any(axis=tuple(k for k in range(values.ndim) if k != axis)))
        found.append(slice(int(places[0]), int(places[-1]) + 1) if len(places) else slice(0, 0))
    if not values[tuple(found)].all():
        raise outside("a mask that leaves no box of elements", "nisa.affine_select")
    return tuple(found)


def holds(mask: Any, what: str, instead: str) -> bool:
    """Return whether an instruction runs whose mask leaves all or nothing.

    Raises NotImplementedError for another mask.
    """
    values = np.asarray(mask.values if isinstance(mask, Predicate) else True if mask is None else mask)
    if values.any() and not values.all():
        raise outside(f"a mask of a part of {what}", instead)
    return bool(values.all())


NOTHING: Box = (slice(0, 0),)
"""The box of a mask that leaves nothing."""


def is_empty(box: Box) -> bool:
    """Return whether a mask leaves nothing."""
    return slice(0, 0) in box


def fitted(box: Box, shape: Sequence[int], tile: Sequence[int]) -> Box:
    """Return a box of a shape for a tile that has one element, or other ones, in some of its dimensions."""
    return tuple(each if num == own else slice(None) for each, num, own in zip(box, shape, tile, strict=False))
