"""Bench of PSUM: lanes that write and accumulate every cycle while the host reads and writes beside them.

A program gives every cycle's writes, and golden plays it before anything is driven: each place has a history of what it
holds after which cycle, and a host access sees what its cycle says.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from random import Random

from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.golden.scalar.codec import decode
from bitpath.golden.trainium3.declarations.quad_mx import AccumulateFlag
from bitpath.rtl.common.fp32.fp32_arithmetic import DROPPED_BITS
from bitpath.rtl.trainium3.array.psum import Psum, PsumConfig, write_layout
from bitpath.rtl.trainium3.faults import Fault
from bitpath.verif.common.fp32 import numbers as fp32
from bitpath.verif.common.fp32.numbers import near_sums
from bitpath.verif.kit.unit_bench import Bench, UnitBench, cases, covers, cross, pack, pauses, resolved, width
from bitpath.verif.trainium3.array.psum_writes import FLAGS, FORMAT_OF_PARITY, History, Place, Program, Write

BENCH = UnitBench(Psum, PsumConfig, ms=2)
CONFIG = BENCH.config
WRITE = write_layout(CONFIG)
HOST_ONLY = CONFIG.bank_depth // 2
"""Only the host writes places from this index on, so that its writes and the lanes' do not race."""
CASES = cases(500)
WRITE_CYCLES = 3
"""Cycles after which a lane's last write is stored and its random bits are taken."""

Pair = tuple[int, int]


def places() -> list[Place]:
    return list(product(range(CONFIG.banks), range(CONFIG.bank_depth)))


def content(rng: Random, index: int) -> tuple[int, ...]:
    """Random codes for a place."""
    unused = FP32.width - FORMAT_OF_PARITY[index % 2].width
    return tuple(fp32.mixed(rng) >> unused << unused for _ in range(CONFIG.cols))


def random_program(rng: Random, cycles: int, busy: float) -> Program:
    """Lanes on banks of their own, often on the place of the cycle before, with this probability to write at all; first every
    number of lanes at once."""
    program, last = [], {}
    for cycle in range(cycles):
        banks = rng.sample(range(CONFIG.banks), min(CONFIG.lanes, CONFIG.banks))
        writes = {}
        for lane, bank in enumerate(banks):
            if lane < cycle if cycle <= len(banks) else rng.random() < busy:
                again = bank in last and rng.random() < 0.6
                index = last[bank] if again else rng.randrange(HOST_ONLY)
                writes[lane] = random_write(rng, bank, index)
                last[bank] = index
        program.append(writes)
    return program


def random_write(rng: Random, bank: int, index: int) -> Write:
    values = tuple(fp32.mixed(rng) for _ in range(CONFIG.cols))
    random = tuple(rng.choice((0, 0xFFFF, rng.getrandbits(DROPPED_BITS))) for _ in range(CONFIG.cols))
    stochastic = FORMAT_OF_PARITY[index % 2] is BF16 and bool(rng.getrandbits(1))
    return Write(bank, index, values, rng.choice(list(FLAGS)), stochastic, random)


def refused_modes() -> list[tuple[AccumulateFlag, bool, int]]:
    """Return flag, stochastic and parity of the index of every result that PSUM refuses."""
    every = product(map(AccumulateFlag, range(8)), (False, True), range(2))
    return [each for each in every if Write(0, each[2], (), each[0], each[1], ()).fault is not Fault.NONE]


def refused_program(rng: Random) -> Program:
    """Every refused mode in every lane twice, in any order; each lane has legal results between them."""
    program: Program = []
    kinds = [rng.sample(refused_modes() * 2, 2 * len(refused_modes())) for _ in range(CONFIG.lanes)]
    while any(kinds):
        writes = {}
        for lane, bank in enumerate(rng.sample(range(CONFIG.banks), min(CONFIG.lanes, CONFIG.banks))):
            write = random_write(rng, bank, rng.randrange(HOST_ONLY))
            if kinds[lane] and rng.getrandbits(1):
                flag, stochastic, parity = kinds[lane].pop()
                write = replace(write, index=write.index & ~1 | parity, flag=flag, stochastic=stochastic)
            writes[lane] = write
        program.append(writes)
    return program


