"""Reads recorded benches and selects the steps to replay."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Recorded:
    """Stimulus that a bench's test gave its design.

    Attributes
    ----------
    inputs : widths of the design's inputs by name, "rst" included if it has a clock.
    changes : changes of inputs: step, index, value; the steps ascend.
    steps : number of cycles, or of input changes in a design without a clock.
    offers : first step with valid at 1, of every output with a valid port and each part of it; None without such a step.
    """

    inputs: dict[str, int]
    changes: tuple[tuple[int, int, int], ...]
    steps: int
    offers: dict[str, int | None]

    def values(self, steps: int) -> list[list[int]]:
        """Return all inputs in each of the first steps."""
        found, now, changes = [], [0] * len(self.inputs), iter(self.changes)
        change = next(changes, None)
        for step in range(steps):
            while change is not None and change[0] == step:
                now[change[1]] = change[2]
                change = next(changes, None)
            found.append(list(now))
        return found


def read(file: Path) -> Recorded:
    """Read a test that :class:`bitpath.verif.kit.recording.Recorder` recorded."""
    with np.load(file) as content:
        meta = json.loads(str(content["meta"]))
        inputs = content["changes"].tolist()
    ports = meta["ports"]
    widths = {port["name"]: port["bits"] for port in ports}
    return Recorded(widths, tuple(_changes(inputs, ports)), meta["cycles"], meta["offers"])


def _changes(words: Sequence[int], ports: Sequence[dict[str, Any]]) -> Iterator[tuple[int, int, int]]:
    """Yield the step, the index of the port and its new value."""
    place = 0
    while place < len(words):
        step, index = words[place : place + 2]
        end = place + 2 + -(-ports[index]["bits"] // 32)
        yield step, index, sum(word << 32 * each for each, word in enumerate(words[place + 2 : end]))
        place = end


def first_steps(tests: Sequence[Recorded], steps: int) -> list[int]:
    """Return the number of steps to replay of each test.

    It is `steps`. If a stream has no payload within them in any test, the test with its first payload is extended to
    `steps` beyond that payload.
    """
    chosen = [min(test.steps, steps) for test in tests]
    for stream in tests[0].offers:
        first = {index: step for index, test in enumerate(tests) if (step := test.offers[stream]) is not None}
        if first and all(step >= chosen[index] for index, step in first.items()):
            soonest = min(first, key=lambda index: first[index])
            chosen[soonest] = min(tests[soonest].steps, first[soonest] + steps)
    return chosen
