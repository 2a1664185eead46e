"""Records of comparisons in volume: a task is blocks of vectors; its number and the seed make a block again."""

import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from bitpath.verif.kit.batches import Batch, Place

Generator = np.random.Generator
SHOWN = 5
"""Mismatches of a block that are kept."""


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
class VolumeTask:
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

    def rng(self, seed: int, block: int) -> Generator:
        """A block's random numbers."""
        return np.random.default_rng([seed, zlib.crc32(self.name.encode()), block])


def of_any_block(make: Callable[[Any, Generator], Iterator[Batch]], config: Any, rng: Generator, _: int) -> Any:
    """Blocks of random vectors differ by their random numbers alone."""
    return make(config, rng)
