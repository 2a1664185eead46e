"""Pause patterns of stream ends: endless iterators of booleans, one a cycle, True to pause.

All randomness in benches comes from :func:`rng`, and so from the run's seed.
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
    """Return a generator for a name; generators are independent, so a new one does not change the others."""
    return random.Random(f"{_test_seed()}/{name}")


def test_name() -> str:
    """Return the name of the running test, with its parameters."""
    return regression._manager_inst._test.name


def _test_seed() -> int:
    """The seed of the running test: ``cocotb.RANDOM_SEED``, but for the folder in its module's name."""
    test = regression._manager_inst._test
    module = test.module
    if module.startswith("bitpath.verif."):
        module = f"{BENCHES}.{module.rpartition('.')[2]}"
    return int(os.environ["COCOTB_RANDOM_SEED"]) + int(sha1(f"{module}.{test.name}".encode()).hexdigest(), 16)


def never() -> Iterator[bool]:
    """Never pause, for full throughput."""
    return repeat(False)


def scattered(probability: float, source: random.Random) -> Iterator[bool]:
    """Pause each cycle independently with this probability."""
    while True:
        yield source.random() < probability


def bursts(longest: int, source: random.Random) -> Iterator[bool]:
    """Alternate runs of activity and pauses of 1 to ``longest`` cycles, which fill and drain every buffer."""
    pausing = False
    while True:
        yield from repeat(pausing, source.randint(1, longest))
        pausing = not pausing
