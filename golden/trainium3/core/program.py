"""Instructions of a core: what each reads, computes and writes, how long it takes, and which others it waits for."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import check_choice, check_length, checked, integer
from bitpath.golden.trainium3.declarations.dma import DMA_ENGINES, DMA_QUEUES, TRAINIUM3_DMA
from bitpath.golden.trainium3.declarations.memory import PSUM_BANK_BYTES
from bitpath.golden.trainium3.dma.descriptors import (
    Descriptor,
    DgeMode,
    Generator,
    choose_mode,
    descriptors,
    generation_time,
)
from bitpath.golden.trainium3.dma.schedule import QueueConfig, QueuedDescriptor, TrafficClass, dma_schedule
from bitpath.golden.trainium3.memory.access_pattern import AccessPattern, HbmPattern
from bitpath.golden.trainium3.tensor.issue import TensorInstruction, issue

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


# When each instruction of a program runs, in ticks of 1/2.4 ns: TensorE's cycle takes one tick, the other engines'
# cycles take two.
#
# An instruction starts when its engine is free and the instructions that it waits for have ended. A transfer's descriptors
# arrive in their queues after generation and start, and compete there with those of other transfers. Instructions are taken in
# the order of their starts: a descriptor that arrives later changes no end that an earlier start has used.


TICKS = {"tensor": 1, "vector": 2, "scalar": 2, "gpsimd": 2, "dma": 2}
"""Ticks of a cycle of each engine."""


@dataclass(frozen=True, kw_only=True)
class Span:
    """Start and end of an instruction.

    Attributes
    ----------
    name : the instruction's.
    engine : its engine, or "dma".
    free : tick at which its engine could have taken it.
    start, end : first tick, and the tick behind the last; a transfer starts with the generation of its descriptors.
    cause : engine of the instruction that it waited for longest, or "" if it did not wait.
    """

    name: str
    engine: str
    free: int
    start: int
    end: int
    cause: str


@dataclass(frozen=True, kw_only=True)
class Move:
    """A descriptor of a transfer, and the cycles of 1.2 GHz in which it enters its queue, is granted, and ends."""

    transfer: str
    descriptor: Descriptor
    queue: int
    arrival: int
    grant: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """Spans in the order of their starts, and the moves of all DMA engines, each engine's in the order of their grants."""

    spans: tuple[Span, ...]
    moves: tuple[Move, ...]


class _Dma:
    """Descriptors that have been queued so far, and when each transfer ends."""

    def __init__(self, queues: Sequence[QueueConfig], classes: Sequence[TrafficClass]):
        self.queues, self.classes = queues, classes
        self.waiting: list[list[tuple[str, Descriptor, QueuedDescriptor]]] = [[] for _ in range(DMA_ENGINES)]
        self.least: dict[str, int] = {}

    def add(self, transfer: Transfer, start: int) -> int:
        """Queue a transfer's descriptors; return the tick at which their generation ends."""
        moved = descriptors(transfer.destination.pattern, transfer.source.pattern)
        generation = generation_time(transfer.generator, len(moved))
        arrival = ceil(start / TICKS["dma"]) + generation.cycles + TRAINIUM3_DMA.numerics.start_cycles
        for each in moved:
            queued = QueuedDescriptor(queue=transfer.queue, arrival=arrival, bytes=each.bytes)
            self.waiting[each.engine].append((transfer.name, each, queued))
        hbm = generation.hbm_bytes + sum(each.hbm_bytes for each in moved)
        self.least[transfer.name] = TICKS["dma"] * (arrival + ceil(hbm / TRAINIUM3_DMA.numerics.hbm_bytes))
        return start + TICKS["dma"] * generation.cycles

    def moves(self) -> tuple[Move, ...]:
        """Return the moves of those queued so far, engine after engine."""
        return tuple(move for waiting in self.waiting for move in self._moves(waiting))

    def _moves(self, waiting: Sequence[tuple[str, Descriptor, QueuedDescriptor]]) -> Iterator[Move]:
        numbers: dict[int, list[tuple[str, Descriptor, QueuedDescriptor]]] = {}
        for each in waiting:
            numbers.setdefault(each[2].queue, []).append(each)
        grants = dma_schedule(self.queues, self.classes, [queued for _, _, queued in waiting])
        if len(grants) < len(waiting):
            raise ValueError("classes must have a rate for every transfer that waits for one of them")
        for grant in grants:
            transfer, descriptor, queued = numbers[grant.queue][grant.number]
            yield Move(
                transfer=transfer,
                descriptor=descriptor,
                queue=grant.queue,
                arrival=queued.arrival,
                grant=grant.grant,
                end=grant.end,
            )

    def ends(self) -> dict[str, int]:
        """Return when each transfer ends, given those queued so far."""
        ends = dict(self.least)
        for move in self.moves():
            ends[move.transfer] = max(ends[move.transfer], TICKS["dma"] * move.end)
        return ends


