"""Instructions of a core: what each reads, computes and writes, how long it takes, and which others it waits for."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import check_choice, check_length, checked, integer
from bitpath.golden.trainium3.declarations.dma import DMA_QUEUES
from bitpath.golden.trainium3.dma.generation import DgeMode, Generator, choose_mode
from bitpath.golden.trainium3.memory.access_pattern import AccessPattern, HbmPattern

MEMORIES = ("sbuf", "psum", "hbm")
COMPUTE_ENGINES = ("tensor", "vector", "scalar", "gpsimd")


@checked
@dataclass(frozen=True)
class Operand:
    """Elements of a memory, "sbuf", "psum" or "hbm".

    Raises
    ------
    TypeError, ValueError : another memory, or a pattern of the other kind of memory.
    """

    memory: str
    pattern: AccessPattern | HbmPattern

    def __post_init__(self) -> None:
        check_choice("memory", self.memory, MEMORIES)
        wanted = HbmPattern if self.memory == "hbm" else AccessPattern
        if not isinstance(self.pattern, wanted):
            raise TypeError(f"pattern must be {wanted.__name__} in {self.memory}, not {type(self.pattern).__name__}")


@checked
@dataclass(frozen=True, kw_only=True)
class Compute:
    """An instruction of a compute engine.

    Attributes
    ----------
    name : unique in its program.
    engine : "tensor", "vector", "scalar" or "gpsimd"; an engine runs its instructions in the order of the program.
    reads, writes : its operands and results.
    compute : takes an array for each operand, of its pattern's shape, and returns an array for each result, or the array of
        the one result; each has as many elements as its pattern, of its dtype.
    cycles : cycles of the engine's clock, 1 or more.
    after : names of earlier instructions that must end before it starts.
    transpose : True if TensorE may run it in its background slot.
    tile : (row, column, rows, columns) of TensorE's array, or None for all of it.
    """

    name: str
    engine: str
    reads: Sequence[Operand]
    writes: Sequence[Operand]
    compute: Callable[..., Any]
    cycles: int
    after: Sequence[str] = ()
    transpose: bool = False
    tile: tuple[int, int, int, int] | None = None

    def __post_init__(self) -> None:
        check_choice("engine", self.engine, COMPUTE_ENGINES)
        if self.cycles < 1:
            raise ValueError(f"cycles of {self.name} must be 1 or more, not {self.cycles}")
        if any(each.memory == "hbm" for each in (*self.reads, *self.writes)):
            raise ValueError(f"operands of {self.name} must lie in SBUF or PSUM, since only the DMA reaches HBM")
        if self.engine == "gpsimd" and any(each.memory == "psum" for each in (*self.reads, *self.writes)):
            raise ValueError(f"operands of {self.name} must lie in SBUF, since GpSimd does not reach PSUM")

    @checked
    def values(self, read: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return an array for each result, in its pattern's shape."""
        check_length("read", read, len(self.reads))
        result = self.compute(*read)
        made = result if isinstance(result, tuple) else (result,)
        check_length(f"results of {self.name}", made, len(self.writes))
        return [
            _shaped(f"a result of {self.name}", values, each.pattern)
            for values, each in zip(made, self.writes, strict=True)
        ]


@checked
@dataclass(frozen=True, kw_only=True)
class Transfer:
    """A DMA transfer; dtypes that differ make a cast.

    Attributes
    ----------
    name, after : as `Compute`.
    destination, source : operands of as many elements, in SBUF or HBM.
    queue : queue number on each DMA engine, 0 to 15.
    engine : the engine that triggers it: "scalar" and "sync" have a hardware DGE, "gpsimd" generates by software.
    mode : who generates its descriptors, as `choose_mode` has it.
    add : True for a read-add-write onto SBUF.
    """

    name: str
    destination: Operand
    source: Operand
    queue: int = 0
    engine: str = "sync"
    mode: DgeMode = "unknown"
    add: bool = False
    after: Sequence[str] = ()

    def __post_init__(self) -> None:
        integer("queue", self.queue, range(DMA_QUEUES))
        for side in (self.destination, self.source):
            if side.memory == "psum":
                raise ValueError(f"operands of {self.name} must lie in SBUF or HBM, since the DMA does not reach PSUM")
        if self.add and (self.destination.memory != "sbuf" or self.casts):
            raise ValueError(f"a read-add-write, {self.name}, must go to SBUF without a cast")
        choose_mode(self.mode, cast=self.casts, engine=self.engine)

    @property
    def casts(self) -> bool:
        return self.destination.pattern.dtype != self.source.pattern.dtype

    @property
    def generator(self) -> Generator:
        """Who generates the descriptors."""
        return choose_mode(self.mode, cast=self.casts, engine=self.engine)

    @property
    def reads(self) -> tuple[Operand, ...]:
        return (self.source, self.destination) if self.add else (self.source,)

    @property
    def writes(self) -> tuple[Operand, ...]:
        return (self.destination,)


Instruction = Compute | Transfer


def _shaped(name: str, values: np.ndarray, pattern: AccessPattern | HbmPattern) -> np.ndarray:
    if not isinstance(values, np.ndarray):
        raise TypeError(f"{name} must be an array, not {type(values).__name__}")
    if values.dtype != pattern.dtype or values.size != pattern.size:
        raise ValueError(
            f"{name} must be {pattern.size} elements of {pattern.dtype}, not {values.size} of {values.dtype}"
        )
    return values.reshape(pattern.shape)
