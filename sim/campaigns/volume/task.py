"""What is compared in volume: a task is blocks of vectors, each of which can be made again from its number and the seed."""

import os
import resource
import shutil
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bitpath.sim.campaigns.volume.player import Player, player
from bitpath.sim.campaigns.volume.vectors import Batch, Place, decoded
from bitpath.sim.engine import paths

Generator = np.random.Generator
SHOWN = 5
"""Mismatches of a block that are kept."""
BLOCK_SECONDS = 1800
"""Limit on one block in the player. None takes a minute by itself."""


class Mismatch(NamedTuple):
    """A vector on which unit and golden differ.

    Attributes
    ----------
    batch, vector : its place in its block.
    kind : of its batch.
    operands : by the names of the ports' fields.
    got, expected : words.
    """

    batch: int
    vector: int
    kind: str
    operands: dict[str, int]
    got: list[int]
    expected: list[int]


@dataclass(frozen=True)
class Found:
    """What came of a block; times are the processor's.

    Attributes
    ----------
    vectors, mismatches : compared, and differing.
    first : some of those.
    stimulus_seconds, golden_seconds, rtl_seconds : for making vectors, golden's answers, and the unit's.
    """

    vectors: int
    mismatches: int
    first: tuple[Mismatch, ...]
    stimulus_seconds: float
    golden_seconds: float
    rtl_seconds: float

    def record(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self) | {"first": [each._asdict() for each in self.first]}


@dataclass(frozen=True, kw_only=True)
class Task:
    """Vectors of one unit.

    Attributes
    ----------
    name : on the command line.
    machine, unit : as elsewhere.
    what : one line: which vectors.
    config : makes the unit's configuration.
    block_vectors : in each block.
    blocks : of a sweep; None of random vectors, of which there are as many as one asks for.
    random : whether anything in its vectors depends on the seed.
    batches : makes a block's vectors from the configuration, a source of random numbers and the number of the block.
    layout : places of the fields in a vector, to show one.
    """

    name: str
    machine: str
    unit: str
    what: str
    config: Callable[[], Any]
    block_vectors: int
    batches: Callable[[Any, Generator, int], Iterable[Batch]]
    layout: Callable[[], dict[str, Place]]
    blocks: int | None = None
    random: bool = True

    def block_count(self, vectors: int) -> int:
        """How many blocks make up a sweep, or so many random vectors."""
        return -(-vectors // self.block_vectors) if self.blocks is None else self.blocks

    def identity(self) -> dict[str, Any]:
        """What the answers depend on beside the sources of golden and of this package."""
        return player_of(self).identity()

    def rng(self, seed: int, block: int) -> Generator:
        """A block's random numbers."""
        return np.random.default_rng([seed, zlib.crc32(self.name.encode()), block])

    def run(self, seed: int, block: int) -> Found:
        """Make a block and compare all of it."""
        start = time.process_time()
        batches = list(self.batches(self.config(), self.rng(seed, block), block))
        return compare(player_of(self), batches, self.layout, time.process_time() - start)


@cache
def player_of(task: Task) -> Player:
    """The player of a task's unit, looked up once in a process."""
    return player(task.unit, task.config())


def compare(
    player: Player, batches: list[Batch], layout: Callable[[], dict[str, Place]], seconds: float = 0.0
) -> Found:
    """Play batches, ask golden meanwhile, and compare every word; ``seconds`` is what making them took.

    Raises
    ------
    SimulationError : the player failed, or gave another number of answers.
    ValueError : golden's answers are not of as many words as the unit's.
    """
    start, before = time.process_time(), _children()
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
    wrong, first = 0, []
    for number, (batch, given, true) in enumerate(zip(batches, got, expected, strict=True)):
        if given.shape != true.shape:
            # numpy would compare one word with many.
            raise ValueError(f"{batch.kind}: golden gave answers {true.shape}, the unit {given.shape}")
        differs = np.flatnonzero((given != true).any(axis=1))
        wrong += len(differs)
        for vector in differs[: SHOWN - len(first)].tolist():
            operands = decoded(layout(), batch.words(np.array([vector]))[0])
            words = given[vector].tolist(), true[vector].tolist()
            first.append(Mismatch(number, vector, batch.kind, operands, *words))
    return Found(
        vectors=sum(len(each) for each in got),
        mismatches=wrong,
        first=tuple(first),
        stimulus_seconds=seconds + written - start,
        golden_seconds=answered - written,
        rtl_seconds=_children() - before,
    )


def scratch_folder() -> Path:
    """Where processes keep vectors and answers, each in folders that begin with its number."""
    return paths.build_root() / "deep" / "vectors"


def clear_scratch() -> None:
    """Remove what processes left that were killed."""
    for folder in scratch_folder().glob("*-*"):
        if not Path(f"/proc/{folder.name.partition('-')[0]}").exists():
            shutil.rmtree(folder, ignore_errors=True)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