class _Engines:
    """When each engine is free, given the instructions that it has taken."""

    def __init__(self) -> None:
        self.free: dict[str, int] = {}
        self.tensor: list[TensorInstruction] = []

    def span(self, instruction: Instruction, ready: int) -> tuple[int, int, int]:
        """Return when the instruction could start, starts and ends; of a transfer, when its trigger is free again."""
        free = self.free.get(lane(instruction), 0)
        if isinstance(instruction, Compute):
            if instruction.engine == "tensor":
                *_, slot = issue([*self.tensor, _issued(instruction, ready)])
                return free, slot.start, slot.end
            cycle = TICKS[instruction.engine]
            start = cycle * ceil(max(free, ready) / cycle)
            return free, start, start + cycle * instruction.cycles
        return free, max(free, ready), max(free, ready)

    def take(self, instruction: Instruction, ready: int, start: int, end: int) -> None:
        if isinstance(instruction, Compute) and instruction.engine == "tensor":
            self.tensor.append(_issued(instruction, ready))
            end = start + 1
        self.free[lane(instruction)] = max(self.free.get(lane(instruction), 0), end)


def lane(instruction: Instruction) -> str:
    """Return what takes instructions in order: an engine, or the descriptor generation behind one."""
    if isinstance(instruction, Compute):
        return instruction.engine
    return "gpsimd" if instruction.generator == "swdge" else f"{instruction.generator} of {instruction.engine}"


def timeline(
    program: Sequence[Instruction], queues: Sequence[QueueConfig], classes: Sequence[TrafficClass]
) -> Timeline:
    """Return when each instruction runs; its `after` names earlier instructions of the program, which `Core` checks."""
    lanes: dict[str, list[Instruction]] = {}
    for instruction in program:
        lanes.setdefault(lane(instruction), []).append(instruction)
    engines, dma = _Engines(), _Dma(queues, classes)
    ends: dict[str, int] = {}
    kinds: dict[str, str] = {}
    begun: dict[str, tuple[int, int, str]] = {}
    order: list[Instruction] = []
    while any(lanes.values()):
        heads = [waiting[0] for waiting in lanes.values() if waiting and all(name in ends for name in waiting[0].after)]
        choices = []
        for head in heads:
            ready = max((ends[name] for name in head.after), default=0)
            choices.append((engines.span(head, ready), ready, head))
        (free, start, end), ready, chosen = min(choices, key=lambda each: each[0][1])
        last = max(chosen.after, key=lambda name: ends[name], default="")
        begun[chosen.name] = (free, start, kinds[last] if last and ends[last] > free else "")
        order.append(chosen)
        lanes[lane(chosen)].pop(0)
        if isinstance(chosen, Transfer):
            kinds[chosen.name] = "dma"
            end = dma.add(chosen, start)
            ends |= dma.ends()
        else:
            kinds[chosen.name] = chosen.engine
            ends[chosen.name] = end
        engines.take(chosen, ready, start, end)
    spans = tuple(
        Span(
            name=each.name,
            engine=kinds[each.name],
            free=begun[each.name][0],
            start=begun[each.name][1],
            end=ends[each.name],
            cause=begun[each.name][2],
        )
        for each in order
    )
    return Timeline(spans=spans, moves=dma.moves())


def _issued(instruction: Compute, ready: int) -> TensorInstruction:
    return TensorInstruction(
        cycles=instruction.cycles,
        banks=banks(instruction),
        transpose=instruction.transpose,
        ready=ready,
        tile=instruction.tile,
    )


def banks(instruction: Instruction) -> tuple[int, ...]:
    """Return the PSUM banks that an instruction writes."""
    places = [each.pattern.byte_offsets() for each in instruction.writes if each.memory == "psum"]
    return tuple(sorted({int(bank) for each in places for bank in (each // PSUM_BANK_BYTES).ravel()}))
