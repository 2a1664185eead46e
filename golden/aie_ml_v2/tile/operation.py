"""An operation of the tile is a generator of reads, memory accesses and results, in the cycles of the table."""

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.tile import REGISTERS, STORAGE_BITS, Names
from bitpath.golden.aie_ml_v2.tile.memory import DataMemory
from bitpath.golden.arrays.arguments import check_array, check_choice, check_shape, checked, integer

# The registers by their names, which share bits as :mod:`bitpath.golden.aie_ml_v2.declarations.tile` declares them.


class Registers:
    """Values of all registers, 0 at first. A write to a part of a register changes exactly that part of every name."""

    def __init__(self) -> None:
        self._bits = {storage: np.zeros(bits, np.uint8) for storage, bits in STORAGE_BITS.items()}

    @checked
    def read(self, name: str) -> np.ndarray | int:
        """Return an integer for a scalar register, else uint8 [width / 8], the lowest byte first.

        Raises
        ------
        TypeError, ValueError : no register's name, for example "bmhl3".
        """
        kind, parts = self._parts(name)
        packed = np.packbits(np.concatenate(parts), bitorder="little")
        return int.from_bytes(packed.tobytes(), "little") if kind.scalar else packed

    @checked
    def write(self, name: str, value: np.ndarray | int) -> None:
        """Write an integer of the register's bits, or uint8 [width / 8].

        Raises
        ------
        TypeError, ValueError : no register's name; another dtype or shape, or an integer that does not fit.
        """
        kind, parts = self._parts(name)
        width = sum(map(len, parts))
        if kind.scalar:
            number = integer("value", cast(int, value), range(1 << width), why=f" in {name}")
            data = np.frombuffer(number.to_bytes(-(-width // 8), "little"), np.uint8)
        else:
            data = cast(np.ndarray, value)
            check_array("value", data, np.uint8)
            check_shape("value", data, width // 8, why=f" for {name}")
        bits = np.unpackbits(data, bitorder="little")
        for part in parts:
            part[:], bits = bits[: len(part)], bits[len(part) :]

    @checked
    def move(self, to: str, source: str) -> None:
        """Copy a scalar register: zeros above the source's bits, and only the low bits of a wider one.

        Raises
        ------
        TypeError, ValueError : no name of a scalar register.
        """
        for argument, name in (("to", to), ("source", source)):
            if not self._parts(name)[0].scalar:
                raise ValueError(f"{argument} must name a scalar register, not {name}")
        width = sum(map(len, self._parts(to)[1]))
        self.write(to, cast(int, self.read(source)) & (1 << width) - 1)

    def _parts(self, name: str) -> tuple[Names, list[np.ndarray]]:
        """Return a register's kind and views of its bits, the lowest part first."""
        check_choice("name", name, REGISTERS)
        kind, number = REGISTERS[name]
        starts = [span.first + number * span.step for span in kind.spans]
        views = [
            self._bits[span.storage][start : start + span.width] for span, start in zip(kind.spans, starts, strict=True)
        ]
        return kind, views


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
