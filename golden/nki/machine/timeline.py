"""When instructions run: each engine takes its own in order, and one waits for the bytes that others read and write.

An instruction starts behind the last writers of what it reads, and the last readers and writers of what it writes. Between
engines, also those of two cores, 64 cycles of access latency pass, of the 60 to 100 that are documented. The two instructions
of a meeting, core_barrier or sendrecv, start together, when both cores have reached them. Bytes are kept in boxes of 32 partitions by
:data:`GRAIN` bytes, so that a wait may be too long and is never missing.

Ref: "Trainium/Inferentia2 Architecture Guide for NKI", AWS Neuron documentation.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bitpath.golden.nki.machine.cycles import CLOCKS, LEAST
from bitpath.golden.nki.machine.record import Access, NkiInstruction

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
    """What has been placed in time so far."""

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
