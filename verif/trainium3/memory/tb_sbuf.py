"""Bench of SBUF: engines and DMA ports beside a shadow of every byte; handshakes, errors and waits in each cycle."""

from collections import deque
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from random import Random

import ml_dtypes
import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.golden.trainium3.dma.compute import read_add_write
from bitpath.golden.trainium3.memory.access_pattern import AccessPattern
from bitpath.rtl.trainium3.dma.read_add_write import WriteMode, beat_layout
from bitpath.rtl.trainium3.faults import Fault
from bitpath.rtl.trainium3.memory.sbuf import (
    QUARTERS,
    SBUF_WORD_BYTES,
    Sbuf,
    SbufConfig,
    sbuf_place,
    sbuf_tiles,
    sbuf_write,
)
from bitpath.verif.common.fp32 import numbers as fp32
from bitpath.verif.kit.unit_bench import UnitBench, cases, covers, cross, pack, pauses, resolved

# Accesses of SBUF's engines and DMA ports, and a shadow of its bytes that plays them cycle by cycle.


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
        """Golden's rule for 128 partitions at this place, scaled."""
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

    def tile(self, config: SbufConfig) -> "Tile":
        """Return the same read by a tile reader."""
        return Tile(sum(1 << p for p in self.rows(config)), (self.word,) * QUARTERS)


@dataclass(frozen=True)
class Tile:
    """A tile reader's partitions, as bits, and the word of each quarter."""

    partitions: int
    words: tuple[int, ...]

    def fault(self, config: SbufConfig) -> Fault:
        return Fault.NONE

    def rows(self, config: SbufConfig) -> list[int]:
        return [p for p in range(config.partitions) if self.partitions >> p & 1]

    def payload(self, config: SbufConfig) -> int:
        return pack(sbuf_tiles(config), {"partitions": self.partitions, "words": list(self.words)})


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
    """A DMA write: a row of bytes, and its operation on those in memory."""

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
        """Take a beat into read-add-write; its word is memory's, under the waiting word."""
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

    def read(self, place: Place | Tile) -> int:
        """Return the words that an engine reads: one of each partition, zeros in those that it does not use."""
        found = 0
        for p in place.rows(self.config):
            quarter = p * QUARTERS // self.config.partitions
            row, start = self._row(p, place.words[quarter] if isinstance(place, Tile) else place.word)
            found |= int.from_bytes(row[start : start + SBUF_WORD_BYTES], "little") << 64 * p
        return found

    def write(self, write: Write) -> None:
        for p in write.place.rows(self.config):
            row, start = self._row(p, write.place.word)
            lay(row, write.masks[p], write.words[p].to_bytes(SBUF_WORD_BYTES, "little"), start)


@dataclass
class Cycle:
    """The engines' accesses in a cycle, by read port and by write port, and whether it clears."""

    reads: dict[int, Place | Tile] = field(default_factory=dict)
    writes: dict[int, Write] = field(default_factory=dict)
    clear: bool = False


def random_cycle(config: SbufConfig, rng: Random, number: int, busy: float) -> Cycle:
    """Return reads and writes of any legal partitions, each with probability `busy`; engines write words of their own."""
    cycle, legal, words = Cycle(), legal_places(config), range(1 << config.word_bits)
    for port in range(config.read_ports):
        if rng.random() < busy:
            place = rng.choice(legal)
            cycle.reads[port] = Place(place.start, place.partitions, rng.choice(words))
            if port < config.tile_readers:
                own = rng.getrandbits(config.partitions)
                cycle.reads[port] = Tile(own, tuple(rng.choice(words) for _ in range(QUARTERS)))
        if port < config.engines and rng.random() < busy:
            place = rng.choice(legal)
            own = [word for word in words if word % config.engines == (port + number) % config.engines]
            cycle.writes[port] = random_write(config, Place(place.start, place.partitions, rng.choice(own)), rng)
    return cycle


