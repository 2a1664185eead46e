"""Register files under all their names: a shadow in golden's registers, and cycles of reads and writes."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from bitpath.golden.aie_ml_v2.declarations.registers import REGISTERS, Names


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
