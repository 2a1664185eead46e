"""When a stream's end pauses: endless iterators of booleans, one a cycle, True to pause.

All randomness in benches comes from :func:`rng`, hence from the run's seed.
"""

import random
from collections.abc import Iterator
from itertools import repeat

import cocotb


def rng(name: str) -> random.Random:
    """A generator of its own for each name, so that adding one changes no other."""
    return random.Random(f"{cocotb.RANDOM_SEED}/{name}")


def never() -> Iterator[bool]:
    """Full speed."""
    return repeat(False)


def scattered(probability: float, source: random.Random) -> Iterator[bool]:
    """Each cycle pauses by itself with this probability."""
    while True:
        yield source.random() < probability


def bursts(longest: int, source: random.Random) -> Iterator[bool]:
    """Runs of going and of pausing, each of 1 to ``longest`` cycles: what empties and fills every buffer."""
    pausing = False
    while True:
        yield from repeat(pausing, source.randint(1, longest))
        pausing = not pausing
