"""Order of a run's DMA by the priority of its queue: the lower one is served first, in order inside a queue.

A DMA of priority p goes in front of the instructions that it need not follow. It follows those whose bytes it reads or overwrites, or that
read what it overwrites, those that it depends on by ``depends_on``, those of its ``no_reorder`` block, its core's meetings, and
its core's DMA of priority p or lower before it. The lowest priority, which is that without one, goes in the order of the kernel.

Ref: "Trainium3 Architecture Guide for NKI": strict priority among the queues of an engine. That the DMA of a priority are one
queue is chosen: the compiler assigns queues.
"""

from collections.abc import Sequence

import numpy as np

from bitpath.golden.nki.machine.timeline import NkiInstruction
from bitpath.golden.nki.memory.storage import Access
from bitpath.golden.trainium3.declarations.dma import PRIORITIES

LEVELS = PRIORITIES + 1
"""Ranks behind one instruction: its own, and one for each priority."""


def by_priority(instructions: Sequence[NkiInstruction]) -> list[NkiInstruction]:
    """Return the instructions in the order in which they are served.

    A rank is ``LEVELS * k + level``: behind instruction k, by priority; stable for equal ranks.
    """
    urgent = [each.queue.priority < PRIORITIES - 1 for each in instructions]
    if not any(urgent):
        return list(instructions)
    ranks = LEVELS * np.arange(len(instructions))
    boxes = np.array([_box(k, write, access) for k, write, access in _accesses(instructions)]).reshape(-1, 7)
    numbers = {each: k for k, each in enumerate(instructions)}
    core = np.array([each.core for each in instructions])
    meeting = np.array([each.meeting > 0 for each in instructions])
    priority = np.array([each.queue.priority if each.engine == "dma" else PRIORITIES for each in instructions])
    for k in np.flatnonzero(urgent).tolist():
        each = instructions[k]
        before = (core[:k] == each.core) & (meeting[:k] | (priority[:k] <= each.queue.priority))
        before[[numbers[one] for one in each.after if numbers.get(one, k) < k]] = True
        if each.ordered:
            before |= [
                (own.core, own.engine) == (each.core, each.engine) and bool(own.ordered & each.ordered)
                for own in instructions[:k]
            ]
        earlier = boxes[: np.searchsorted(boxes[:, 0], k)]
        for write, accesses in ((False, each.reads), (True, each.writes)):
            for access in accesses:
                before[_conflicts(earlier, write, access)] = True
        last = int(ranks[:k][before].max(initial=-LEVELS))
        ranks[k] = max(last, last // LEVELS * LEVELS + each.queue.priority + 1)
    return [instructions[k] for k in np.argsort(ranks, kind="stable")]


def _accesses(instructions: Sequence[NkiInstruction]) -> list[tuple[int, bool, Access]]:
    return [
        (k, write, access)
        for k, each in enumerate(instructions)
        for write, accesses in ((False, each.reads), (True, each.writes))
        for access in accesses
    ]


def _box(k: int, write: bool, access: Access) -> tuple[int, ...]:
    return k, write, access.storage, *access.rows, *access.bytes


def _conflicts(boxes: np.ndarray, write: bool, access: Access) -> np.ndarray:
    """Return the instructions whose accesses share bytes with one, where either writes them."""
    number, writes, storage, first_row, end_row, first, end = boxes.T
    meets = (storage == access.storage) & ((writes == 1) | write)
    meets &= (first_row < access.rows[1]) & (access.rows[0] < end_row)
    meets &= (first < access.bytes[1]) & (access.bytes[0] < end)
    return number[meets]
