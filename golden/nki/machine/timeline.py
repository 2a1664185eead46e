"""When instructions run: each engine takes its own in order, and one waits for the bytes that others read and write.

An instruction starts behind the last writers of what it reads, and the last readers and writers of what it writes. Between
engines, also those of two cores, 64 cycles of access latency pass, of the 60 to 100 that are documented. The two instructions
of a meeting, core_barrier or sendrecv, start together, when both cores have reached them. Bytes are kept in boxes of 32 partitions by
:data:`GRAIN` bytes, so that a wait may be too long and is never missing.

Ref: "Trainium/Inferentia2 Architecture Guide for NKI", AWS Neuron documentation.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import numpy as np

from bitpath.golden.nki.memory.storage import Access
from bitpath.golden.trainium3.declarations.memory import ENGINE_PARTITIONS
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.golden.trainium3.dma.schedule import QueueConfig

# Record of each instruction: its engine, cycles, places and the choices that its result depends on.


ENGINES = ("tensor", "vector", "scalar", "gpsimd", "dma", "sync")
"""Engines, in the order of reports."""


@dataclass(frozen=True, eq=False)
class Executed:
    """An instruction with its values, for those who compute it anew.

    Attributes
    ----------
    instruction : its record.
    arguments : what the kernel gave, by the function's parameters.
    operands, results : arrays [P, N] that it read and wrote, by operand; as they lie in memory. DMA has its own shapes.
    """

    instruction: "NkiInstruction"
    arguments: dict[str, Any]
    operands: dict[str, np.ndarray]
    results: dict[str, np.ndarray]


@dataclass(eq=False)
class NkiInstruction:
    """An instruction that has run.

    Attributes
    ----------
    opcode : name of the function of ``nki.isa``.
    engine, core : where it ran.
    cycles : its initiation interval, in cycles of its engine's clock.
    line : file and line of the kernel.
    name : the kernel's name for it, or "".
    operands : operands by name, as text.
    keys : choices that its result depends on; see `bitpath.golden.nki.declarations.errors`.
    reads, writes : bytes that it touched.
    meeting : number, from 1 on, of the meeting of both cores that it is part of; 0 for none.
    queue : of a DMA; the one of the lower priority is served first.
    after : instructions that it must follow, by ``depends_on``.
    """

    opcode: str
    engine: str
    core: int
    cycles: int
    line: str
    name: str = ""
    operands: dict[str, str] = field(default_factory=dict)
    keys: frozenset[str] = frozenset()
    reads: tuple[Access, ...] = ()
    writes: tuple[Access, ...] = ()
    meeting: int = 0
    queue: QueueConfig = field(default_factory=QueueConfig)
    after: list["NkiInstruction"] = field(default_factory=list)

    def depends_on(self, *producers: "NkiInstruction") -> "NkiInstruction":
        """Let this instruction follow others; return it."""
        self.after += producers
        return self


# Cycles of instructions: closed formulas of their sizes, in cycles of their engine's clock.
#
# N is the number of elements of a partition in the largest operand, w the elements that a lane takes a cycle.
#
# Ref: cost paragraphs of the ``nki.isa`` docstrings of Neuron SDK 2.26.1 (2025), written for Trainium1 and 2: here COST;
# "Trainium3 Architecture Guide for NKI": here ARCH3. The division of COST's formulas by ARCH3's widths is inferred.


LEAST = 64
"""Cycles of the shortest instruction."""
LEAST_DYNAMIC = 600
"""Cycles of the shortest one with an address that is read at run time."""
GPSIMD_START = 150
DMA_ENGINES = PARTITIONS // ENGINE_PARTITIONS
CLOCKS = {"tensor": 2.4e9, "vector": 1.2e9, "scalar": 1.2e9, "gpsimd": 1.2e9, "dma": 1.2e9, "sync": 1.2e9}
"""Cycles a second of each engine; ARCH3. DMA is counted at VectorE's clock."""
DMA_BYTES_PER_CYCLE = 27.5
"""Bytes a cycle of 1.2 GHz of one DMA engine: 33 bytes a nanosecond. Ref: "NKI DMA overview"."""


