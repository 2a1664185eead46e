"""A NeuronCore: its memories, engines and DMA queues, which run a program; results bit by bit, times from the cycle rules.

Ref: "Trainium3 Architecture Guide for NKI", AWS Neuron documentation. What it leaves open is in the CHOICES of the
declarations of memory, DMA, TensorE and core.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from bitpath.golden.arrays.arguments import checked
from bitpath.golden.trainium3.core.program import (
    TICKS,
    Compute,
    Instruction,
    Move,
    Operand,
    Span,
    Transfer,
    banks,
    lane,
    timeline,
)
from bitpath.golden.trainium3.declarations.rates import TICKS_PER_NS
from bitpath.golden.trainium3.dma.compute import read_add_write
from bitpath.golden.trainium3.dma.schedule import DEFAULT_CLASSES, DEFAULT_QUEUES, QueueConfig, TrafficClass
from bitpath.golden.trainium3.memory.access_pattern import HbmPattern
from bitpath.golden.trainium3.memory.memory import Hbm, Psum, Sbuf
from bitpath.golden.trainium3.operands.cast import cast

# Accesses of a program that nothing orders: a result would depend on which engine happens to be faster.


def check_order(program: Sequence[Instruction]) -> None:
    """Raise ValueError for two instructions that use the same bytes, one of them writing, in no order.

    An instruction is ordered behind those that its `after` names, those before it on its compute engine, and all that these
    are ordered behind. Of read-add-writes onto one place those in one queue keep their order, since a partition belongs to
    one DMA engine and a queue of an engine is served in order.
    """
    behind: list[int] = []
    numbers = {instruction.name: number for number, instruction in enumerate(program)}
    latest: dict[str, int] = {}
    for number, own in enumerate(program):
        before = [numbers[name] for name in own.after]
        if not isinstance(own, Transfer):
            before += [latest[lane(own)]] if lane(own) in latest else []
            latest[lane(own)] = number
        bits = 0
        for each in before:
            bits |= behind[each] | 1 << each
        behind.append(bits)
        for other_number in range(number):
            other = program[other_number]
            if bits >> other_number & 1 or _adds_in_order(own, other):
                continue
            memory = _shared(own, other)
            if memory:
                raise ValueError(
                    f"after of {own.name} must lead to {other.name}, since both use the same bytes of {memory.upper()}"
                )


def _adds_in_order(own: Instruction, other: Instruction) -> bool:
    if not (isinstance(own, Transfer) and isinstance(other, Transfer) and own.add and other.add):
        return False
    return own.queue == other.queue and not (
        _touch(own.source, other.destination) or _touch(other.source, own.destination)
    )


def _shared(own: Instruction, other: Instruction) -> str:
    """Return the memory in which one instruction writes bytes that the other uses, or ""."""
    pairs = (
        *product(own.writes, other.writes),
        *product(own.writes, other.reads),
        *product(own.reads, other.writes),
    )
    return next((first.memory for first, second in pairs if _touch(first, second)), "")


def _touch(first: Operand, second: Operand) -> bool:
    if first.memory != second.memory:
        return False
    if not set(_rows(first)) & set(_rows(second)):
        return False
    mine, theirs = (each.pattern.byte_offsets().ravel() for each in (first, second))
    end = min(first.pattern.end(), second.pattern.end())
    if max(mine.min(), theirs.min()) >= end:
        return False
    marked = np.zeros(end, bool)
    marked[_bytes(first, mine, end)] = True
    return bool(marked[_bytes(second, theirs, end)].any())


def _rows(operand: Operand) -> range:
    pattern = operand.pattern
    if isinstance(pattern, HbmPattern):
        return range(1)
    return range(pattern.start, pattern.start + pattern.partitions)


def _bytes(operand: Operand, places: np.ndarray, end: int) -> np.ndarray:
    """Return the bytes below `end` of a row that an operand with elements at `places` touches."""
    each = (places[:, np.newaxis] + np.arange(operand.pattern.dtype.itemsize)).ravel()
    return each[each < end]


@dataclass(frozen=True, kw_only=True)
class ClassTraffic:
    """Traffic of a class: transfers, descriptors and bytes, from the first start to the last end."""

    transfers: int
    descriptors: int
    bytes: int
    ticks: int

    @property
    def gb_per_s(self) -> float:
        """Bytes in 10**9 a second."""
        return TICKS_PER_NS * self.bytes / self.ticks


@dataclass(frozen=True, kw_only=True)
class CoreReport:
    """Times of a program, in ticks of 1/2.4 ns.

    Attributes
    ----------
    spans : when each instruction ran, in the order of starts.
    moves : descriptors of the transfers, engine after engine, each engine's in the order of their grants.
    end : tick at which the last one ended.
    busy : ticks in which an engine had at least one instruction, by engine; of "dma" those of all 16 engines together.
    stalls : ticks in which an engine was free and its next instruction waited, by engine and by the engine that it waited for.
    traffic : by traffic class, what was moved.
    banks : PSUM banks that were written.
    """

    spans: tuple[Span, ...]
    moves: tuple[Move, ...]
    end: int
    busy: Mapping[str, int]
    stalls: Mapping[str, Mapping[str, int]]
    traffic: Mapping[int, ClassTraffic]
    banks: tuple[int, ...]


class Core:
    """Memories and engines of a core.

    Attributes
    ----------
    sbuf, psum, hbm : its memories, which a program changes.

    Parameters
    ----------
    hbm_bytes : size of the part of HBM that it uses.
    queues, classes : of each DMA engine, as `dma_schedule` takes them.
    """

    @checked
    def __init__(
        self,
        *,
        hbm_bytes: int,
        queues: Sequence[QueueConfig] = DEFAULT_QUEUES,
        classes: Sequence[TrafficClass] = DEFAULT_CLASSES,
    ):
        self.sbuf, self.psum, self.hbm = Sbuf(), Psum(), Hbm(hbm_bytes)
        self.queues, self.classes = tuple(queues), tuple(classes)

    def __repr__(self) -> str:
        return f"Core({self.sbuf!r}, {self.psum!r}, {self.hbm!r})"

    @checked
    def run(self, program: Sequence[Instruction]) -> CoreReport:
        """Run a program, and return its times.

        Instructions that use the same bytes must be ordered, by `after` or by their engine. Results are those of any
        schedule; times are those of an idle core.

        Parameters
        ----------
        program : `Compute` and `Transfer` instructions with names of their own; `after` names earlier ones.

        Raises
        ------
        TypeError : something else in the program.
        ValueError : an unknown or repeated name, an order that is missing, and what the instructions themselves raise; nothing
            has run then, but for the last.
        """
        _check_names(program)
        check_order(program)
        times = timeline(program, self.queues, self.classes)
        named = {each.name: each for each in program}
        for span in times.spans:
            self.step(named[span.name])
        moved = Counter(move.transfer for move in times.moves)
        dma_busy = sum(TICKS["dma"] * (move.end - move.grant) for move in times.moves)
        return CoreReport(
            spans=times.spans,
            moves=times.moves,
            end=max((span.end for span in times.spans), default=0),
            busy=_busy(times.spans) | {"dma": dma_busy},
            stalls=_stalls(times.spans),
            traffic=self._traffic(program, times.spans, moved),
            banks=tuple(sorted({bank for each in program for bank in banks(each)})),
        )

    @checked
    def read(self, operand: Operand) -> np.ndarray:
        """Return the elements of an operand, of its pattern's shape."""
        return getattr(self, operand.memory).read(operand.pattern)

    @checked
    def write(self, operand: Operand, values: np.ndarray) -> None:
        """Write the elements of an operand."""
        getattr(self, operand.memory).write(operand.pattern, values)

    @checked
    def step(self, instruction: Instruction) -> None:
        """Execute one instruction, whatever it waits for.

        Raises
        ------
        TypeError, ValueError : something else, and what the instruction itself raises.
        """
        _check_kind(instruction)
        if isinstance(instruction, Compute):
            made = instruction.values([self.read(each) for each in instruction.reads])
            for operand, values in zip(instruction.writes, made, strict=True):
                self.write(operand, values)
            return
        pattern = instruction.destination.pattern
        values = cast(self.read(instruction.source), pattern.dtype).reshape(pattern.shape)
        if instruction.add:
            values = read_add_write(self.read(instruction.destination), values)
        self.write(instruction.destination, values)

    def _traffic(
        self, program: Sequence[Instruction], spans: Sequence[Span], moved: Mapping[str, int]
    ) -> dict[int, ClassTraffic]:
        named = {span.name: span for span in spans}
        found: dict[int, list[Transfer]] = {}
        for each in program:
            if isinstance(each, Transfer):
                found.setdefault(self.queues[each.queue].traffic_class, []).append(each)
        return {
            number: ClassTraffic(
                transfers=len(transfers),
                descriptors=sum(moved[each.name] for each in transfers),
                bytes=sum(_moved_bytes(each) for each in transfers),
                ticks=max(named[each.name].end for each in transfers)
                - min(named[each.name].start for each in transfers),
            )
            for number, transfers in sorted(found.items())
        }


