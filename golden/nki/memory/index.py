"""Keys of ``tensor[key]``: integers and registers, slices, ``...`` and ``nl.ds``. A register counts with its present value."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, SupportsIndex


@dataclass(frozen=True)
class DynamicSlice:
    """``size`` elements from ``start`` on, a number or a register: ``nl.ds(start, size)``."""

    start: SupportsIndex
    size: int


@dataclass(frozen=True)
class Item:
    """What a key takes of one dimension: ``num`` elements from ``first`` on; with ``drops`` the dimension goes away."""

    first: int
    num: int
    step: int = 1
    drops: bool = False


def items(key: Any, shape: Sequence[int]) -> list[Item]:
    """Return what a key takes of each dimension.

    Raises ValueError for anything out of range; numpy would cut the end of a slice.
    """
    keys = list(key) if isinstance(key, tuple) else [key]
    dots = [k for k, each in enumerate(keys) if each is Ellipsis]
    if len(dots) > 1:
        raise ValueError("a key must have at most one ...")
    at = dots[0] if dots else len(keys)
    keys[at : at + len(dots)] = [slice(None)] * (len(shape) - len(keys) + len(dots))
    if len(keys) != len(shape):
        raise ValueError(f"a key must have at most {len(shape)} items, not {len(keys)}")
    return [_item(each, num, dim) for dim, (each, num) in enumerate(zip(keys, shape, strict=True))]


def _item(key: Any, num: int, dim: int) -> Item:
    if isinstance(key, DynamicSlice):
        start = key.start.__index__()
        return _range(start, start + int(key.size), 1, num, dim)
    if isinstance(key, slice):
        start = 0 if key.start is None else int(key.start)
        stop = num if key.stop is None else int(key.stop)
        step = 1 if key.step is None else int(key.step)
        start, stop = (each + num if each < 0 else each for each in (start, stop))
        if step < 1:
            raise ValueError(f"the step of dimension {dim} must be at least 1, not {step}")
        return _range(start, stop, step, num, dim)
    try:
        index = key.__index__()
    except AttributeError:
        raise ValueError(f"an index must be an integer, a slice, nl.ds or a register, not {key!r}") from None
    if not -num <= index < num:
        raise ValueError(f"an index of dimension {dim} must be 0 to {num - 1}, not {index}")
    return Item(index % num, 1, drops=True)


def _range(start: int, stop: int, step: int, num: int, dim: int) -> Item:
    if not 0 <= start < stop <= num:
        raise ValueError(f"a slice of dimension {dim} must lie in 0 to {num}, not {start} to {stop}")
    return Item(start, -(-(stop - start) // step), step)
