"""Tests that vector registers and accumulators share: every name in both directions, forwarding, several writers.

A shadow holds the slots under the names of golden's declaration.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.aie_ml_v2 import DataMemory, compress
from bitpath.golden.aie_ml_v2.declarations.tile import (
    ADDRESS_BITS,
    FIFO_BYTES,
    LINE_BYTES,
    MEMORY_BYTES,
    REGISTERS,
    Names,
)
from bitpath.rtl.aie_ml_v2.tile.fifos import FIFO_BITS, LINE_BITS
from bitpath.verif.kit.unit_bench import Bench, pauses, resolved

# Memory whose addresses go round, and operations of FIFOs that both benches share.


ELEMENTS = (32, 48, 64, 72, 80, 96, 128)
"""Bytes of elements: half blocks and blocks of each format, two sparse chunks, everything."""
SPACE = 1 << ADDRESS_BITS


class RoundMemory(DataMemory):
    """Data memory at each of four places of the address space, so that pointers of 20 bits need no check."""

    def load(self, address: int, width: int) -> np.ndarray:
        return super().load(address % MEMORY_BYTES, width)

    def store(self, address: int, data: np.ndarray) -> None:
        super().store(address % MEMORY_BYTES, data)

    def fill(self, rng: Random, sparse: bool = False) -> "RoundMemory":
        """Write random bytes everywhere, or compressed chunks one after the other."""
        image = rng.randbytes(MEMORY_BYTES)
        if sparse:
            zeros, chunks = np.random.default_rng(rng.getrandbits(32)), b""
            while len(chunks) < 1 << 14:
                chunk = np.where(zeros.random(64) < zeros.random(), zeros.integers(0, 256, 64), 0)
                chunks += compress(chunk.astype(np.uint8)).tobytes()
            image = (chunks * (MEMORY_BYTES // len(chunks) + 1))[:MEMORY_BYTES]
        for line in range(0, MEMORY_BYTES, LINE_BYTES):
            super().store(line, np.frombuffer(image[line : line + LINE_BYTES], np.uint8))
        return self


def number(data: np.ndarray) -> int:
    """Return bytes as an integer, the first lowest."""
    return int.from_bytes(data.tobytes(), "little")


async def write_held(table: Any, rng: Random, halves: int, count: int | None = None) -> None:
    """Write halves of a FIFO's register as a program does, then set its count and pointer.

    By default all are random. With a count, ones are written, and the pointer is a line's last byte: a load then adds one byte,
    and each of the ones that stays above the count shows. ``table`` is the bench's player; golden's FIFO keeps the bytes below
    the count.
    """
    data, pointer, held = rng.getrandbits(FIFO_BITS), rng.randrange(SPACE), table.held
    if count is None:
        count = rng.randrange(FIFO_BYTES + 1)
    else:
        data, pointer = (1 << FIFO_BITS) - 1, pointer | LINE_BYTES - 1
    for half in range(2):
        mask = (1 << LINE_BITS) - 1 << half * LINE_BITS
        held = held & ~mask | data & mask if halves >> half & 1 else held
    while not await table.step(write=(halves, data)):
        pass
    table.held = held
    kept = np.frombuffer((held & (1 << 8 * count) - 1).to_bytes(FIFO_BYTES, "little"), np.uint8)
    table.fifo = type(table.fifo)(pointer, count, kept)


FORWARDS = range(4)


@dataclass(frozen=True)
class Place:
    """A register's first slot, the logarithm of its slots, and the storages that it lies in."""

    name: str
    index: int
    size: int
    storages: tuple[str, ...]

    @property
    def slots(self) -> range:
        return range(self.index, self.index + (1 << self.size))


def places(kinds: Iterable[Names], widths: dict[str, int], registers: int) -> list[Place]:
    """Return the registers of these kinds in the first ``registers`` groups of four slots; ``widths`` are golden's of a slot."""
    found = []
    for name, (kind, number) in REGISTERS.items():
        if kind not in kinds:
            continue
        span = kind.spans[0]
        slot = widths[span.storage]
        first = (span.first + number * span.step) // slot
        slots = sum(each.width for each in kind.spans if each.storage == span.storage) // slot
        storages = tuple(dict.fromkeys(each.storage for each in kind.spans))
        if first + slots <= 4 * registers:
            found.append(Place(name, first, slots.bit_length() - 1, storages))
    return found


