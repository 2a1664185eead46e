"""Address generation on integers: a pointer that a modifier moves, with any number of counted levels.

Ref: UG1583, pseudo-code of 2D and 3D addressing.
"""

from collections.abc import Sequence
from typing import NamedTuple

from bitpath.golden.aie_ml_v2.declarations.tile import ADDRESS_BITS
from bitpath.golden.scalar.arguments import check_length
from bitpath.golden.scalar.checked import checked

_SPACE = 1 << ADDRESS_BITS


class Level(NamedTuple):
    """One counted dimension: its registers dn, dj and dc."""

    size: int
    step: int
    counter: int = 0


@checked
def agu_step(p: int, m: int, levels: Sequence[Level]) -> tuple[int, tuple[Level, ...]]:
    """Return pointer and levels after an access at `p`: the innermost level that is not at its end steps, else m does.

    No level is post-modify, one 2D, two 3D.
    """
    for depth, level in enumerate(levels):
        if level.counter < level.size:
            ended = (each._replace(counter=0) for each in levels[:depth])
            return (p + level.step) % _SPACE, (*ended, level._replace(counter=level.counter + 1), *levels[depth + 1 :])
    return (p + m) % _SPACE, tuple(each._replace(counter=0) for each in levels)


@checked
def nest_levels(sizes: Sequence[int], steps: Sequence[int]) -> tuple[int, tuple[Level, ...]]:
    """Return m and the levels of a nest of loops with these sizes, and one step more."""
    check_length("steps", steps, len(sizes) + 1)
    passed, jumps = 0, []
    for size, step in zip((*sizes, 1), steps, strict=True):
        jumps.append((step - passed) % _SPACE)
        passed += (size - 1) * step
    return jumps[-1], tuple(Level(size - 1, jump) for size, jump in zip(sizes, jumps, strict=False))
