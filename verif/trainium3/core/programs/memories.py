"""A core's memories as plain bytes, and the elements of an access pattern in them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

import numpy as np

from bitpath.golden.trainium3.declarations.dtypes import container_bits
from bitpath.golden.trainium3.declarations.vector import XORWOW_STATES, XORWOW_WORDS
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.dma.dtype import Dtype
from bitpath.verif.trainium3.dtype_words import codes_of

Pairs = tuple[tuple[int, int], ...]
MAX_PAIRS = 4
QUARTERS = 4


@dataclass(frozen=True)
class Pattern:
    """Elements of a partition: pairs (step, num), outermost first, from an offset on, all in elements."""

    pairs: Pairs = ((1, 1),)
    offset: int = 0

    @property
    def elements(self) -> list[int]:
        """The elements' places in the order of the pattern."""
        steps = [step for step, _ in self.pairs]
        counters = product(*(range(num) for _, num in self.pairs))
        return [self.offset + sum(map(int.__mul__, each, steps)) for each in counters]

    @property
    def count(self) -> int:
        """The number of elements."""
        return prod(num for _, num in self.pairs)

    @property
    def fields(self) -> dict[str, Any]:
        pairs = [{"step": step, "num": num} for step, num in reversed(self.pairs)]
        return {"pairs": pairs + [{"step": 0, "num": 1}] * (MAX_PAIRS - len(pairs)), "offset": self.offset}


def row_at(count: int, byte: int, size: int) -> Pattern:
    """Return the pattern of elements of ``size`` bytes that follow each other from a byte on."""
    return Pattern(((1, count),), byte // size)


@dataclass(frozen=True)
class Operand:
    """A pattern of elements of a dtype in SBUF or PSUM, from a quarter of the partitions on."""

    pattern: Pattern = field(default_factory=Pattern)
    dtype: str = "fp32"
    psum: bool = False
    start: int = 0

    @property
    def fields(self) -> dict[str, Any]:
        own = {"dtype": Dtype[self.dtype.upper()], "psum": self.psum, "start": self.start}
        return {"pattern": self.pattern.fields} | own


class Memories:
    """SBUF and PSUM [partitions, bytes] and HBM [bytes], all uint8, the lanes' random states as `Xorwow` has them, and whether
    a tag outside its pattern was loaded."""

    def __init__(self, config: CoreConfig):
        self.config = config
        self.sbuf = np.zeros((config.size, config.partition_bytes), np.uint8)
        self.psum = np.zeros((config.size, config.banks * config.bank_bytes), np.uint8)
        self.hbm = np.zeros(config.hbm_bytes, np.uint8)
        self.states = np.zeros((config.size, XORWOW_STATES, XORWOW_WORDS), np.uint32)
        self.illegal_tag = False

    def read(self, operand: Operand, partitions: int) -> np.ndarray:
        """Return the codes of an operand's elements, int64 [partitions, elements]."""
        rows, places = self._places(operand, partitions)
        return load(rows, places, container_bits(operand.dtype) // 8)

    def write(self, operand: Operand, codes: np.ndarray) -> None:
        """Write codes [partitions, elements], in the order of the pattern."""
        rows, places = self._places(operand, len(codes))
        store(rows, places, container_bits(operand.dtype) // 8, codes)

    def _places(self, operand: Operand, partitions: int) -> tuple[np.ndarray, Sequence[int]]:
        first = operand.start * self.config.size // QUARTERS
        memory = self.psum if operand.psum else self.sbuf
        return memory[first : first + partitions], operand.pattern.elements


def load(rows: np.ndarray, places: Sequence[int], size: int) -> np.ndarray:
    """Return the elements of ``size`` bytes at these places of each row, as int64."""
    at = size * np.array(places)[:, np.newaxis] + np.arange(size)
    return codes_of(np.ascontiguousarray(rows[:, at]).view(f"u{size}")[..., 0])


def store(rows: np.ndarray, places: Sequence[int], size: int, codes: np.ndarray) -> None:
    """Write elements of ``size`` bytes, the first of each row first."""
    values = np.ascontiguousarray(codes).astype(f"u{size}").view(np.uint8).reshape(len(codes), -1, size)
    for k, place in enumerate(places):
        rows[:, size * place : size * (place + 1)] = values[:, k]
