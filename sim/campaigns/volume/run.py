"""Runs the blocks of tasks side by side. Each finished block is saved at once and never computed again."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from functools import cache as once
from pathlib import Path
from typing import Any

from bitpath.sim.campaigns.volume import task as comparison
from bitpath.sim.campaigns.volume.table import TASKS, AnyTask
from bitpath.sim.campaigns.volume.task import clear_scratch
from bitpath.sim.engine import cache, journal, model_program, paths, tools
from bitpath.sim.engine.build import rtl_emitter
from bitpath.sim.engine.cluster import HERE, Cluster, Piece, finished
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.engine.imports import module_file, reached
from bitpath.verif.kit.volume import Found

AROUND = ("replay.py", "report.py", "run.py", "table.py")
"""Files that affect neither vectors nor answers."""
TABLE = "bitpath.sim.campaigns.volume.table"
"""The module that reaches all tasks."""
FIELDS = {field.name for field in fields(Found)}
"""Field names of a block's record."""
Progress = Callable[[int, int], None]


def journal_file(task: AnyTask) -> Path:
    """Return the journal of a task's blocks. An interrupted run resumes from it."""
    return paths.build_root() / "deep" / f"{task.name}.jsonl"


@once
def _sources() -> dict[str, Any]:
    """Return the key that all answers share, beside a unit's Verilog and its player."""
    # The units' Python too: layouts and timings make vectors, and need not show in the Verilog.
    models = (name for name in reached(TABLE) if name.startswith(("bitpath.golden", "bitpath.verif")))
    folders = [*map(module_file, sorted(models)), *rtl_emitter().sources]
    own = sorted(file for file in Path(__file__).parent.glob("*.py") if file.name not in AROUND)
    own.append(Path(model_program.__file__))
    return {
        "sources": cache.hash_files([*folders, *own]),
        "packages": tools.library_versions(),
        "python": sys.version,
    }


def digest(task: AnyTask, seed: int) -> str:
    """Return the key of a task's blocks: sources, Verilog, tools, and the seed of a random task."""
    key = _sources() | comparison.identity(task) | {"name": task.name, "seed": seed if task.random else None}
    return cache.hash_json(key)[:16]


def run_task(
    task: AnyTask,
    *,
    vectors: int,
    seed: int,
    blocks: int | None = None,
    cluster: Cluster = HERE,
    progress: Progress = lambda done, total: None,
) -> dict[str, Any]:
    """Compare the blocks of a task that are not on disk yet, and return the record of all blocks.

    Raises SimulationError if a player failed, a process died, or sources changed; finished blocks are kept.

    Parameters
    ----------
    vectors : number of vectors, for tasks with random ones.
    blocks : largest number of blocks.
    progress : called with the blocks done and their total.
    """
    key, file = digest(task, seed), journal_file(task)
    count = task.block_count(vectors)
    count = count if blocks is None else min(count, blocks)
    found = {
        each["block"]: each
        for each in journal.read(file)
        if each.get("key") == key and each.get("block") in range(count) and each.keys() >= FIELDS
    }
    missing = [block for block in range(count) if block not in found]
    progress(len(found), count)
    for block, record in _work(task, seed, missing, cluster, key):
        found[block] = {"key": key, "block": block} | record
        journal.append(file, found[block])
        progress(len(found), count)
    asked = count * task.block_vectors
    if task.blocks is None:
        asked = min(asked, vectors)
    return _record(task, seed, key, asked, [found[block] for block in sorted(found)])


def _work(
    task: AnyTask, seed: int, blocks: Sequence[int], cluster: Cluster, key: str
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield number and record of each block, as they come."""
    clear_scratch()
    pieces = [Piece(block, task.name, run_block, (task.name, seed, block, key)) for block in blocks]
    for each in finished(pieces, cluster):
        yield each.piece.key, each.result()


def run_block(name: str, seed: int, block: int, key: str) -> dict[str, Any]:
    """Run one block of a task in a worker.

    Raises SimulationError if the player failed, or this process has other sources than those of the key.
    """
    task = TASKS[name]
    if digest(task, seed) != key:
        raise SimulationError(f"{name}: the sources have changed since the command began; run it again")
    try:
        return comparison.run_block(task, seed, block).record()
    except SimulationError as error:
        raise SimulationError(f"{name}, seed {seed}, block {block}: {error}") from None


def _record(task: AnyTask, seed: int, key: str, asked: int, found: list[dict[str, Any]]) -> dict[str, Any]:
    totals = {
        name: sum(each[name] for each in found)
        for name in ("vectors", "mismatches", "stimulus_seconds", "golden_seconds", "rtl_seconds")
    }
    seconds = totals["stimulus_seconds"] + totals["golden_seconds"] + totals["rtl_seconds"]
    first = [{"block": block["block"]} | each for block in found for each in block["first"]]
    return {
        "machine": task.machine,
        "unit": task.unit,
        "name": task.name,
        "what": task.what,
        "asked": asked,
        **totals,
        # The processor's, of all processes together.
        "seconds": seconds,
        "seed": seed,
        "digest": key,
        "first": first,
    }
