"""When instructions run: each waits for the bytes that others read and write, and for its engine.

An instruction starts behind the last writers of what it reads, and the last readers and writers of what it writes. Between
engines, also those of two cores, 64 cycles of access latency pass, of the 60 to 100 that are documented. The two instructions
of a meeting, core_barrier or sendrecv, start together, when both cores have reached them; behind a barrier its engine runs
nothing from before it. Bytes are kept in boxes of 32 partitions by :data:`GRAIN` bytes, so that a wait may be too long and is
never missing.

The scheduler is free to reorder independent instructions outside ``nl.no_reorder``: an instruction takes the first gap of its
engine that is long enough, but those that share an engine's registers or generators keep their order. TensorE issues in the kernel's order by the rule of `bitpath.golden.trainium3.issue`, with background
transposes and tiles side by side. A DMA transfer starts 1300 ns behind its trigger, and takes each of its DMA engines for that
engine's bytes.

Ref: "Trainium/Inferentia2 Architecture Guide for NKI"; "NKI DMA overview"; "NKI DMA bandwidth guide"; ``nki.language`` reference page, ``no_reorder``;
AWS Neuron documentation, 2026-08. That the first gap is taken, and that TensorE's order stays, is chosen.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any

import numpy as np

from bitpath.golden.nki.memory.storage import Access
from bitpath.golden.trainium3.declarations.memory import ENGINE_PARTITIONS, PSUM_BANK_BYTES
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS, PSUM_BANKS
from bitpath.golden.trainium3.declarations.rates import (
    CORE_RATES,
    TRAINIUM2_CORE_RATES,
    TRAINIUM2_COST_RATES,
    CoreRates,
)
from bitpath.golden.trainium3.dma.schedule import QueueConfig
from bitpath.golden.trainium3.tensor.issue import IssueSlots, TensorInstruction, pair_cycles

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
    transpose, tile : of TensorE, as `bitpath.golden.trainium3.TensorInstruction` has them.
    shares, wait : cycles of each DMA engine, and those of 1.2 GHz from the trigger to the first byte.
    ordered : what keeps its users on an engine in the kernel's order: a ``no_reorder`` block, registers, generators.
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
    transpose: bool = False
    tile: tuple[int, int, int, int] | None = None
    shares: dict[int, int] = field(default_factory=dict)
    wait: int = 0
    ordered: frozenset[str] = frozenset()
    after: list["NkiInstruction"] = field(default_factory=list)

    def depends_on(self, *producers: "NkiInstruction") -> "NkiInstruction":
        """Let this instruction follow others; return it."""
        self.after += producers
        return self


# Cycles of instructions: closed formulas of their sizes, in cycles of their engine's clock.
#
# N is the number of elements of a partition in the largest operand, w the elements that a lane takes a cycle.
#
# Ref: cost paragraphs of the ``nki.isa`` docstrings of Neuron SDK 2.26.1 (2025), written for Trainium1 and 2: here COST. Clocks
# and widths are those of `bitpath.golden.trainium3.declarations.rates`.


RATES = {
    "trainium3": CORE_RATES.numerics,
    "trainium2": TRAINIUM2_CORE_RATES.numerics,
    "trn2_doc": TRAINIUM2_COST_RATES.numerics,
}
"""Rates by name."""
LEAST = 64
"""Cycles of the shortest instruction."""
LEAST_DYNAMIC = 600
"""Cycles of the shortest one with an address that is read at run time."""
GPSIMD_START = 150
DMA_ENGINES = PARTITIONS // ENGINE_PARTITIONS
CLOCK_MHZ = 1200
"""Clock of the timeline, which is that of the DMA engines' cycles too."""


def engine_mhz(rates: CoreRates, engine: str) -> int:
    """Return an engine's clock; DMA is counted at 1.2 GHz."""
    return {"tensor": rates.tensor_mhz, "vector": rates.vector_mhz, "dma": CLOCK_MHZ}.get(engine, rates.engine_mhz)


matmul_cycles = pair_cycles


def transpose_cycles(partitions: int, free: int, *, fp32: bool) -> int:
    """Return max(P, min(64, F)), twice for FP32."""
    return pair_cycles(free, partitions, 2 if fp32 else 1)


def gpsimd_cycles(n: int) -> int:
    """Return 150 + N."""
    return GPSIMD_START + n


GRAIN = 64
QUADRANT = 32
CYCLE = 1e-6 / CLOCK_MHZ
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


class _Lane:
    """The busy times of an engine, which do not touch each other, in their order."""

    def __init__(self) -> None:
        self._starts: list[float] = []
        self._ends: list[float] = []
        self.opens = 0.0

    def first(self, earliest: float, duration: float) -> float:
        """Return the first time from ``earliest`` on at which the engine is free for so long."""
        start = max(earliest, self.opens)
        k = bisect_right(self._ends, start)
        while k < len(self._starts) and self._starts[k] < start + duration:
            start, k = max(start, self._ends[k]), k + 1
        return start

    def take(self, start: float, duration: float) -> float:
        """Take a free time and return its end."""
        end = start + duration
        k = bisect_right(self._starts, start)
        if k and self._ends[k - 1] == start:
            k -= 1
            start = self._starts.pop(k)
            self._ends.pop(k)
        if k < len(self._starts) and self._starts[k] == end:
            self._starts.pop(k)
            self._starts.insert(k, start)
        else:
            self._starts.insert(k, start)
            self._ends.insert(k, end)
        return end