def kind_of(place: Place) -> str:
    return re.sub(r"\d+$", "", place.name)


class SlotShadow:
    """Bits of every slot of each storage."""

    def __init__(self, widths: dict[str, int], registers: int):
        self.widths = widths
        self.slots = {storage: [0] * (4 * registers) for storage in widths}

    def read(self, place: Place, storage: str, over: "SlotShadow | None" = None) -> int:
        """Return a register's bits in a storage; slots that ``over`` has written come from there."""
        width = self.widths[storage]
        source = self.slots[storage]
        if over is not None:
            source = [a if a is not None else b for a, b in zip(over.slots[storage], source, strict=True)]
        return sum(source[slot] << width * number for number, slot in enumerate(place.slots))

    def write(self, place: Place, storage: str, bits: int) -> None:
        width = self.widths[storage]
        for number, slot in enumerate(place.slots):
            self.slots[storage][slot] = bits >> width * number & (1 << width) - 1

    def nothing(self) -> "SlotShadow":
        """Return a shadow in which no slot is written."""
        other = SlotShadow(self.widths, len(next(iter(self.slots.values()))) // 4)
        other.slots = {storage: [None] * len(slots) for storage, slots in self.slots.items()}
        return other


@dataclass(frozen=True)
class Written:
    """A write of one port in a cycle: a register, a forwarding code, and bits of each storage that it has."""

    place: Place
    forward: int
    bits: dict[str, int]


def random_write(names: list[Place], shadow: SlotShadow, rng: Random, forward: int) -> Written:
    place = rng.choice(names)
    bits = {storage: rng.getrandbits(shadow.widths[storage] << place.size) for storage in place.storages}
    return Written(place, forward, bits)


def overlap(a: Written, b: Written) -> bool:
    """Return True if both write a slot of one storage."""
    return bool({*a.place.storages} & {*b.place.storages}) and bool({*a.place.slots} & {*b.place.slots})


@dataclass(frozen=True)
class Registers:
    """Properties of a unit that its bench uses.

    Attributes
    ----------
    readers, writers : names of the ports.
    paths : pairs of a reader and a writer whose writes it can take in their cycle.
    names : the registers.
    widths : bits of a slot of each storage.
    count : groups of four slots.
    lowest : lowest bit of each storage in a reader's data.
    write_payload : a write as a port's payload.
    name_payload : a name with a forwarding code as a port's payload.
    """

    readers: tuple[str, ...]
    writers: tuple[str, ...]
    paths: tuple[tuple[str, str], ...]
    names: list[Place]
    widths: Mapping[str, int]
    count: int
    lowest: Mapping[str, int]
    write_payload: Callable[[Written], int]
    name_payload: Callable[[Place, int], int]


class Table:
    """Plays cycles: writes of some ports, and reads of all."""

    def __init__(self, frame: Bench, unit: Registers):
        self.dut, self.unit, self.rng = frame.dut, unit, pauses.rng("junk")
        self.shadow = SlotShadow(dict(unit.widths), unit.count)
        shape = frame.signature.members[f"{unit.readers[0]}_data"].shape
        self.board = frame.scoreboard("reads", shape, output=f"{unit.readers[0]}_data")

    async def cycle(
        self, writes: Mapping[str, Written], reads: Mapping[str, tuple[Place, int]] | None = None
    ) -> set[str]:
        """Play a cycle; readers without a read read anything. Return the events of forwarding that were seen."""
        unit, dut = self.unit, self.dut
        for port in unit.writers:
            write = writes.get(port)
            handle = getattr(dut, port)
            getattr(dut, f"{port}_enable").value = write is not None
            handle.value = unit.write_payload(write) if write else self.rng.getrandbits(len(handle))
        asked: dict[str, Any] = {
            port: (reads or {}).get(port) or (self.rng.choice(unit.names), self.rng.choice(FORWARDS))
            for port in unit.readers
        }
        for port, (place, forward) in asked.items():
            getattr(dut, port).value = unit.name_payload(place, forward)
        await FallingEdge(dut.clk)
        seen = set()
        for port, (place, forward) in asked.items():
            over = self.shadow.nothing()
            for writer, write in writes.items():
                if (port, writer) in unit.paths and forward and write.forward == forward:
                    for storage, bits in write.bits.items():
                        over.write(write.place, storage, bits)
            expected = 0
            for storage in unit.widths:
                bits = self.shadow.read(place, storage, over)
                seen.add("forwarded" if bits != self.shadow.read(place, storage) else "as it was")
                expected |= bits << unit.lowest[storage]
            self.board.compare(
                resolved(getattr(dut, f"{port}_data")), expected, f"{port} reads {place.name}, code {forward}"
            )
        await RisingEdge(dut.clk)
        for write in writes.values():
            for storage, bits in write.bits.items():
                self.shadow.write(write.place, storage, bits)
        return seen

    async def read_all(self) -> None:
        """Read every register by every port."""
        for first in range(len(self.unit.names)):
            shifted = [self.unit.names[(first + n) % len(self.unit.names)] for n in range(len(self.unit.readers))]
            await self.cycle({}, {port: (place, 0) for port, place in zip(self.unit.readers, shifted, strict=True)})


async def every_name(frame: Bench, unit: Registers) -> None:
    """Write every register by every port, and read names that share its slots."""
    table, rng = Table(frame, unit), pauses.rng("values")
    coverage = frame.coverage(sorted({kind_of(place) for place in unit.names}))
    await table.read_all()
    for place, port in product(unit.names, unit.writers):
        await table.cycle({port: random_write([place], table.shadow, rng, 0)})
        near = [each for each in unit.names if {*each.slots} & {*place.slots}]
        await table.cycle({}, {reader: (rng.choice(near), 0) for reader in unit.readers})
        coverage.hit(kind_of(place))
    await table.read_all()


async def forwarding(frame: Bench, unit: Registers, cases: int) -> None:
    """Reads in the cycle of a write: each register's write with a read of all four slots, then every pair of codes on registers
    that share slots."""
    table, rng = Table(frame, unit), pauses.rng("values")
    coverage = frame.coverage(["forwarded", "as it was"])
    for place, port in product(unit.names, dict.fromkeys(writer for _, writer in unit.paths)):
        code = rng.choice(FORWARDS[1:])
        whole = next(each for each in unit.names if {*place.slots} <= {*each.slots} and len(each.slots) == 4)
        write = random_write([place], table.shadow, rng, code)
        for event in await table.cycle({port: write}, dict.fromkeys(unit.readers, (whole, code))):
            coverage.hit(event)
    for _ in range(max(1, cases // 16)):
        for code, port in product(FORWARDS, unit.writers):
            write = random_write(unit.names, table.shadow, rng, code)
            near = [each for each in unit.names if {*each.slots} & {*write.place.slots}]
            reads = {reader: (rng.choice(near), rng.choice((code, *FORWARDS))) for reader in unit.readers}
            for event in await table.cycle({port: write}, reads):
                coverage.hit(event)
    await table.read_all()


async def several_writers(frame: Bench, unit: Registers, cases: int) -> None:
    """All ports write in every cycle, registers that share no slots, often parts of one register."""
    table, rng = Table(frame, unit), pauses.rng("values")
    for _ in range(cases):
        writes: dict[str, Written] = {}
        for port in unit.writers:
            write = random_write(unit.names, table.shadow, rng, rng.choice(FORWARDS))
            if not any(overlap(write, other) for other in writes.values()):
                writes[port] = write
        await table.cycle(writes)
    await table.read_all()


async def resets(frame: Bench, unit: Registers) -> None:
    """Registers are 0 after a reset."""
    table, rng = Table(frame, unit), pauses.rng("values")
    for _ in range(3):
        for place in unit.names:
            await table.cycle({unit.writers[0]: random_write([place], table.shadow, rng, 0)})
        await frame.reset()
        table.shadow = SlotShadow(dict(unit.widths), unit.count)
        await table.read_all()