# DMA writes every row without an answer.
BENCH = UnitBench(Sbuf, SbufConfig, ms=20, patience=lambda config: 1500 + 4 * (1 << config.beats.address_bits))
CONFIG = BENCH.config
SIGNATURE = BENCH.signature
CASES = cases(200)
WORDS = 1 << CONFIG.word_bits
ADDRESSES = 1 << CONFIG.beats.address_bits
TILE_READERS = CONFIG.tile_readers
READERS, WRITERS, GROUPS = range(CONFIG.read_ports), range(CONFIG.engines), range(CONFIG.groups)
MOST_WAITS = (1 << CONFIG.wait_bits) - 1
FULL = (1 << CONFIG.dma_bytes) - 1
NO_MODE = 3


class Table:
    """Plays cycles of the engines and queues of the DMA ports. With ``pause`` DMA offers late and takes answers late."""

    def __init__(self, frame, pause=0.0):
        self.dut, self.pause = frame.dut, pause
        self.shadow = Shadow(CONFIG)
        self.boards = [frame.scoreboard(f"data__{e}", frame.payload_shape(f"data__{e}")) for e in READERS]
        self.answers = [frame.scoreboard(f"dma_data__{g}", 8 * CONFIG.dma_bytes) for g in GROUPS]
        self.reads, self.beats = [deque() for _ in GROUPS], [deque() for _ in GROUPS]
        self.offered = {(name, g): False for name in ("dma_read", "dma_write") for g in GROUPS}
        self.waits, self.fault = [0 for _ in GROUPS], Fault.NONE
        self.rng = pauses.rng("pauses")
        self.seen = set()

    def put(self, name, value):
        getattr(self.dut, name).value = value

    def get(self, name):
        return resolved(getattr(self.dut, name))

    async def fill(self):
        """Write every byte by DMA."""
        rng = pauses.rng("content")
        for group, address in product(GROUPS, range(ADDRESSES)):
            self.beats[group].append(Beat(address, rng.getrandbits(8 * CONFIG.dma_bytes), FULL))
        await self.play([])

    async def read_all(self):
        """Read every byte, by the engines and then by DMA."""
        await self.play(
            Cycle(reads={word % CONFIG.read_ports: Place(0, CONFIG.partitions, word)}) for word in range(WORDS)
        )
        for group, address in product(GROUPS, range(ADDRESSES)):
            self.reads[group].append(address)
        await self.play([])

    @property
    def busy(self):
        on_the_way = any(port.on_the_way for port in self.shadow.ports)
        return (
            on_the_way
            or any((*self.reads, *self.beats))
            or any(board.pending for board in (*self.answers, *self.boards))
        )

    async def play(self, cycles):
        """Play cycles, then quiet ones until DMA has been served; begins and ends just behind a rising edge."""
        cycles = iter(cycles)
        cycle = next(cycles, None)
        while cycle is not None or self.busy:
            await self.step(cycle or Cycle())
            cycle = next(cycles, None)
        await self.step(Cycle())

    async def step(self, cycle):
        for port in set(cycle.reads) & set(range(TILE_READERS)):
            if isinstance(cycle.reads[port], Place):
                cycle.reads[port] = cycle.reads[port].tile(CONFIG)
        for name, numbers, accesses in (("read", READERS, cycle.reads), ("write", WRITERS, cycle.writes)):
            for number in numbers:
                access = accesses.get(number)
                port = f"{name}__{number}"
                if name == "read":
                    port = f"tile_read__{number}" if number < TILE_READERS else f"read__{number - TILE_READERS}"
                payload = getattr(self.dut, f"{port}__payload")
                self.put(f"{port}__valid", access is not None)
                payload.value = self.rng.getrandbits(len(payload)) if access is None else access.payload(CONFIG)
        for group in GROUPS:
            for name, queue in (("dma_read", self.reads[group]), ("dma_write", self.beats[group])):
                self.offered[name, group] |= bool(queue) and self.rng.random() >= self.pause
                port = getattr(self.dut, f"{name}__{group}__payload")
                self.put(f"{name}__{group}__valid", self.offered[name, group])
                given = queue[0] if self.offered[name, group] else self.rng.getrandbits(len(port))
                port.value = given if isinstance(given, int) else given.payload(CONFIG)
            self.put(f"dma_data__{group}__ready", self.rng.random() >= self.pause)
        self.put("clear", cycle.clear)
        await FallingEdge(self.dut.clk)
        self._see(cycle)
        await RisingEdge(self.dut.clk)

    def _see(self, cycle):
        """Compare answers of the cycle before, errors, waits and handshakes; then do this cycle's accesses in the shadow."""
        assert self.get("fault") == self.fault.value
        assert self.get("waits") == pack(SIGNATURE.members["waits"].shape, [min(w, MOST_WAITS) for w in self.waits])
        for engine, board in enumerate(self.boards):
            assert self.get(f"data__{engine}__valid") == board.pending
            if board.pending:
                board.got(self.get(f"data__{engine}__payload"))
        places = [*map(cycle.reads.get, READERS), *(w and w.place for w in map(cycle.writes.get, WRITERS))]
        used = {p for place in places if place for p in place.rows(CONFIG)}
        for engine, read in cycle.reads.items():
            self.boards[engine].expect(self.shadow.read(read), str(read))
        self.waits = [0 if cycle.clear else wait for wait in self.waits]
        self.dma_faults = []
        for group in GROUPS:
            waits = self._dma(group, {p - group * CONFIG.group for p in used})
            self.waits[group] += waits and not cycle.clear
        for write in cycle.writes.values():
            self.shadow.write(write)
        errors = [place.fault(CONFIG) for place in places if place and CONFIG.checks] + self.dma_faults
        self.fault = Fault.NONE if cycle.clear else self.fault
        if self.fault is Fault.NONE:
            self.fault = next((each for each in errors if each is not Fault.NONE), Fault.NONE)

    def _dma(self, group, used):
        """One cycle of a DMA port; returns whether it waits for an engine."""
        port, board, seen = self.shadow.ports[group], self.answers[group], self.seen
        answer = bool(board.pending)
        assert self.get(f"dma_data__{group}__valid") == answer
        free = not answer or self.get(f"dma_data__{group}__ready")
        if answer and free:
            board.got(self.get(f"dma_data__{group}__payload"))
        read = self.reads[group][0] if self.offered["dma_read", group] else None
        beat = self.beats[group][0] if self.offered["dma_write", group] else None
        idle, room = not port.on_the_way, len(port.on_the_way) < ON_THE_WAY
        refused = CONFIG.adds and CONFIG.checks and beat is not None and beat.mode == NO_MODE
        adds = CONFIG.adds and not refused and beat is not None and beat.mode is not WriteMode.STORE
        fetches = adds and room
        asks = read is not None and idle and free
        read_blocked = port.partition(beat.address if fetches else read if asks else 0) in used
        at_once = idle and beat is not None and not adds and not refused
        head = beat.address if at_once else port.on_the_way[0][0] if port.on_the_way else None
        write_blocked = head is not None and port.partition(head) in used
        reads = asks and not fetches and not read_blocked
        takes = beat is not None and (not write_blocked if at_once else room and not (adds and read_blocked))
        if read is not None:
            assert self.get(f"dma_read__{group}__ready") == reads
        if beat is not None:
            assert self.get(f"dma_write__{group}__ready") == takes
        if reads:
            self.reads[group].popleft()
            self.offered["dma_read", group] = False
            board.expect(int.from_bytes(port.rows[read], "little"), f"address {read}")
        leaves = port.on_the_way[0] if port.on_the_way and not write_blocked else None
        if takes:
            self.beats[group].popleft()
            self.offered["dma_write", group] = False
            if refused:
                self.dma_faults.append(Fault.OPERATION)
            elif at_once:
                lay(port.rows[beat.address], beat.mask, beat.data.to_bytes(CONFIG.dma_bytes, "little"))
            else:
                if any(address == beat.address for address, *_ in port.on_the_way):
                    seen.add(f"{beat.mode.name} onto a word on its way")
                port.take(beat)
        if leaves:
            port.on_the_way.remove(leaves)
            lay(port.rows[leaves[0]], leaves[1], leaves[2])
        waits = write_blocked or ((fetches or asks) and read_blocked)
        seen.update(["waits"] if waits else [], ["read beside write"] if reads and takes else [])
        return waits