class _Schedule:
    """The instructions that have a place in time so far."""

    def __init__(self, rates: CoreRates) -> None:
        self.rates = rates
        self.ends: dict[NkiInstruction, float] = {}
        self._lanes: dict[tuple, _Lane] = defaultdict(_Lane)
        self._tensor: dict[int, IssueSlots] = defaultdict(IssueSlots)
        self._ordered: dict[tuple, float] = defaultdict(float)
        self._written: dict[int, _Board] = defaultdict(_Board)
        self._read: dict[int, _Board] = defaultdict(_Board)

    def earliest(self, each: NkiInstruction) -> float:
        """Return when an instruction's bytes, and those that it follows, are ready."""
        own = each.core, each.engine
        before = [((one.core, one.engine), self.ends[one]) for one in each.after if one in self.ends]
        for access in (*each.reads, *each.writes):
            before += self._written[access.storage].last(access).items()
        for access in each.writes:
            before += self._read[access.storage].last(access).items()
        kept = [self._ordered[(*own, name)] for name in each.ordered]
        return max([0.0, *kept, *(end + (LEAST if end and lane != own else 0) for lane, end in before)])

    def start(self, together: Sequence[NkiInstruction]) -> float:
        """Return when instructions that start together find their engines free."""
        start = max(map(self.earliest, together))
        while (later := max(self._lane(each).first(start, length(each, self.rates)) for each in together)) > start:
            start = later
        return start

    def place(self, each: NkiInstruction, start: float) -> Span:
        own = each.core, each.engine
        if each.engine == "tensor":
            start, end = self._issue(each, start)
        elif each.shares:
            start, end = self._transfer(each, start)
        else:
            end = self._lane(each).take(start, length(each, self.rates))
            if each.meeting:
                self._lane(each).opens = end
        for boards, accesses in ((self._read, each.reads), (self._written, each.writes)):
            for access in accesses:
                boards[access.storage].put(access, own, end)
        self.ends[each] = end
        for name in each.ordered:
            self._ordered[(*own, name)] = end
        return Span(each, start, end)

    def _lane(self, each: NkiInstruction) -> _Lane:
        return _Lane() if each.engine == "tensor" or each.shares else self._lanes[each.core, each.engine]

    def _issue(self, each: NkiInstruction, earliest: float) -> tuple[float, float]:
        ratio = self.rates.tensor_mhz / CLOCK_MHZ
        slot = self._tensor[each.core].place(
            TensorInstruction(
                cycles=each.cycles,
                banks=tuple(bank for access in each.writes for bank in _banks(access)),
                transpose=each.transpose and self.rates.background,
                ready=ceil(earliest * ratio),
                tile=each.tile,
            )
        )
        return slot.start / ratio, slot.end / ratio

    def _transfer(self, each: NkiInstruction, earliest: float) -> tuple[float, float]:
        starts, ends = [], []
        for engine, cycles in each.shares.items():
            lane = self._lanes[each.core, each.engine, engine]
            starts.append(lane.first(earliest + each.wait, cycles))
            ends.append(lane.take(starts[-1], cycles))
        return min(starts), max(ends)


def _banks(access: Access) -> range:
    """Return the PSUM banks of an access, numbered over all storages."""
    first, end = access.bytes[0] // PSUM_BANK_BYTES, -(-access.bytes[1] // PSUM_BANK_BYTES)
    return range(PSUM_BANKS * access.storage + first, PSUM_BANKS * access.storage + end)


def length(instruction: NkiInstruction, rates: CoreRates) -> float:
    """Return an instruction's cycles of 1.2 GHz."""
    return instruction.cycles * CLOCK_MHZ / engine_mhz(rates, instruction.engine)


def times(instructions: Sequence[NkiInstruction], rates: CoreRates) -> Times:
    """Return sums and schedule of a run's instructions."""
    sums: dict[tuple[int, str], float] = defaultdict(float)
    meetings: dict[int, list[NkiInstruction]] = defaultdict(list)
    for each in instructions:
        sums[each.core, each.engine] += length(each, rates)
        if each.meeting:
            meetings[each.meeting].append(each)
    schedule, spans = _Schedule(rates), []
    for each in instructions:
        if each in schedule.ends:
            continue  # it started with the other core's
        together = meetings.get(each.meeting, [each])
        start = schedule.start(together)
        spans += [schedule.place(one, start) for one in together]
    by_core: dict[int, float] = defaultdict(float)
    for (core, _), total in sums.items():
        by_core[core] += total
    return Times(
        dict(sums), max(by_core.values(), default=0.0), max((span.end for span in spans), default=0.0), tuple(spans)
    )
