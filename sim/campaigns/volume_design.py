"""Vectors of a unit's volume tasks on somebody's own design, which the player drives in its wrapper."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from amaranth import unsigned

from bitpath.golden.arrays.arguments import check_choice
from bitpath.golden.formats.records import to_dict
from bitpath.sim.campaigns.volume import TASKS, Player, compare, from_built, one_vector
from bitpath.sim.engine.build import Built
from bitpath.sim.engine.options import SimulationError
from bitpath.verif.kit import mismatches
from bitpath.verif.kit.batches import WORD_BITS, Batch, Part
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.volume import Found, Mismatch, VolumeTask

TEST = "volume"
"""Name of the comparison among the tests of a run, and of its counts in the record of a failed one."""


@dataclass(frozen=True)
class Differing:
    """A vector for which design and golden differ: its task, block and ``found``, whose batch and vector are those of the block."""

    task: VolumeTask
    block: int
    found: Mismatch

    @property
    def place(self) -> tuple[str, int, int, int]:
        """Task, block, batch and vector, which name it on the command line."""
        return self.task.name, self.block, self.found.batch, self.found.vector


@dataclass(frozen=True)
class Played:
    """Vectors that were compared, those that differ with the first of these, and the seconds that all took."""

    vectors: int
    mismatches: int
    first: tuple[Differing, ...]
    seconds: float

    def record(self) -> dict[str, Any]:
        return {"vectors": self.vectors, "mismatches": self.mismatches, "seconds": round(self.seconds, 2)}


def tasks_of(unit: str) -> tuple[VolumeTask, ...]:
    """Return the tasks of a unit: those of random vectors, or its sweeps if it has no others.

    Raises ValueError for a unit without tasks.
    """
    tasks = [task for task in TASKS.values() if isinstance(task, VolumeTask)]
    own = [task for task in tasks if task.unit == unit]
    if not own:
        units = ", ".join(dict.fromkeys(task.unit for task in tasks))
        raise ValueError(f"--volume needs vectors with golden's answers, which {unit} does not have; {units} have them")
    return tuple([task for task in own if task.blocks is None] or own)


def play(unit: str, built: Built, vectors: int, seed: int) -> Played:
    """Play ``vectors`` vectors of a unit's tasks on a design, and compare every answer with golden's.

    Each task has an equal share; a sweep that has fewer vectors than its share is played whole.

    Raises SimulationError if the design gives too few answers, or too many.
    """
    start, player = time.monotonic(), from_built(built)
    tasks = tasks_of(unit)
    compared, wrong, first = 0, 0, list[Differing]()
    for number, task in enumerate(tasks):
        left = vectors // len(tasks) + (number < vectors % len(tasks))
        blocks = count() if task.blocks is None else np.random.default_rng(seed).permutation(task.blocks).tolist()
        for block in blocks:
            if not left:
                break
            found = _play_block(player, task, block, left, seed)
            left -= found.vectors
            compared, wrong = compared + found.vectors, wrong + found.mismatches
            first += [Differing(task, block, each) for each in found.first]
    return Played(compared, wrong, tuple(first[: mismatches.SHOWN]), time.monotonic() - start)


def _play_block(player: Player, task: VolumeTask, block: int, most: int, seed: int) -> Found:
    """Play a block, or ``most`` vectors of it at random; mismatches have the places of the whole block."""
    batches = list(task.batches(player.built.config, task.rng(seed, block), block))
    ends = np.cumsum([batch.count for batch in batches])
    chosen = np.arange(ends[-1])
    if most < len(chosen):
        chosen = np.sort(np.random.default_rng([seed, block]).choice(chosen, most, replace=False))
    rows = [
        own - end + batch.count
        for own, end, batch in zip(np.split(chosen, np.searchsorted(chosen, ends[:-1])), ends, batches, strict=True)
    ]
    played = [number for number, own in enumerate(rows) if len(own)]
    found = compare(player, [_some(batches[number], rows[number]) for number in played], task.layout)
    numbered = [(played[each.batch], each) for each in found.first]
    first = [each._replace(batch=number, vector=int(rows[number][each.vector])) for number, each in numbered]
    return replace(found, first=tuple(first))


def _some(batch: Batch, rows: np.ndarray) -> Batch:
    """Return the batch of some of a batch's vectors."""
    if len(rows) == batch.count:
        return batch
    parts = tuple(
        Part(part.table[rows], None, part.first) if part.index is None else replace(part, index=part.index[rows])
        for part in batch.parts
    )
    return replace(batch, parts=parts, count=len(rows), golden=lambda: batch.golden()[rows])


def one(unit: str, config: Any, place: tuple[str, int, int, int], seed: int) -> dict[str, str]:
    """Return the environment in which :data:`replay.BENCH` plays a vector of a unit's task.

    Raises ValueError for a task that is not one of the unit, and for a place that its vectors do not have.
    """
    tasks = {task.name: task for task in tasks_of(unit)}
    return one_vector(tasks[check_choice("--vector", place[0], tasks)], config, seed, *place[1:])


def checked(unit: str, built: Built, vectors: int, seed: int, folder: Path, replay: Callable[..., str]) -> Played:
    """:func:`play`; a comparison that fails leaves its files in the folder, as a run of a bench does.

    Raises SimulationError if a vector differs, and as :func:`play`, with the command that repeats it.

    Parameters
    ----------
    replay : returns the command with these words at its end.
    """
    played = Played(0, 0, (), 0.0)
    try:
        played = play(unit, built, vectors, seed)
        text = f"{played.mismatches:,} of {played.vectors:,} vectors differ from golden; the bench was not run"
    except SimulationError as error:
        text = str(error)
    else:
        if not played.mismatches:
            return played
    config = to_dict(built.config)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    run = {"config": config, "seed": seed, "tests": [TEST], "failed": [TEST], "skipped": [], TEST: played.record()}
    (folder / "run.json").write_text(json.dumps(run | {"wall_seconds": round(played.seconds, 2)}, indent=2) + "\n")
    for each in played.first:
        _note(folder, built.config, each)
    line = replay("--vector", *played.first[0].place) if played.first else replay("--volume", vectors)
    lines = [f"{built.unit} on verilator, seed {seed}: {text}", mismatches.report(folder), f"replay: {line}"]
    raise SimulationError("\n".join(filter(None, lines)))


def _note(folder: Path, config: Any, each: Differing) -> None:
    vector = each.found
    shown = Shown(operands={name: f"0x{value:x}" for name, value in vector.operands.items()})
    if each.task.shown is not None:
        shown = each.task.shown(config, vector.words)
    got, expected = (
        sum(word << WORD_BITS * k for k, word in enumerate(words)) for words in (vector.got, vector.expected)
    )
    head = f"{TEST}, {each.task.name}, block {each.block}, batch {vector.batch}, vector {vector.vector} ({vector.kind})"
    found = mismatches.differences(unsigned(WORD_BITS * len(vector.got)), shown.formats or {}, got, expected)
    mismatches.note(folder, mismatches.full_text(head, found, shown), mismatches.line_text(head, found))