class Table:
    """The bench around one PSUM: host stream, lanes and random streams.

    Parameters
    ----------
    frame : of the test.
    gap, stall : how often the host's streams pause.
    feeds : whether random bits come from here, or from generators beside PSUM.
    clears : how often the fault is cleared.

    Attributes
    ----------
    cycle : counts while a program plays; writes and host accesses are dated by it.
    fault : the first since the last clear.
    """

    def __init__(self, frame: Bench, *, gap: float = 0.0, stall: float = 0.0, feeds: bool = True, clears: float = 0.0):
        self.dut = frame.dut
        self._lanes = range(CONFIG.lanes if feeds else 0)
        self.cycle, self.fault = -1, Fault.NONE
        self._clears = pauses.scattered(clears, pauses.rng("clears"))
        self._history = History()
        self._host = frame.driver("host", pauses.scattered(gap, pauses.rng("host")))
        self._board = frame.check_stream("data", {"": FP32}, stalls=pauses.scattered(stall, pauses.rng("data")))
        self._answer = frame.payload_shape("data")
        self._coverage = frame.coverage([])
        self._accesses: list[tuple[Place, tuple[int, ...] | None]] = []
        self._served = 0
        self._junk = pauses.rng("random junk")
        self._last: set[Place] = set()

    def cover(self, bins: list[str]) -> None:
        """Declare the bins that the programs must hit."""
        self._coverage.counts.update(dict.fromkeys(bins, 0))

    def read(self, place: Place) -> None:
        self._access(place, None)

    def write(self, place: Place, values: tuple[int, ...]) -> None:
        self._access(place, values)

    def _access(self, place: Place, values: tuple[int, ...] | None) -> None:
        self._accesses.append((place, values))
        address = {"index": place[1], "bank": place[0]}
        self._host.send({"values": list(values or ()), "address": address, "write": values is not None})

    async def fill(self) -> None:
        """Give every place random content, through the host."""
        rng = pauses.rng("content")
        for place in places():
            self.write(place, content(rng, place[1]))
        await self.play([])

    async def play(self, program: Program) -> None:
        """Run the lanes' program beside the host, until the host has been served and all writes are in place."""
        dut, bits, first = self.dut, width(WRITE), self.cycle + 1
        self._history.play(program, first)
        queues = [
            deque(w.random for writes in program if (w := writes.get(lane)) and w.takes_random) for lane in self._lanes
        ]
        # Begins and ends just behind a rising edge, so that between two programs no cycle goes unseen.
        while self.cycle < first + len(program) + WRITE_CYCLES or self._served < len(self._accesses):
            self.cycle += 1
            step = self.cycle - first
            writes = program[step] if step < len(program) else {}
            self._cover(writes)
            clear = next(self._clears)
            dut.clear.value = clear
            dut.write.value = sum(pack(WRITE, write.fields()) << lane * bits for lane, write in writes.items())
            for lane, queue in enumerate(queues):
                words = queue[0] if queue else [self._junk.getrandbits(DROPPED_BITS) for _ in range(CONFIG.cols)]
                self._random(lane, "payload").value = sum(word << DROPPED_BITS * c for c, word in enumerate(words))
            await FallingEdge(dut.clk)
            assert resolved(dut.fault) == self.fault.value
            self._refuse(writes, clear=clear)
            self._serve(busy=any(each.fault is Fault.NONE for each in writes.values()))
            for lane, queue in enumerate(queues):
                if resolved(self._random(lane, "ready")):
                    assert queue, f"lane {lane} took random bits that no stochastic write asked for"
                    queue.popleft()
            await RisingEdge(dut.clk)
        left = [len(queue) for queue in queues]
        assert not any(left), f"stochastic writes that took no random bits, by lane: {left}"

    def _random(self, lane: int, name: str):
        return getattr(self.dut, f"random__{lane}__{name}")

    def _serve(self, *, busy: bool) -> None:
        """Date a host access by the cycle in which it goes over."""
        if not (resolved(self.dut.host__valid) and resolved(self.dut.host__ready)):
            return
        place, values = self._accesses[self._served]
        self._served += 1
        self.hit(f"host {'reads' if values is None else 'writes'} beside lanes", busy)
        if values is None:
            expected = pack(self._answer, list(self._history.before(place, self.cycle)))
            self._board.expect(expected, partial(self._history.shown, place, self.cycle))
        else:
            self._history.set(place, self.cycle, values)

    def _refuse(self, writes: dict[int, Write], *, clear: bool) -> None:
        """Work out the fault of the next cycle."""
        self.fault = Fault.NONE if clear else self.fault
        faults = [writes[lane].fault for lane in sorted(writes)]
        if self.fault is Fault.NONE:
            self.fault = next((each for each in faults if each is not Fault.NONE), Fault.NONE)

    def _cover(self, writes: dict[int, Write]) -> None:
        used = {(write.bank, write.index) for write in writes.values()}
        self.hit(f"lanes at once/{len(writes)}")
        for lane, write in writes.items():
            if write.fault is not Fault.NONE:
                self.hit(f"refused/{lane}/{write.fault.name}/{int(write.flag)}")
                continue
            self.hit(f"mode/{int(write.flag)}/{write.mode}")
            self.hit(f"same place again/{write.mode}", (write.bank, write.index) in self._last)
        self._last = used

    def hit(self, name: str, condition: bool = True) -> None:
        if condition and name in self._coverage.counts:
            self._coverage.hit(name)


