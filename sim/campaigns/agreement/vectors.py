"""Vectors of a unit's Verilog testbench: the recorded stimulus of its bench, and the values that golden gave there."""

import re
import tempfile
from pathlib import Path
from typing import Any

from bitpath.rtl.testbench import Vectors
from bitpath.sim.campaigns.agreement import recorded
from bitpath.sim.engine import paths
from bitpath.sim.engine.errors import SimulationError

CASES, STEPS, SEED = 50, 100, 0
"""Random cases of a test, steps of a test, and seed of the benches."""
FEWEST = 16
"""Fewest compared results of the test that stands for an engine."""


def vectors(unit: str, config: Any) -> Vectors:
    """Return the unit's recorded inputs, and each output where its bench compared it with golden.

    An engine's bench compares at the end of a test, so that its shortest test of at least :data:`FEWEST` results is taken
    whole. Raises SimulationError if the bench failed, or compared no whole output.
    """
    played, chosen = _recorded(unit, config, cases=CASES, steps=STEPS)
    steps, expected = recorded.stimulus(played, chosen), [test.compared for test in played]
    if not any(expected):
        whole, _ = _recorded(unit, config, cases=1, steps=None)
        shortest = min(
            (test for test in whole if len(test.answers) >= FEWEST), key=lambda test: test.steps, default=None
        )
        if shortest is None:
            raise SimulationError(f"{unit}: no test of its bench compares {FEWEST} results")
        # By itself and from the first cycle on: a test may read memories that it did not write.
        played, chosen = _recorded(unit, config, cases=1, steps=None, tests=f"{re.escape(shortest.test)}$")
        steps, expected = played[0].values(chosen[0]), [test.answers for test in played]
    first, moved = len(steps) - sum(chosen), []
    for values, count in zip(expected, chosen, strict=True):
        moved += [(first + step, name, value) for step, name, value in values if step < count]
        first += count
    if not moved:
        raise SimulationError(f"{unit}: its bench compared no output in {len(steps)} steps")
    return Vectors(tuple(played[0].inputs), steps, moved)


def _recorded(unit: str, config: Any, **which: Any) -> tuple[list[recorded.Recorded], list[int]]:
    """Return the tests that `recorded.record` selects, and the number of steps to replay of each."""
    place = paths.build_root() / "agree"
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place, prefix=f"{unit}-") as folder:
        played, chosen, _ = recorded.record(unit, config, Path(folder), seed=SEED, **which)
    return played, chosen