@dataclass(frozen=True)
class CycleRules:
    """A preset of rules for the cycles of instructions.

    Attributes
    ----------
    narrow, wide : elements a cycle and lane, by engine, if all operands have at most 16 bits, and else.
    halves : whether 16-bit data halve some instructions, as COST says; widths contain it where they are given.
    """

    narrow: dict[str, int]
    wide: dict[str, int]
    halves: bool

    def width(self, engine: str, *sizes: int) -> int:
        """Return the elements a cycle and lane for operands of these byte sizes."""
        return (self.narrow if max(sizes, default=4) <= 2 else self.wide).get(engine, 1)

    def elementwise(self, engine: str, n: int, *sizes: int, factor: int = 1, extra: int = 0) -> int:
        """Return max(64, factor * N / w) + extra."""
        return max(LEAST, -(-factor * n // self.width(engine, *sizes))) + extra


RULES = {
    "trainium3": CycleRules(narrow={"vector": 4, "scalar": 2}, wide={"vector": 2, "scalar": 1}, halves=False),
    "trn2_doc": CycleRules(narrow={}, wide={}, halves=True),
}
"""Presets by name."""


def matmul_cycles(columns: int, moving: int, passes: int = 1) -> int:
    """Return passes * max(min(64, M), N); the load of the stationary operand is hidden."""
    return passes * max(min(LEAST, columns), moving)


def transpose_cycles(partitions: int, free: int, *, fp32: bool) -> int:
    """Return max(P, min(64, F)), twice for FP32."""
    return max(partitions, min(LEAST, free)) * (2 if fp32 else 1)


def gpsimd_cycles(n: int) -> int:
    """Return 150 + N."""
    return GPSIMD_START + n


def dma_cycles(loads: dict[int, int], start: int = 0, share: float = 1.0) -> int:
    """Return the cycles of the busiest DMA engine, given the bytes of each, at a share of its rate."""
    return start + ceil(max(loads.values(), default=0) / (DMA_BYTES_PER_CYCLE * share))


GRAIN = 64
QUADRANT = 32
CYCLE = 1 / CLOCKS["vector"]
"""The unit of a timeline, in seconds: a cycle of 1.2 GHz. TensorE does two of its own in one."""


@dataclass(frozen=True)
class Span:
    """An instruction's time, in cycles of 1.2 GHz."""

    instruction: NkiInstruction
    start: float
    end: float


@dataclass(frozen=True)
class Times:
    """Times of a run, in cycles of 1.2 GHz.

    Attributes
    ----------
    engines : sum over the instructions of each core's engine, by (core, engine).
    serial : sum over all of the busier core.
    overlapped : end of the last instruction in the schedule.
    spans : the schedule.
    """

    engines: dict[tuple[int, str], float]
    serial: float
    overlapped: float
    spans: tuple[Span, ...]


class _Board:
    """Ends of the last accesses to each box of a storage, by lane: core and engine."""

    def __init__(self) -> None:
        self.lanes: dict[tuple[int, str], np.ndarray] = {}

    def last(self, access: Access) -> dict[tuple[int, str], float]:
        """Return the last end in any box of an access, by lane; 0 for none."""
        rows, boxes = _boxes(access)
        return {lane: float(ends[rows, boxes].max(initial=0.0)) for lane, ends in self.lanes.items()}

    def put(self, access: Access, lane: tuple[int, str], end: float) -> None:
        rows, boxes = _boxes(access)
        ends = self.lanes.setdefault(lane, np.zeros((4, 0)))
        if boxes.stop > ends.shape[1]:
            grown = np.zeros((4, max(boxes.stop, 2 * ends.shape[1])))
            grown[:, : ends.shape[1]] = ends
            ends = self.lanes[lane] = grown
        np.maximum(ends[rows, boxes], end, out=ends[rows, boxes])


def _boxes(access: Access) -> tuple[slice, slice]:
    rows = slice(access.rows[0] // QUADRANT, -(-access.rows[1] // QUADRANT))
    return rows, slice(access.bytes[0] // GRAIN, -(-access.bytes[1] // GRAIN))


class _Schedule:
    """The instructions that have a place in time so far."""

    def __init__(self) -> None:
        self.free: dict[tuple[int, str], float] = defaultdict(float)
        self.ends: dict[NkiInstruction, float] = {}
        self._written: dict[int, _Board] = defaultdict(_Board)
        self._read: dict[int, _Board] = defaultdict(_Board)

    def earliest(self, each: NkiInstruction) -> float:
        """Return when an instruction may start."""
        own = each.core, each.engine
        before = [((one.core, one.engine), self.ends[one]) for one in each.after if one in self.ends]
        for access in (*each.reads, *each.writes):
            before += self._written[access.storage].last(access).items()
        for access in each.writes:
            before += self._read[access.storage].last(access).items()
        return max(self.free[own], *(end + (LEAST if end and lane != own else 0) for lane, end in before), 0.0)

    def place(self, each: NkiInstruction, start: float) -> Span:
        own = each.core, each.engine
        end = start + length(each)
        for boards, accesses in ((self._read, each.reads), (self._written, each.writes)):
            for access in accesses:
                boards[access.storage].put(access, own, end)
        self.free[own] = self.ends[each] = end
        return Span(each, start, end)


def length(instruction: NkiInstruction) -> float:
    """Return an instruction's cycles of 1.2 GHz."""
    return instruction.cycles / (CLOCKS[instruction.engine] * CYCLE)


def times(instructions: Sequence[NkiInstruction]) -> Times:
    """Return sums and schedule of a run's instructions."""
    sums: dict[tuple[int, str], float] = defaultdict(float)
    meetings: dict[int, list[NkiInstruction]] = defaultdict(list)
    for each in instructions:
        sums[each.core, each.engine] += length(each)
        if each.meeting:
            meetings[each.meeting].append(each)
    schedule, spans = _Schedule(), []
    for each in instructions:
        if each in schedule.ends:
            continue  # it started with the other core's
        together = meetings.get(each.meeting, [each])
        start = max(map(schedule.earliest, together))
        spans += [schedule.place(one, start) for one in together]
    by_core: dict[int, float] = defaultdict(float)
    for (core, _), total in sums.items():
        by_core[core] += total
    return Times(
        dict(sums), max(by_core.values(), default=0.0), max((span.end for span in spans), default=0.0), tuple(spans)
    )
