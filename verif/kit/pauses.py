"""When a stream's end pauses: endless iterators of booleans, one a cycle, True to pause.

All randomness in benches comes from :func:`rng`, hence from the run's seed.
"""

import os
import random
from collections.abc import Iterator
from hashlib import sha1
from itertools import repeat

from cocotb import regression

BENCHES = "bitpath.verif.tb"
"""Package under whose name benches draw, wherever they lie: a bench that moves keeps its draws, and with them the bins that
its list holds and the mutants that it kills."""


def rng(name: str) -> random.Random:
    """A generator of its own for each name, so that adding one changes no other."""
    return random.Random(f"{_test_seed()}/{name}")


def _test_seed() -> int:
    """The seed of the running test: ``cocotb.RANDOM_SEED``, but for the folder in its module's name."""
    test = regression._manager_inst._test
    module = test.module
    if module.startswith("bitpath.verif."):
        module = f"{BENCHES}.{module.rpartition('.')[2]}"
    return int(os.environ["COCOTB_RANDOM_SEED"]) + int(sha1(f"{module}.{test.name}".encode()).hexdigest(), 16)


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
