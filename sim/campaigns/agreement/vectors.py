"""Vectors of a unit's Verilog testbench: the recorded stimulus of its bench, and the values that golden gave there."""

import tempfile
from itertools import accumulate
from pathlib import Path
from typing import Any

from bitpath.rtl.testbench import Vectors
from bitpath.sim.campaigns.agreement import recorded
from bitpath.sim.engine import paths
from bitpath.sim.engine.errors import SimulationError

CASES, STEPS, SEED = 50, 100, 0
"""Random cases of a test, steps of a test, and seed of the benches."""
WHOLE_STEPS = 4000
"""Largest number of steps of an engine's tests, which are played to their ends."""


def vectors(unit: str, config: Any) -> Vectors:
    """Return the unit's recorded inputs, and each output where its bench compared it with golden.

    An engine's bench compares at the end of a test, so that whole tests are taken, the first ones. Raises SimulationError if
    the bench failed, or compared no whole output.
    """
    place = paths.build_root() / "agree"
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place, prefix=f"{unit}-") as folder:
        played, chosen, _ = recorded.record(unit, config, Path(folder), cases=CASES, steps=STEPS, seed=SEED)
    expected = [test.compared for test in played]
    if not any(expected):
        with tempfile.TemporaryDirectory(dir=place, prefix=f"{unit}-") as folder:
            played, _, _ = recorded.record(unit, config, Path(folder), cases=1, steps=None, seed=SEED)
        played = _first(played)
        chosen, expected = [test.steps for test in played], [test.answers for test in played]
    steps = recorded.stimulus(played, chosen)
    first, moved = len(steps) - sum(chosen), []
    for values, count in zip(expected, chosen, strict=True):
        moved += [(first + step, name, value) for step, name, value in values if step < count]
        first += count
    if not moved:
        raise SimulationError(f"{unit}: its bench compared no output in {len(steps)} steps")
    return Vectors(tuple(played[0].inputs), steps, moved)


def _first(tests: list[recorded.Recorded]) -> list[recorded.Recorded]:
    """Return the first tests within :data:`WHOLE_STEPS` in all, and all up to the first with answers.

    A test may read what the tests before it left in the memories, so that none of these is left out.
    """
    ends = accumulate(test.steps for test in tests)
    needed = next((number for number, test in enumerate(tests) if test.answers), len(tests))
    return [
        test
        for number, (test, end) in enumerate(zip(tests, ends, strict=True))
        if number <= needed or end <= WHOLE_STEPS
    ]
