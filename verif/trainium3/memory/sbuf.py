"""Accesses of SBUF's engines and DMA ports, and a shadow of its bytes that plays them cycle by cycle."""

from dataclasses import dataclass, field
from functools import cache
from random import Random

import ml_dtypes
import numpy as np

from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.golden.trainium3.dma.read_add_write import read_add_write
from bitpath.golden.trainium3.memory.access_pattern import AccessPattern
from bitpath.rtl.trainium3.dma.read_add_write import WriteMode, beat_layout
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.memory.sbuf import SBUF_WORD_BYTES, SbufConfig, sbuf_place, sbuf_write
from bitpath.verif.common.fp32 import numbers as fp32
from bitpath.verif.kit.packing import pack

ADDED = {WriteMode.ADD_BF16: np.dtype(ml_dtypes.bfloat16), WriteMode.ADD_FP32: np.dtype(np.float32)}
ON_THE_WAY = 2
"""Beats that read-add-write holds at most."""


@dataclass(frozen=True)
class Place:
    """An engine's partitions and word."""

    start: int
    partitions: int
    word: int

    def fault(self, config: SbufConfig) -> Fault:
        """What golden's rule for 128 partitions says of this place, scaled."""
        if not 0 < self.partitions <= config.partitions:
            return Fault.PARTITIONS
        scale = PARTITIONS // config.partitions
        try:
            AccessPattern(np.uint8, self.start * scale, self.partitions * scale, 0, [(1, 1)])
        except ValueError:
            return Fault.START
        return Fault.NONE

    def rows(self, config: SbufConfig) -> range:
        """The partitions that it uses."""
        legal = self.fault(config) is Fault.NONE
        return range(self.start, self.start + self.partitions) if legal else range(0)

    def fields(self) -> dict:
        return {"start": self.start, "partitions": self.partitions, "word": self.word}

    def payload(self, config: SbufConfig) -> int:
        return pack(sbuf_place(config), self.fields())


@cache
def legal_places(config: SbufConfig) -> tuple[Place, ...]:
    """Return every legal set of partitions, at word 0."""
    every = (Place(s, n, 0) for n in range(1, config.partitions + 1) for s in range(config.partitions + 1 - n))
    return tuple(place for place in every if place.fault(config) is Fault.NONE)


@dataclass(frozen=True)
class Write:
    """An engine's write: a word and a mask for each partition of the memory."""

    place: Place
    words: tuple[int, ...]
    masks: tuple[int, ...]

    def payload(self, config: SbufConfig) -> int:
        fields = {"place": self.place.fields(), "words": list(self.words), "masks": list(self.masks)}
        return pack(sbuf_write(config), fields)


def random_write(config: SbufConfig, place: Place, rng: Random) -> Write:
    words = tuple(rng.getrandbits(64) for _ in range(config.partitions))
    return Write(place, words, tuple(rng.choice((255, 0, rng.getrandbits(8))) for _ in words))


@dataclass(frozen=True)
class Beat:
    """A DMA write: a row of bytes, and what it does to those in memory."""

    address: int
    data: int
    mask: int
    mode: WriteMode = WriteMode.STORE

    def payload(self, config: SbufConfig) -> int:
        store = {"data": self.data, "mask": self.mask, "address": self.address}
        return pack(beat_layout(config.beats), {"store": store, "mode": self.mode})


def random_beat(config: SbufConfig, rng: Random, address: int | None = None, mode: WriteMode | None = None) -> Beat:
    """Return a store of any bytes, or an addition of whole numbers."""
    mode = rng.choice(list(WriteMode)) if mode is None else mode
    address = rng.randrange(1 << config.beats.address_bits) if address is None else address
    if mode is WriteMode.STORE:
        full = (1 << config.dma_bytes) - 1
        mask = rng.choice((full, full, 0, rng.getrandbits(config.dma_bytes)))
        return Beat(address, rng.getrandbits(8 * config.dma_bytes), mask)
    size = ADDED[mode].itemsize
    numbers = range(config.dma_bytes // size)
    codes = [fp32.mixed(rng) >> 32 - 8 * size for _ in numbers]
    mask = sum(((1 << size) - 1) << size * i for i in numbers if rng.random() < 0.8)
    return Beat(address, sum(code << 8 * size * i for i, code in enumerate(codes)), mask, mode)


@dataclass
class Port:
    """A DMA port: its bytes by address, and the beats that are on their way in read-add-write."""

    config: SbufConfig
    rows: dict[int, bytearray] = field(default_factory=dict)
    on_the_way: list[tuple[int, int, bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rows = {each: bytearray(self.config.dma_bytes) for each in range(1 << self.config.beats.address_bits)}

    def partition(self, address: int) -> int:
        return address >> self.config.row_bits

    def take(self, beat: Beat) -> None:
        """Take a beat into read-add-write; its word is the one in memory under the one that waits."""
        present = bytearray(self.rows[beat.address])
        for address, mask, data in self.on_the_way:
            if address == beat.address:
                lay(present, mask, data)
        given = beat.data.to_bytes(self.config.dma_bytes, "little")
        if beat.mode is not WriteMode.STORE:
            dtype = ADDED[beat.mode]
            given = read_add_write(np.frombuffer(bytes(present), dtype), np.frombuffer(given, dtype)).tobytes()
        self.on_the_way.append((beat.address, beat.mask, given))


def lay(onto: bytearray, mask: int, data: bytes, start: int = 0) -> None:
    """Write the bytes whose mask bit is set."""
    for i, byte in enumerate(data):
        if mask >> i & 1:
            onto[start + i] = byte


class Shadow:
    """Every byte of SBUF."""

    def __init__(self, config: SbufConfig):
        self.config = config
        self.ports = [Port(config) for _ in range(config.groups)]

    def _row(self, partition: int, word: int) -> tuple[bytearray, int]:
        group, place = divmod(partition, self.config.group)
        row, part = divmod(word, self.config.banks)
        return self.ports[group].rows[place << self.config.row_bits | row], SBUF_WORD_BYTES * part

    def read(self, place: Place) -> int:
        """Return what an engine reads: a word of each partition, zeros in those that it does not use."""
        found = 0
        for p in place.rows(self.config):
            row, start = self._row(p, place.word)
            found |= int.from_bytes(row[start : start + SBUF_WORD_BYTES], "little") << 64 * p
        return found

    def write(self, write: Write) -> None:
        for p in write.place.rows(self.config):
            row, start = self._row(p, write.place.word)
            lay(row, write.masks[p], write.words[p].to_bytes(SBUF_WORD_BYTES, "little"), start)


@dataclass
class Cycle:
    """What the engines do in a cycle, by read port and by write port, and whether it clears."""

    reads: dict[int, Place] = field(default_factory=dict)
    writes: dict[int, Write] = field(default_factory=dict)
    clear: bool = False


def random_cycle(config: SbufConfig, rng: Random, number: int, busy: float) -> Cycle:
    """Return reads and writes of any legal partitions, each with probability `busy`; engines write words of their own."""
    cycle, legal, words = Cycle(), legal_places(config), range(1 << config.word_bits)
    for port in range(config.read_ports):
        if rng.random() < busy:
            place = rng.choice(legal)
            cycle.reads[port] = Place(place.start, place.partitions, rng.choice(words))
        if port < config.engines and rng.random() < busy:
            place = rng.choice(legal)
            own = [word for word in words if word % config.engines == (port + number) % config.engines]
            cycle.writes[port] = random_write(config, Place(place.start, place.partitions, rng.choice(own)), rng)
    return cycle