MODES = ("fp32", "bf16_rne", "bf16_sr")
PACES = {"full_speed": (0.0, 0.0), "gaps": (0.6, 0.0), "stalls": (0.0, 0.6), "both": (0.5, 0.5)}


@BENCH.test("psum.host", "The host reads the results", pace=list(PACES))
async def host_alone(frame, pace):
    """Host reads and writes at every place, with gaps and stalls, alone and during lane writes; a read sees every
    earlier write."""
    gap, stall = PACES[pace]
    rng = pauses.rng("accesses")
    table = Table(frame, gap=gap, stall=stall)
    await table.fill()
    for place in rng.choices(places(), k=CASES):
        if rng.getrandbits(1):
            table.write(place, tuple(rng.getrandbits(FP32.width) for _ in range(CONFIG.cols)))
        table.read(place)
    await table.play([])


@covers(
    "psum.flags",
    "Flag 3 asks for both; overwrite must win",
    "Overwrite and accumulate by all six legal values of psum_accumulate_flag, in each format and rounding",
)
@covers(
    "psum.formats",
    "tt-metal#46101: two roundings are not one",
    "FP32, and BF16 by RNE and stochastically: FP32 sum first, a second rounding just before the write",
)
@covers(
    "psum.random",
    "TransformerEngine#3281: stochastic rounding must be replayable",
    "Each stochastic write takes one word of its lane's random bits, in order; no other write takes any",
)
@covers(
    "psum.hazard", "The next write reads the sum of the present one", "Writes to the same word in consecutive cycles"
)
@covers("psum.lanes", "Row tiles write at the same time", "No lane to all lanes at once, each in its own bank")
@BENCH.test("psum.host", pace=list(PACES), busy=[0.5, 0.9])
async def lanes_beside_the_host(frame, pace, busy):
    gap, stall = PACES[pace]
    rng = pauses.rng("accesses")
    program = random_program(pauses.rng("program"), CASES, busy)
    table = Table(frame, gap=gap, stall=stall)
    table.cover([f"mode/{name}" for name in cross(map(int, FLAGS), MODES)])
    table.cover([f"same place again/{mode}" for mode in MODES])
    table.cover([f"lanes at once/{count}" for count in range(min(CONFIG.lanes, CONFIG.banks) + 1)])
    table.cover(["host reads beside lanes", "host writes beside lanes"])
    await table.fill()
    for place in rng.choices(places(), k=CASES // 2):
        if place[1] >= HOST_ONLY and rng.getrandbits(1):
            table.write(place, content(rng, place[1]))
        else:
            table.read(place)
    await table.play(program)
    for place in places():
        table.read(place)
    await table.play([])


@BENCH.test(
    "psum.refused",
    "Golden refuses them; one that accumulates would give another result without a word",
    "Flags 5 and 7, and stochastic rounding to FP32, in every lane, each between legal results: the first fault "
    "shows until it is cleared, no word changes and no random bits are taken",
    skip=not CONFIG.checks,
    clears=[0.0, 0.2],
)
async def refused_results(frame, clears):
    """Every refused mode in every lane, between legal results: the first fault stays until it is cleared; no word changes, no
    random bits are taken."""
    program = refused_program(pauses.rng("program"))
    table = Table(frame, clears=clears)
    kinds = {
        f"{Write(0, parity, (), flag, stochastic, ()).fault.name}/{int(flag)}"
        for flag, stochastic, parity in refused_modes()
    }
    table.cover([f"refused/{name}" for name in cross(range(min(CONFIG.lanes, CONFIG.banks)), kinds)])
    await table.fill()
    await table.play(program)
    for place in places():
        table.read(place)
    await table.play([])


@covers("psum.formats")
@covers("psum.hazard")
@BENCH.test("psum.edges", "Each bank has its own FP32 adder and BF16 rounder", mode=list(MODES))
async def edges_onto_edges(frame, mode):
    """Zeros, subnormals, BF16 ties, largest, infinities and NaNs of both signs, each added to each and overwriting
    each; every NaN has one code."""
    rng = pauses.rng("pairs")
    pairs = list(product(fp32.EDGES, repeat=2))
    rng.shuffle(pairs)
    own = [place for place in places() if (place[1] % 2 == 1) == (mode != "fp32")]
    table = Table(frame)
    await table.fill()
    await add_pairs(table, rng, pairs[: 4 * CASES], own, stochastic=mode == "bf16_sr")


@BENCH.test(
    "psum.boundaries",
    "A sticky bit lost at one end of the range shows only where a far term breaks a tie there",
    mode=list(MODES),
)
async def boundaries_of_sums(frame, mode):
    """Sums at the ends of FP32's and BF16's range and at ties, and one bit beside them at every distance, by RNE and
    stochastically."""
    rng = pauses.rng("pairs")
    found = list(near_sums(FP32 if mode == "fp32" else BF16, rng))
    own = [place for place in places() if (place[1] % 2 == 1) == (mode != "fp32")]
    table = Table(frame)
    table.cover([each.bin for each, _, _ in found])
    for each, x, y in found:
        table.hit(each.bin, abs(decode(FP32, x).value + decode(FP32, y).value) == each.value)
    await table.fill()
    await add_pairs(table, rng, [pair for _, *pair in found], own, stochastic=mode == "bf16_sr")


async def add_pairs(
    table: Table, rng: Random, pairs: Iterable[Pair], own: Sequence[Place], *, stochastic: bool
) -> None:
    """Overwrite with the first of each pair and add the second, in as many words at once as there are."""
    pairs = list(pairs)
    accumulating = [flag for flag, accumulates in FLAGS.items() if accumulates]
    overwriting = [flag for flag, accumulates in FLAGS.items() if not accumulates]
    while pairs:
        program, written = [], []
        for bank, index in own:
            batch, pairs = pairs[: CONFIG.cols], pairs[CONFIG.cols :]
            if not batch:
                break
            batch += [(0, 0)] * (CONFIG.cols - len(batch))
            for values, flags in zip(zip(*batch, strict=True), (overwriting, accumulating), strict=True):
                random = tuple(rng.getrandbits(DROPPED_BITS) for _ in values)
                write = Write(bank, index, values, rng.choice(flags), stochastic, random)
                program.append({rng.randrange(CONFIG.lanes): write})
            written.append((bank, index))
        await table.play(program)
        for place in written:
            table.read(place)
        await table.play([])
