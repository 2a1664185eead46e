"""Tests that vector registers and accumulators share: every name in both directions, forwarding, several writers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.verif.aie_ml_v2.tile.slots import Place, SlotShadow, Written, kind_of, overlap, random_write
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import Bench
from bitpath.verif.kit.streams import resolved

FORWARDS = range(4)


@dataclass(frozen=True)
class Registers:
    """What a bench knows of its unit.

    Attributes
    ----------
    readers, writers : names of the ports.
    names : the registers.
    widths : bits of a slot of each storage.
    count : groups of four slots.
    lowest : lowest bit of each storage in a reader's data.
    write_payload : a write as a port's payload.
    name_payload : a name with a forwarding code as a port's payload.
    """

    readers: tuple[str, ...]
    writers: tuple[str, ...]
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
            for write in writes.values():
                if forward and write.forward == forward:
                    for storage, bits in write.bits.items():
                        over.write(write.place, storage, bits)
            expected = 0
            for storage in unit.widths:
                bits = self.shadow.read(place, storage, over)
                seen.add("forwarded" if bits != self.shadow.read(place, storage) else "as it was")
                expected |= bits << unit.lowest[storage]
            self.board.expect(expected, f"{port} reads {place.name}, code {forward}")
            self.board.got(resolved(getattr(dut, f"{port}_data")))
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
    """Reads of a register, or of one that shares slots with it, in the cycle of its write: every pair of codes."""
    table, rng = Table(frame, unit), pauses.rng("values")
    coverage = frame.coverage(["forwarded", "as it was"])
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