@covers(
    "sbuf.shadow",
    "Engines reach their full rate at the same time, and no access may see less than all before it",
    "Engines that read and write any words of any legal partitions, and DMA ports that read, store any bytes and "
    "add in both formats, beside a shadow of every byte; every handshake in its cycle; late offers and late "
    "takers",
)
@covers(
    "sbuf.add",
    "A chain onto one row adds in order",
    "Stores and additions onto a row whose sum is on its way, reads behind them; two sums that wait for an engine",
)
@BENCH.test("sbuf.waits", busy=[0.05, 0.3, 0.6], pause=[0.0, 0.5])
async def engines_beside_dma(frame, busy, pause):
    """Stores, additions in both formats, also onto the same row at once, and reads, while engines use any partitions."""
    rng = pauses.rng("traffic")
    modes = [f"{mode.name} onto a word on its way" for mode in WriteMode if CONFIG.adds]
    table = Table(frame, pause)
    coverage = frame.coverage([*modes, "waits", "read beside write"])
    await table.fill()
    for group in GROUPS:
        for _ in range(8):
            table.beats[group].append(Beat(rng.randrange(ADDRESSES), rng.getrandbits(8 * CONFIG.dma_bytes), FULL))
            table.reads[group].append(rng.randrange(ADDRESSES))
        for mode in [*WriteMode] * 8:
            beat = random_beat(CONFIG, rng, mode=WriteMode.ADD_FP32)
            table.beats[group] += [beat, random_beat(CONFIG, rng, beat.address, mode)]
        for _ in range(CASES // 2):
            beat = random_beat(CONFIG, rng)
            table.beats[group] += [
                beat,
                *(random_beat(CONFIG, rng, beat.address) for _ in range(rng.choice((0, 1, 2)))),
            ]
            table.reads[group] += [rng.choice((beat.address, rng.randrange(ADDRESSES))) for _ in "ab"]
    await table.play(random_cycle(CONFIG, rng, number, busy) for number in range(CASES))
    await table.read_all()
    for name in coverage.counts:
        if name in table.seen:
            coverage.hit(name)


@BENCH.test("sbuf.add", skip=not CONFIG.adds)
async def two_sums_wait(frame):
    """A sum waits for an engine that uses its partition, the next one, of another partition, behind it, for one or two cycles."""
    rng = pauses.rng("traffic")
    table = Table(frame)
    await table.fill()
    used = Cycle(reads={0: Place(0, 1, 0)})
    for cycles, mode in product((2, 3), [WriteMode.ADD_BF16, WriteMode.ADD_FP32] * (CASES // 8)):
        for partition in (0, rng.randrange(1, CONFIG.group)):
            address = partition << CONFIG.row_bits | rng.randrange(1 << CONFIG.row_bits)
            table.beats[0].append(random_beat(CONFIG, rng, address, mode))
        await table.play([Cycle(), *[used] * cycles])
    await table.read_all()


@BENCH.test("sbuf.no_mode", "A refused beat fetches and writes nothing", skip=not (CONFIG.checks and CONFIG.adds))
async def beats_of_no_mode(frame):
    """Beats of the mode that there is not among stores and sums onto the same rows."""
    rng = pauses.rng("traffic")
    table = Table(frame, 0.2)
    await table.fill()
    for group, _ in product(GROUPS, range(CASES // 2)):
        beat = random_beat(CONFIG, rng)
        wrong = replace(random_beat(CONFIG, rng, beat.address), mode=NO_MODE)
        table.beats[group] += rng.sample([beat, wrong, random_beat(CONFIG, rng, beat.address)], 3)
        table.reads[group].append(beat.address)
    await table.play(
        replace(random_cycle(CONFIG, rng, number, 0.2), clear=rng.random() < 0.2) for number in range(2 * CASES)
    )
    await table.read_all()


@BENCH.test("sbuf.start_rules", "A refused access finds zeros and writes nothing", skip=not CONFIG.checks)
async def start_rules(frame):
    """Every start with every partition count, none and too many, read and written by each engine."""
    rng = pauses.rng("places")
    table = Table(frame)
    coverage = frame.coverage(["NONE", "PARTITIONS", "START"])
    await table.fill()
    most = (1 << CONFIG.partitions.bit_length()) - 1
    counts = range(most + 1) if CONFIG.partitions <= 16 else sorted(rng.sample(range(most + 1), 12))
    for start, count in product(range(CONFIG.partitions), counts):
        place = Place(start, count, rng.randrange(WORDS))
        error = place.fault(CONFIG)
        for reader in READERS:
            await table.play([Cycle(writes={reader % CONFIG.engines: random_write(CONFIG, place, rng)})])
            assert table.fault is error
            await table.play([Cycle(reads={reader: place}, clear=True)])
            assert table.fault is error
            await table.play([Cycle(clear=True)])
        coverage.hit(error.name)
    await table.read_all()


@BENCH.test("sbuf.errors", "The first code stays until it is cleared", skip=not CONFIG.checks)
async def errors_at_once(frame):
    """Several ports refused in a cycle and one after the other, clears in any cycle."""
    rng = pauses.rng("places")
    places = [Place(0, 0, 0), Place(1, 1, 0), Place(0, CONFIG.partitions, 0), Place(0, 1, 1)]
    table = Table(frame)
    await table.fill()
    cycles = []
    for _ in range(2 * CASES):
        cycle = Cycle(clear=rng.random() < 0.3)
        for port in READERS:
            if rng.random() < 0.4:
                cycle.reads[port] = rng.choice(places)
            if port in WRITERS and rng.random() < 0.4:
                place = rng.choice(places)
                cycle.writes[port] = random_write(CONFIG, Place(place.start, place.partitions, port), rng)
        cycles.append(cycle)
    for group in GROUPS:
        table.reads[group] += [rng.randrange(ADDRESSES) for _ in range(CASES)]
    await table.play(cycles)
    await table.read_all()


@BENCH.test("sbuf.waits", "An engine keeps DMA out of its own partitions alone")
async def waits_of_every_partition(frame):
    """DMA reads, stores and additions in every partition while an engine reads or writes each quadrant; the counter in
    every cycle, to its largest value, and cleared."""
    rng = pauses.rng("places")
    quadrant = CONFIG.partitions // 4
    table = Table(frame)
    coverage = frame.coverage(cross(range(4), ("read", "write"), ("STORE", "ADD_FP32", "dma read")))
    await table.fill()
    for q, kind, access in product(range(4), ("read", "write"), ("STORE", "ADD_FP32", "dma read")):
        place = Place(q * quadrant, quadrant, 0)
        empty = Write(place, (0,) * CONFIG.partitions, (0,) * CONFIG.partitions)
        stays = [Cycle(reads={0: place}) if kind == "read" else Cycle(writes={0: empty}) for _ in range(5)]
        for partition in range(CONFIG.partitions):
            group, inside = divmod(partition, CONFIG.group)
            address = inside << CONFIG.row_bits | rng.randrange(1 << CONFIG.row_bits)
            if access == "dma read":
                table.reads[group].append(address)
            else:
                data = rng.getrandbits(8 * CONFIG.dma_bytes)
                table.beats[group].append(Beat(address, data, FULL, WriteMode[access]))
            await table.play(stays)
            assert table.waits[group] == (5 if partition // quadrant == q else 0)
            await table.play([Cycle(clear=True)])
        coverage.hit(q, kind, access)
    await table.read_all()


@BENCH.test("sbuf.reset", "The memory keeps its bytes; nothing else may remain")
async def resets(frame):
    """Resets with additions on their way, answers waiting, errors and waits counted."""
    rng = pauses.rng("traffic")
    for turn in range(12):
        table = Table(frame, pause=0.5)
        await table.fill()
        for group in GROUPS:
            table.beats[group] += [random_beat(CONFIG, rng, address=turn % 2) for _ in range(9)]
            table.reads[group] += [rng.randrange(ADDRESSES) for _ in range(9)]
        for number in range(2 + turn):
            cycle = random_cycle(CONFIG, rng, number, 0.5)
            cycle.reads[0] = Place(0, turn % 2, 0)
            await table.step(cycle)
        await frame.reset()
        for board in (*table.boards, *table.answers):
            frame.scoreboards.remove(board)
        await FallingEdge(frame.dut.clk)
        assert not table.get("fault")
        assert not table.get("waits")
        for name in (*(f"data__{e}" for e in READERS), *(f"dma_data__{g}" for g in GROUPS)):
            assert not table.get(f"{name}__valid")
        await RisingEdge(frame.dut.clk)
    table = Table(frame)
    await table.fill()
    await table.read_all()
