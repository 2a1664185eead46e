"""When instructions run: each engine takes its own in order, and one waits for the bytes that others read and write.

An instruction starts behind the last writers of what it reads, and the last readers and writers of what it writes. Between
engines 64 cycles of access latency pass, of the 60 to 100 that are documented. Bytes are kept in boxes of 32 partitions by
:data:`GRAIN` bytes, so that a wait may be too long and is never missing.

Ref: "Trainium/Inferentia2 Architecture Guide for NKI", AWS Neuron documentation.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bitpath.golden.nki.machine.cycles import CLOCKS, LEAST
from bitpath.golden.nki.machine.record import ENGINES, Access, NkiInstruction

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
    """Ends of the last accesses to each box of a storage, by core and engine."""

    def __init__(self) -> None:
        self.ends = np.zeros((len(ENGINES), 4, 0))

    def view(self, access: Access) -> np.ndarray:
        rows = slice(access.rows[0] // QUADRANT, -(-access.rows[1] // QUADRANT))
        boxes = slice(access.bytes[0] // GRAIN, -(-access.bytes[1] // GRAIN))
        if boxes.stop > self.ends.shape[2]:
            grown = np.zeros((*self.ends.shape[:2], max(boxes.stop, 2 * self.ends.shape[2])))
            grown[..., : self.ends.shape[2]] = self.ends
            self.ends = grown
        return self.ends[:, rows, boxes]


def times(instructions: Sequence[NkiInstruction]) -> Times:
    """Return sums and schedule of a run's instructions."""
    sums: dict[tuple[int, str], float] = defaultdict(float)
    free: dict[tuple[int, str], float] = defaultdict(float)
    written: dict[int, _Board] = defaultdict(_Board)
    read: dict[int, _Board] = defaultdict(_Board)
    ends: dict[NkiInstruction, float] = {}
    spans = []
    for each in instructions:
        own = each.core, each.engine
        length = each.cycles / (CLOCKS[each.engine] * CYCLE)
        place = ENGINES.index(each.engine)
        latency = np.full(len(ENGINES), float(LEAST))
        latency[place] = 0
        before = [one for one in each.after if one in ends]
        waits = [free[own], *(ends[one] + (LEAST if (one.core, one.engine) != own else 0) for one in before)]
        needed = [written[access.storage].view(access) for access in (*each.reads, *each.writes)]
        needed += [read[access.storage].view(access) for access in each.writes]
        for ended in needed:
            last = ended.reshape(len(ENGINES), -1).max(axis=1, initial=0.0)
            waits.append(float((last + np.where(last > 0, latency, 0.0)).max()))
        start = max(waits)
        end = start + length
        for boards, accesses in ((read, each.reads), (written, each.writes)):
            for access in accesses:
                view = boards[access.storage].view(access)[place]
                np.maximum(view, end, out=view)
        free[own] = ends[each] = end
        sums[own] += length
        spans.append(Span(each, start, end))
    by_core: dict[int, float] = defaultdict(float)
    for (core, _), total in sums.items():
        by_core[core] += total
    return Times(
        dict(sums), max(by_core.values(), default=0.0), max((span.end for span in spans), default=0.0), tuple(spans)
    )
