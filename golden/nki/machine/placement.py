"""Places of tensors without an address: their bytes are free again behind the last instruction that uses them.

    live range of a tensor = the first to the last recorded instruction that reads or writes it
    place of a tensor      = bytes of SBUF or PSUM that no other tensor has during its live range

A kernel is Python, and values decide its loops: the last use of a tensor is known when the kernel has ended. During the run each
tensor has memory of its own, so that results do not depend on places and one run is enough. Afterwards the accesses of the
instructions are moved to the places, so that in time a tensor waits for those that had its bytes before.

A tensor takes the place that has been free for longest, as in a loop that rotates its buffers. If that leaves a tensor without a
place, all tensors of its memory take the first free bytes instead. Tensors do not fit if those that are live at one instruction
need more bytes than there are; a tensor that finds no place for another reason keeps memory of its own without a warning,
since a compiler would order the places better. A tensor with an address keeps it, and no other tensor has its bytes from the
first to the last instruction that touches them.

Ref: "NKI memory hierarchy", AWS Neuron documentation, 2026-08: live data that do not fit are spilled. The rules are chosen: the
vendor's compiler places and spills as it likes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bitpath.golden.nki.machine.core import Machine, NeuronCore, Tile
from bitpath.golden.nki.memory.storage import Access
from bitpath.golden.trainium3.declarations.memory import PSUM_BANK_BYTES

UNITS = {"sbuf": 64, "psum": PSUM_BANK_BYTES}
"""A place begins and ends at multiples of these bytes."""
NEVER = np.iinfo(np.int64).max
MOST_NAMED = 12
"""Tensors that a warning names."""


@dataclass(frozen=True)
class LiveRange:
    """A tensor, and the numbers of the first and the last instruction that read or write it."""

    tile: Tile
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.tile.name} {self.tile.partition_bytes} bytes, instructions {self.first} to {self.last}"


class _Memory:
    """SBUF or PSUM of a core during a run, in units.

    Parameters
    ----------
    buffer : its name.
    size : bytes of a partition that tensors may have.
    """

    def __init__(self, buffer: str, size: int):
        self.buffer, self.size, self.unit = buffer, size, UNITS[buffer]
        self.ranges: list[LiveRange] = []
        # First and last instruction of the tensors with an address that have a unit.
        self.first, self.last = np.full(self.units(size), NEVER), np.full(self.units(size), -1)

    def units(self, length: int) -> int:
        return -(-length // self.unit)

    def touch(self, k: int, access: Access) -> None:
        """Keep the bytes of a tensor with an address for instruction k."""
        own = slice(access.bytes[0] // self.unit, self.units(access.bytes[1]))
        self.first[own] = np.minimum(self.first[own], k)
        self.last[own] = k

    def live(self, instructions: int) -> np.ndarray:
        """Return the units of a partition that are in use at each instruction, [instructions]."""
        changes = np.zeros(instructions + 1, np.int64)
        for each in self.ranges:
            count = self.units(each.tile.partition_bytes)
            changes[each.first] += count
            changes[each.last + 1] -= count
        used = self.last >= 0
        np.add.at(changes, self.first[used], 1)
        np.add.at(changes, self.last[used] + 1, -1)
        return np.cumsum(changes[:-1])

    def places(self) -> dict[int, int]:
        """Return the first byte of each tensor that finds a place, by the number of its storage."""
        rotated = self._places(oldest=True)
        return rotated if len(rotated) == len(self.ranges) else self._places(oldest=False)

    def _places(self, *, oldest: bool) -> dict[int, int]:
        """Give tensors, in the order of their first instructions, the place that is free for longest, or the first one."""
        found, last = {}, np.full(len(self.first), -1)
        for each in self.ranges:
            length = each.tile.partition_bytes
            busy = (last >= each.first) | ((self.first <= each.last) & (self.last >= each.first))
            latest = _window_maxima(np.where(busy, NEVER, last), self.units(length))
            latest = latest[: (self.size - length) // self.unit + 1]
            start = int(np.argmin(latest) if oldest else np.argmax(latest < NEVER))
            if latest[start] < NEVER:
                last[start : start + self.units(length)] = each.last
                found[each.tile.storage] = start * self.unit
        return found


def _window_maxima(values: np.ndarray, width: int) -> np.ndarray:
    """Return the maximum of each ``width`` values in a row, by windows of doubled width."""
    own = 1
    while 2 * own <= width:
        values, own = np.maximum(values[:-own], values[own:]), 2 * own
    rest = width - own
    return np.maximum(values[:-rest], values[rest:]) if rest else values


def settle(machine: Machine, cores: Sequence[NeuronCore]) -> dict[str, int]:
    """Move the accesses of a run's instructions to the places of their tensors; return the most bytes in use by memory.

    Warns of tensors that are in use at one time and do not fit: those without a place keep memory of their own.
    """
    memories: dict[tuple[int, str], _Memory] = {}
    numbers: dict[int, _Memory] = {}
    for core in cores:
        limits = machine.options.limits
        for buffer, storage, size in (
            ("sbuf", core.sbuf, limits.usable_bytes),
            ("psum", core.psum, core.psum.row_bytes),
        ):
            memories[core.number, buffer] = numbers[storage.number] = _Memory(buffer, size)
    for each in _live_ranges(machine, numbers):
        memories[each.tile.core, each.tile.buffer].ranges.append(each)
    high = dict.fromkeys(UNITS, 0)
    places: dict[int, tuple[int, int]] = {}
    for number, memory in numbers.items():
        live = memory.live(len(machine.instructions))
        most = int(live.max(initial=0))
        high[memory.buffer] = max(high[memory.buffer], most * memory.unit)
        if most > memory.units(memory.size):
            _warn(machine, memory, int(live.argmax()), most * memory.unit)
        places |= {tile: (number, byte) for tile, byte in memory.places().items()}
    for made in machine.instructions:
        made.reads, made.writes = (tuple(_moved(access, places) for access in own) for own in (made.reads, made.writes))
    return high


def _live_ranges(machine: Machine, memories: dict[int, _Memory]) -> list[LiveRange]:
    """Return the live ranges of tensors by their first instruction; tell memories of accesses at addresses.

    Only the instructions of a tensor's own core count: those of the other meet one of them.
    """
    core_of = {tile.storage: tile.core for tile in machine.tiles}
    used: dict[int, tuple[int, int]] = {}
    for k, each in enumerate(machine.instructions):
        for access in (*each.reads, *each.writes):
            if core_of.get(access.storage) == each.core:
                used[access.storage] = used.get(access.storage, (k, k))[0], k
            elif access.storage in memories:
                memories[access.storage].touch(k, access)
    found = [LiveRange(tile, *used[tile.storage]) for tile in machine.tiles if tile.storage in used]
    return sorted(found, key=lambda each: each.first)


def _moved(access: Access, places: dict[int, tuple[int, int]]) -> Access:
    if access.storage not in places:
        return access
    storage, byte = places[access.storage]
    return replace(access, storage=storage, bytes=(byte + access.bytes[0], byte + access.bytes[1]))


def _warn(machine: Machine, memory: _Memory, k: int, needed: int) -> None:
    """Say which tensors are in use at instruction k, which needs the most bytes."""
    there = [each for each in memory.ranges if each.first <= k <= each.last]
    there.sort(key=lambda each: -each.tile.partition_bytes)
    names = [str(each) for each in there[:MOST_NAMED]]
    if len(there) > MOST_NAMED:
        names.append(f"{len(there) - MOST_NAMED} others")
    fixed = int(((memory.first <= k) & (memory.last >= k)).sum()) * memory.unit
    if fixed:
        names.append(f"{fixed} bytes at addresses")
    each = machine.instructions[k]
    sentence = f"{memory.buffer.upper()}: {needed} bytes a partition are in use at instruction {k}, {each.opcode}"
    machine.warn(
        "spilled",
        f"{sentence}, and do not fit into {memory.size}: {'; '.join(names)}",
        each.line,
        error=machine.options.strict_memory,
    )
