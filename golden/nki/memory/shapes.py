"""Shapes and steps of views: which elements a view has, without their memory. All raise ValueError with a sentence."""

from collections.abc import Mapping, Sequence
from math import prod

Dims = list[tuple[int, int]]
"""Num and step of each dimension, outermost first; steps in elements."""


def merged(dims: Sequence[tuple[int, int]]) -> Dims:
    """Merge dimensions that continue each other, and drop those of one element."""
    found: Dims = []
    for num, step in dims:
        if num == 1:
            continue
        if found and found[-1][1] == num * step:
            found[-1] = found[-1][0] * num, step
        else:
            found.append((num, step))
    return found


def reshaped(dims: Sequence[tuple[int, int]], shape: Sequence[int]) -> Dims:
    """Give the elements of a view another shape, in the same order.

    One num may be -1: it is what is left.
    """
    count, shape = prod(num for num, _ in dims), list(shape)
    if shape.count(-1) == 1:
        rest = prod(num for num in shape if num != -1)
        shape[shape.index(-1)] = count // rest if rest else 0
    if any(num < 0 for num in shape) or prod(shape) != count:
        raise ValueError(f"shape must have {count} elements, not {tuple(shape)}")
    if not count:
        return [(num, 1) for num in shape]
    left, found = merged(dims), []
    # Innermost first: each new dimension takes its part of the innermost merged one.
    inside = 1
    for num in reversed(shape):
        if num == 1:
            found.append((1, left[-1][1] * inside if left else 1))
            continue
        if left[-1][0] % (inside * num):
            raise ValueError(f"shape {tuple(shape)} must split or join dimensions that continue each other in memory")
        found.append((num, left[-1][1] * inside))
        inside *= num
        if inside == left[-1][0]:
            left.pop()
            inside = 1
    return found[::-1]


def span(dims: Sequence[tuple[int, int]], start: int) -> tuple[int, int]:
    """Return the smallest element of a view and the one behind its largest."""
    low = start + sum(min(0, step * (num - 1)) for num, step in dims)
    high = start + sum(max(0, step * (num - 1)) for num, step in dims)
    return low, high + 1


Names = tuple[str | tuple[str, ...], ...]
"""Names of dimensions; those in a tuple of their own are joined."""


def rearrangement(
    source: Names, destination: Names, sizes: Mapping[str, int], shape: Sequence[int]
) -> tuple[list[int], list[int], list[int]]:
    """Return the split shape, the new order of its dimensions, and the joined shape."""
    before, after = (
        [(each,) if isinstance(each, str) else tuple(each) for each in side] for side in (source, destination)
    )
    order, moved = ([name for names in side for name in names] for side in (before, after))
    if sorted(order) != sorted(moved) or len(set(order)) != len(order):
        raise ValueError(f"patterns must name the same dimensions once each, not {source} and {destination}")
    if len(before) != len(shape):
        raise ValueError(f"the source pattern must name {len(shape)} dimensions, not {len(before)}")
    known = dict(sizes)
    for names, num in zip(before, shape, strict=True):
        unknown = [name for name in names if name not in known]
        part = prod(known[name] for name in names if name in known)
        if len(unknown) > 1 or not part or num % part:
            raise ValueError(f"fixed_sizes must split {num} into {', '.join(names)} with at most one size left out")
        known |= dict.fromkeys(unknown, num // part)
        if prod(known[name] for name in names) != num:
            raise ValueError(f"fixed_sizes of {', '.join(names)} must make {num}")
    return (
        [known[name] for name in order],
        [order.index(name) for name in moved],
        [prod(known[name] for name in names) for names in after],
    )
