"""What an operation of the tile is: a generator of reads, memory accesses and results, in the cycles of the table."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bitpath.golden.aie_ml_v2.tile.memory import DataMemory

Value = np.ndarray | int
Results = Mapping[str, Value]


@dataclass(frozen=True)
class Read:
    """A read of registers, answered by their values.

    Attributes
    ----------
    cycle : of the operation, whose issue is cycle 1.
    names : the registers.
    path : results on this bypass path are read in the cycle of their write; "" is none.
    """

    cycle: int
    names: tuple[str, ...]
    path: str = ""


@dataclass(frozen=True, eq=False)
class Access:
    """A memory access, answered by the line that a load gives.

    Attributes
    ----------
    cycle : of the operation.
    address, width : bytes of the banks that it takes, aligned.
    data : None to load; else uint8 [n], stored from `offset` bytes above the address on. Other bytes stay.
    """

    cycle: int
    address: int
    width: int
    data: np.ndarray | None = None
    offset: int = 0


Steps = Generator[Read | Access | Results, Any, None]
"""Reads and accesses wait for their cycle; results are written in the cycles that `Operation.lands` names."""


class Operation(ABC):
    """An operation of one slot.

    Attributes
    ----------
    slots : slots that can issue it.
    products : native products that it computes.
    """

    slots: ClassVar[tuple[str, ...]]
    products: ClassVar[int] = 0

    @property
    def busy(self) -> int:
        """Cycles for which it takes its slot."""
        return 1

    @abstractmethod
    def lands(self) -> Mapping[str, tuple[int, str]]:
        """Return the registers that it writes: the cycle, and the bypass path or ""."""

    @abstractmethod
    def steps(self, memory: DataMemory) -> Steps:
        """Yield its reads, accesses and results in the order of their cycles."""
