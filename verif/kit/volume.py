"""Tasks and records of volume comparisons: a task is a sequence of blocks, each reproducible from its number and the seed."""

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from bitpath.verif.kit.batches import Batch, Place
from bitpath.verif.kit.mismatches import Shown

Generator = np.random.Generator
SHOWN = 5
"""Number of mismatches kept for each block."""


class Mismatch(NamedTuple):
    """A vector for which unit and golden differ.

    Attributes
    ----------
    batch, vector : indices within its block.
    kind : kind of its batch.
    operands : values by the names of the ports' fields.
    got, expected : result words of the unit and of golden.
    words : words of the vector.
    """

    batch: int
    vector: int
    kind: str
    operands: dict[str, int]
    got: list[int]
    expected: list[int]
    words: tuple[int, ...] = ()


@dataclass(frozen=True)
class Found:
    """Result of one block; times are processor times.

    Attributes
    ----------
    vectors, mismatches : numbers of vectors compared and of those that differ.
    first : the first mismatches.
    stimulus_seconds, golden_seconds, rtl_seconds : times to make vectors, golden's answers and the unit's answers.
    """

    vectors: int
    mismatches: int
    first: tuple[Mismatch, ...]
    stimulus_seconds: float
    golden_seconds: float
    rtl_seconds: float

    def record(self) -> dict[str, Any]:
        return asdict(self) | {"first": [each._asdict() for each in self.first]}


@dataclass(frozen=True, kw_only=True)
class VolumeTask:
    """A set of vectors of one unit.

    Attributes
    ----------
    name : name on the command line.
    machine, unit : names of the machine and the unit.
    what : one-line description of the vectors.
    config : function that returns the unit's configuration.
    block_vectors : vectors in each block.
    blocks : number of blocks of a sweep; None for random vectors, whose number is an option.
    random : True if the vectors depend on the seed.
    batches : function that makes a block's vectors from the configuration, a random generator and the block's number.
    layout : places of the fields in a vector, for display.
    shown : function that returns what a report shows of a vector, from the configuration and the vector's words; None for
        the fields as hexadecimal numbers.
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
    shown: Callable[[Any, Sequence[int]], Shown] | None = None

    def block_count(self, vectors: int) -> int:
        """Return the blocks of a sweep, or those needed for this many random vectors."""
        return -(-vectors // self.block_vectors) if self.blocks is None else self.blocks

    def rng(self, seed: int, block: int) -> Generator:
        """Return the random generator of a block."""
        return np.random.default_rng([seed, zlib.crc32(self.name.encode()), block])


def of_any_block(make: Callable[[Any, Generator], Iterator[Batch]], config: Any, rng: Generator, _: int) -> Any:
    """Adapt a maker of random vectors, which ignores the block's number."""
    return make(config, rng)