def _moved_bytes(transfer: Transfer) -> int:
    sides = (transfer.source.pattern, transfer.destination.pattern)
    return max(each.size * each.dtype.itemsize for each in sides)


def _check_kind(instruction: Instruction) -> None:
    if not isinstance(instruction, Compute | Transfer):
        raise TypeError(f"program must hold Compute and Transfer instructions, not {type(instruction).__name__}")


def _check_names(program: Sequence[Instruction]) -> None:
    known: set[str] = set()
    for each in program:
        _check_kind(each)
        if each.name in known:
            raise ValueError(f"name must be unique in its program, not {each.name!r} again")
        for name in each.after:
            if name not in known:
                raise ValueError(f"after of {each.name} must name earlier instructions, not {name!r}")
        known.add(each.name)


def _busy(spans: Sequence[Span]) -> dict[str, int]:
    """Return the ticks of each compute engine in which at least one of its instructions runs."""
    busy: dict[str, int] = {}
    until: dict[str, int] = {}
    for span in spans:
        if span.engine != "dma":
            begin = max(span.start, until.get(span.engine, 0))
            busy[span.engine] = busy.get(span.engine, 0) + max(0, span.end - begin)
            until[span.engine] = max(span.end, until.get(span.engine, 0))
    return busy


def _stalls(spans: Sequence[Span]) -> dict[str, dict[str, int]]:
    stalls: dict[str, dict[str, int]] = {}
    for span in spans:
        if span.cause and span.start > span.free:
            causes = stalls.setdefault(span.engine, {})
            causes[span.cause] = causes.get(span.cause, 0) + span.start - span.free
    return stalls
