"""Plays blocks of a task on its unit's model and compares every answer with golden's."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bitpath.sim.campaigns.volume.player import Player, player
from bitpath.sim.campaigns.volume.table import AnyTask
from bitpath.sim.engine import paths
from bitpath.sim.engine.process import children_seconds
from bitpath.verif.kit.batches import Batch, Place, decoded
from bitpath.verif.kit.volume import SHOWN, Found, Mismatch, VolumeTask
from bitpath.verif.trainium3.golden.e2m1_dots import E2m1Dots

BLOCK_SECONDS = 1800
"""Limit on one block in the player. None takes a minute by itself."""


def identity(task: AnyTask) -> dict[str, Any]:
    """Return the key of the answers, beside the sources of golden, verif and this package."""
    return {} if isinstance(task, E2m1Dots) else player_of(task).identity()


def run_block(task: AnyTask, seed: int, block: int) -> Found:
    """Make a block and compare all of it."""
    if isinstance(task, E2m1Dots):
        return task.run(block)
    start = time.process_time()
    batches = list(task.batches(task.config(), task.rng(seed, block), block))
    return compare(player_of(task), batches, task.layout, time.process_time() - start)


@cache
def player_of(task: VolumeTask) -> Player:
    """The player of a task's unit, looked up once in a process."""
    return player(task.unit, task.config())


def compare(
    player: Player, batches: list[Batch], layout: Callable[[], dict[str, Place]], seconds: float = 0.0
) -> Found:
    """Play batches, run golden meanwhile, and compare every word; ``seconds`` is the time that making them took.

    Raises SimulationError if the player failed, or gave another number of answers; ValueError if golden's answers and
    the unit's differ in their number of words.
    """
    start, before = time.process_time(), children_seconds()
    scratch = scratch_folder()
    scratch.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=scratch, prefix=f"{os.getpid()}-") as folder,
        player.start(Path(folder), batches) as playing,
    ):
        written = time.process_time()
        expected = [np.ascontiguousarray(batch.golden()).reshape(batch.count, -1) for batch in batches]
        answered = time.process_time()
        got = playing.answers(BLOCK_SECONDS)
    wrong = 0
    first: list[Any] = []
    for number, (batch, given, true) in enumerate(zip(batches, got, expected, strict=True)):
        if given.shape != true.shape:
            # numpy would compare one word with many.
            raise ValueError(f"{batch.kind}: golden gave answers {true.shape}, the unit {given.shape}")
        differs = np.flatnonzero((given != true).any(axis=1))
        wrong += len(differs)
        for vector in differs[: SHOWN - len(first)].tolist():
            words = batch.words(np.array([vector]))[0]
            answers = given[vector].tolist(), true[vector].tolist()
            first.append(
                Mismatch(number, vector, batch.kind, decoded(layout(), words), *answers, tuple(words.tolist()))
            )
    return Found(
        vectors=sum(len(each) for each in got),
        mismatches=wrong,
        first=tuple(first),
        stimulus_seconds=seconds + written - start,
        golden_seconds=answered - written,
        rtl_seconds=children_seconds() - before,
    )


def scratch_folder() -> Path:
    """Return the folder of vectors and answers; each process has subfolders that begin with its number."""
    return paths.build_root() / "deep" / "vectors"


def clear_scratch() -> None:
    """Remove the files of killed processes."""
    for folder in scratch_folder().glob("*-*"):
        if not Path(f"/proc/{folder.name.partition('-')[0]}").exists():
            shutil.rmtree(folder, ignore_errors=True)
