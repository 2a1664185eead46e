"""Accesses of a program that nothing orders: a result would depend on which engine happens to be faster."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from bitpath.golden.trainium3.core.program import Instruction, Operand, Transfer
from bitpath.golden.trainium3.core.timeline import lane
from bitpath.golden.trainium3.memory.access_pattern import HbmPattern


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
