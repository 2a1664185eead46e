"""Bench of PSUM at addresses: two lanes and the engines side by side, and every handshake in its cycle.

Golden's `Psum` plays each access in the cycle in which it goes over.
"""

from collections import deque
from itertools import product

from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.rtl.common.fp32.fp32_arithmetic import DROPPED_BITS
from bitpath.rtl.trainium3.array.psum_memory import PsumMemory, PsumMemoryConfig
from bitpath.rtl.trainium3.faults import Fault
from bitpath.verif.kit.unit_bench import PACES, UnitBench, cases, covers, cross, pack, pauses, resolved
from bitpath.verif.trainium3.array.psum_memory import (
    EVERY_MODE,
    GROUPS,
    MODES,
    Access,
    Model,
    Tile,
    random_access,
    random_tile,
    random_values,
)

# The bench of PSUM at addresses: drivers of lanes and engines, and the handshakes of each cycle worked out beside golden.
#
# Imported in a simulation alone, whose configuration it reads.


BENCH = UnitBench(PsumMemory, PsumMemoryConfig)
CONFIG = BENCH.config
LANES = CONFIG.lanes
SIGNATURE = BENCH.signature
DEPTH = CONFIG.psum.bank_depth
START = 2
"""Cycles from a command to its first address, or to its refusal."""
WHOLE = (1 << CONFIG.cols) - 1
MOST_WAITS = (1 << CONFIG.wait_bits) - 1


class Lane:
    """Commands that a lane was sent, commands that it took, and the results of the pattern at the head."""

    def __init__(self, frame, number, gaps):
        self.commands = frame.driver(f"command__{number}", gaps())
        self.results = frame.driver(f"i__{number}", gaps())
        self.random = getattr(frame.dut, f"random__{number}__payload")
        self.takes_random = getattr(frame.dut, f"random__{number}__ready")
        self.tiles, self.waiting, self.refusals = deque(), deque(), deque()
        self.tile_of_command = deque()
        self.ended = -1

    @property
    def idle(self):
        return not (self.tile_of_command or self.waiting or self.refusals)

    def send(self, tile, rng):
        self.commands.send_bits(tile.command(CONFIG))
        self.tile_of_command.append(tile)
        results = deque()
        if tile.fault(CONFIG) is Fault.NONE:
            for element in tile.elements():
                values = random_values(CONFIG, rng)
                # Values beside the carry into BF16, so that each random bit decides.
                random = tuple(
                    rng.choice((0, 0xFFFF, rng.getrandbits(DROPPED_BITS), -value & 0xFFFF, ~value & 0xFFFF))
                    for value in values
                )
                results.append((element, values, random))
                self.results.send(list(values))
        self.tiles.append(results)

    def command_taken(self, cycle):
        tile, results = self.tile_of_command.popleft(), self.tiles.popleft()
        if results:
            self.waiting.append((tile, results, cycle))
        else:
            self.refusals.append((cycle + START, tile.fault(CONFIG)))

    def ready_tile(self, cycle):
        """The tile whose address is there in this cycle."""
        there = self.waiting and cycle >= self.waiting[0][2] + START and cycle > self.ended
        return self.waiting[0][0] if there else None

    def refused(self, cycle):
        return self.refusals.popleft()[1] if self.refusals and self.refusals[0][0] == cycle else None


class Table:
    """The unit between two lanes and the engines; each cycle's handshakes are worked out and compared."""

    def __init__(self, frame, pace="full_speed", clears=0.0):
        gaps, stalls = PACES[pace]
        self.clears = pauses.scattered(clears, pauses.rng("clears"))
        self.frame, self.dut = frame, frame.dut
        self.model = Model(CONFIG)
        self.rng = pauses.rng("results")
        self.lanes = [Lane(frame, number, gaps) for number in range(len(LANES))]
        self.engines = [frame.driver(f"access__{number}", gaps()) for number in range(CONFIG.engines)]
        names = [f"data__{number}" for number in range(CONFIG.engines)]
        self.boards = [frame.scoreboard(name, frame.payload_shape(name)) for name in names]
        self.monitors = [
            frame.monitor(name, board.got, stalls()) for name, board in zip(names, self.boards, strict=True)
        ]
        self.accesses = [deque() for _ in self.engines]
        self.cycle = -1
        self.fault, self.waits = Fault.NONE, [0] * (1 + CONFIG.engines)
        self.seen = set()

    def send(self, lane, tile):
        self.lanes[lane].send(tile, self.rng)

    def access(self, engine, access):
        self.engines[engine].send_bits(access.payload(CONFIG))
        self.accesses[engine].append(access)

    async def fill(self):
        rng = pauses.rng("content")
        for number, place in enumerate(product(range(CONFIG.banks), range(DEPTH))):
            values = random_values(CONFIG, rng)
            self.access(number % CONFIG.engines, Access(*place, True, values, 0b1111, WHOLE))
        await self.play()

    async def read_all(self):
        for number, place in enumerate(product(range(CONFIG.banks), range(DEPTH))):
            self.access(number % CONFIG.engines, Access(*place))
        await self.play()

    async def play(self):
        """Run until everything sent has been served; begins and ends just behind a rising edge."""
        while not all(lane.idle for lane in self.lanes) or any(self.accesses):
            await self._cycle()
        for _ in range(2):
            await self._cycle()

    async def clear(self):
        await self._cycle(clear=True)

    async def _cycle(self, *, clear=False):
        dut = self.dut
        self.cycle += 1
        clear |= next(self.clears)
        dut.clear.value = clear
        for lane in self.lanes:
            tile = lane.ready_tile(self.cycle)
            words = lane.waiting[0][1][0][2] if tile else [self.rng.getrandbits(DROPPED_BITS)] * CONFIG.cols
            lane.random.value = sum(word << DROPPED_BITS * c for c, word in enumerate(words))
        await FallingEdge(dut.clk)
        assert resolved(dut.fault) == self.fault.value
        assert resolved(dut.waits) == pack(SIGNATURE.members["waits"].shape, [min(w, MOST_WAITS) for w in self.waits])
        self.fault = Fault.NONE if clear else self.fault
        self._refusals()
        used = {}
        for number in range(len(LANES)):
            self._lane(number, used)
        for number in range(CONFIG.engines):
            self._engine(number, used)
        for number, lane in enumerate(self.lanes):
            if self._taken(f"command__{number}"):
                lane.command_taken(self.cycle)
        self.waits = [0] * len(self.waits) if clear else self.waits
        await RisingEdge(dut.clk)
        dut.clear.value = 0

    def _taken(self, name):
        return resolved(getattr(self.dut, f"{name}__valid")) and resolved(getattr(self.dut, f"{name}__ready"))

    def _refusals(self):
        refusals = [lane.refused(self.cycle) for lane in self.lanes]
        assert resolved(self.dut.refused) == sum(bool(each) << n for n, each in enumerate(refusals))
        for each in refusals:
            if each and self.fault is Fault.NONE:
                self.fault = each

    def _lane(self, number, used):
        lane = self.lanes[number]
        tile = lane.ready_tile(self.cycle)
        asks = bool(resolved(getattr(self.dut, f"i__{number}__valid")) and tile)
        expected = asks and tile.bank not in used
        assert bool(self._taken(f"i__{number}")) == expected
        assert bool(resolved(lane.takes_random)) == (expected and tile.stochastic)
        if not asks:
            return
        if not expected:
            self.waits[0] += 1
            self.seen.add("background waits")
            return
        if used:
            self.seen.add("two banks")
        used[tile.bank] = number
        _, results, _ = lane.waiting[0]
        element, values, random = results.popleft()
        self.model.result(tile, element, values, random)
        if not results:
            lane.waiting.popleft()
            lane.ended = self.cycle

    def _engine(self, number, used):
        name = f"access__{number}"
        blocked = resolved(getattr(self.dut, f"data__{number}__valid")) and not resolved(
            getattr(self.dut, f"data__{number}__ready")
        )
        asks = resolved(getattr(self.dut, f"{name}__valid")) and not blocked
        access = self.accesses[number][0] if self.accesses[number] else None
        expected = bool(asks) and access.bank not in used
        assert bool(self._taken(name)) == expected
        if not asks:
            return
        if not expected:
            self.waits[1 + number] += 1
            self.seen.add(f"engine {number} waits for {'a lane' if used[access.bank] < 2 else 'an engine'}")
            return
        used[access.bank] = 2 + number
        self.accesses[number].popleft()
        found = self.model.access(access)
        if not access.write:
            self.boards[number].expect(pack(self.frame.payload_shape(f"data__{number}"), found), str(access))


CASES = cases(60)
REGIONS = (range(DEPTH // 2), range(DEPTH // 2, 3 * DEPTH // 4))
"""Words of each lane, while engines use the others: nothing may use the words of an open accumulation group."""
ENGINE_WORDS = range(3 * DEPTH // 4, DEPTH)


def cover(frame, seen, names):
    coverage = frame.coverage(names)
    for name in names:
        if name in seen:
            coverage.hit(name)


@BENCH.test(
    "psum_memory.engines", "Engines use PSUM as plain memory, side by side unless in one bank", pace=list(PACES)
)
async def engines_alone(frame, pace):
    """Reads and writes of any bytes of any partitions by every engine, with gaps and stalls; engine 1 waits where
    engine 0 uses its bank."""
    rng = pauses.rng("accesses")
    table = Table(frame, pace)
    await table.fill()
    for _ in range(2 * CASES):
        for engine in range(CONFIG.engines):
            table.access(engine, random_access(CONFIG, rng, range(DEPTH)))
    await table.play()
    cover(frame, table.seen, [f"engine {number} waits for an engine" for number in range(1, CONFIG.engines)])


@covers(
    "psum_memory.groups",
    "A result must go over in the cycle in which its bank is free, and no later access may see less than all "
    "earlier ones",
    "Accumulation groups of every legal flag in FP32, BF16 rounded to nearest and stochastically, and transposed "
    "words of 2 and 4 bytes; both lanes and the engines in the same banks and in others; each handshake in its "
    "cycle",
)
@BENCH.test(
    "psum_memory.waits",
    "They are what the core reports of conflicts",
    "Counters of the background lane's and of each engine's waits in every cycle, to their largest value, and cleared",
    pace=list(PACES),
)
async def lanes_beside_engines(frame, pace):
    """Whole accumulation groups of every kind in both lanes, in one bank and in two, and engines in the same banks."""
    rng = pauses.rng("tiles")
    coverage = frame.coverage([*cross(LANES, MODES), *cross(LANES, ("".join(map(str, each)) for each in GROUPS))])
    table = Table(frame, pace)
    await table.fill()
    kinds = list(product(MODES, GROUPS))
    for turn in range(max(len(kinds), CASES)):
        for lane, name in enumerate(LANES):
            mode, flags = rng.choice(kinds) if turn >= len(kinds) else kinds[-1 - turn if lane else turn]
            tile = random_tile(CONFIG, rng, REGIONS[lane], mode)
            for flag in flags:
                table.send(lane, Tile(tile.pairs, tile.offset, tile.bank, mode, tile.columns, flag))
            coverage.hit(name, mode)
            coverage.hit(name, "".join(map(str, flags)))
        for engine in range(CONFIG.engines):
            for _ in range(6):
                table.access(engine, random_access(CONFIG, rng, ENGINE_WORDS))
    await table.play()
    await table.read_all()
    names = [
        "two banks",
        "background waits",
        *(f"engine {number} waits for a lane" for number in range(CONFIG.engines)),
    ]
    cover(frame, table.seen, names)


@BENCH.test("psum_memory.order", "A sum in FP32 depends on its order")
async def one_word_after_the_other_lane(frame):
    """Both lanes add onto the same words; the background lane waits exactly as long as the main lane has results."""
    coverage = frame.coverage([mode for mode in MODES if mode.startswith(("fp32", "bf16"))])
    table = Table(frame)
    await table.fill()
    for mode in coverage.counts:
        for flag in (6, 3, 6):
            for lane in [*range(len(LANES))] * 3:
                table.send(lane, Tile([(1, 4)], 0, CONFIG.banks - 1, mode, WHOLE, flag))
            waits = table.waits[0]
            await table.play()
            # The main lane's three commands follow without a gap, so the background lane waits for all their results.
            assert table.waits[0] == waits + 3 * 4
        await table.read_all()
        coverage.hit(mode)


@BENCH.test(
    "psum_memory.refused",
    "A refused command leaves no trace, and the first code stays until it is cleared",
    skip=not CONFIG.checks,
)
async def a_refused_command_leaves_no_trace(frame):
    """Patterns beyond the bank's end and before its start, no element, and every flag, size and rounding that golden
    refuses; in each lane, alone and among good ones, in both lanes at once, with clears in any cycle."""
    rng = pauses.rng("tiles")
    good = Tile([(1, 2)], 0, 0, "fp32", WHOLE)
    bad = {
        "beyond": Tile([(1, 2)], DEPTH - 1, 0, "fp32", WHOLE),
        "beyond by half a word": Tile([(1, 2)], 2 * DEPTH - 1, 0, "bf16_rne", WHOLE),
        "before": Tile([(-1, 2)], 0, CONFIG.banks - 1, "fp32", WHOLE),
        "size 0": Tile([(1, 2)], 0, 0, "fp32", WHOLE, size=0),
        "size 3": Tile([(1, 2)], 0, 0, "bits32", WHOLE, size=3),
        "no element": Tile([(1, 0)], 0, 1, "fp32", WHOLE),
        "flag 5": Tile([(1, 2)], 0, 0, "fp32", WHOLE, 5),
        "flag 7": Tile([(1, 2)], 0, 1, "bf16_sr", WHOLE, 7),
        "stochastic FP32": Tile([(1, 2)], 0, 0, "fp32_sr", WHOLE),
    }
    coverage = frame.coverage(cross(bad, LANES, ("alone", "among")))
    table = Table(frame)
    await table.fill()
    for (name, tile), (lane, lane_name) in product(bad.items(), enumerate(LANES)):
        assert tile.fault(CONFIG) is not Fault.NONE
        table.send(lane, tile)
        await table.play()
        assert table.fault is tile.fault(CONFIG)
        coverage.hit(name, lane_name, "alone")
        await table.clear()
        other = rng.choice([each for each in bad.values() if each.fault(CONFIG) is not tile.fault(CONFIG)])
        for each in (good, tile, random_tile(CONFIG, rng, REGIONS[lane], "bf16_rne"), other):
            table.send(lane, each)
        table.send(1 - lane, random_tile(CONFIG, rng, REGIONS[1 - lane], "fp32"))
        await table.play()
        assert table.fault is tile.fault(CONFIG)
        coverage.hit(name, lane_name, "among")
        await table.clear()
    for tiles in ((bad["before"], bad["size 0"]), (bad["size 0"], bad["before"])):
        # Both in one cycle: the main lane's code stays.
        for lane, tile in enumerate(tiles):
            table.send(lane, tile)
        await table.play()
        assert table.fault is tiles[0].fault(CONFIG)
        await table.clear()
    await table.read_all()


@BENCH.test("psum_memory.refused", skip=not CONFIG.checks)
async def every_mode(frame):
    """Every flag, size and rounding, with ``store`` and without, in each lane, between legal commands: those that are not legal are
    refused with their code, and nothing is written."""
    rng = pauses.rng("tiles")
    coverage = frame.coverage(cross(LANES, ("OPERATION", "DTYPE")))
    table = Table(frame)
    await table.fill()
    refused = 0
    for (lane, name), flag, mode, size in product(enumerate(LANES), range(8), EVERY_MODE, (None, 0, 3)):
        tile = Tile([(1, 2)], rng.randrange(4), rng.randrange(CONFIG.banks), mode, WHOLE, flag, size)
        if tile.fault(CONFIG) is Fault.NONE:
            continue
        for each in (tile, random_tile(CONFIG, rng, REGIONS[lane], rng.choice(list(MODES)))):
            table.send(lane, each)
        await table.play()
        assert table.fault is tile.fault(CONFIG)
        coverage.hit(name, tile.fault(CONFIG).name)
        refused += 1
        await table.clear()
    assert refused == len(LANES) * (2 * 4 * 3 + 6 * (2 * 4 + 1) + 8 * 2 * 2), refused
    await table.read_all()


@BENCH.test("psum_memory.reach", "A sum that wraps around would come back into the bank", skip=not CONFIG.checks)
async def far_outside(frame):
    """The largest reaches of every set of levels to both sides, in each lane."""
    rng = pauses.rng("tiles")
    most, span = (1 << CONFIG.num_bits) - 1, 1 << CONFIG.step_bits - 1
    table = Table(frame)
    await table.fill()
    for levels, step, lane in product(range(1, 16), (-span, span - 1), range(len(LANES))):
        pairs = [(step, most) if levels >> level & 1 else (rng.choice((step, -1 - step)), 1) for level in range(4)]
        mode = rng.choice(list(MODES))
        tile = Tile(pairs, rng.randrange(CONFIG.bank_bytes), rng.randrange(CONFIG.banks), mode, WHOLE)
        assert tile.fault(CONFIG) is Fault.RANGE
        table.send(lane, tile)
        table.send(1 - lane, random_tile(CONFIG, rng, REGIONS[1 - lane], mode))
        await table.play()
        assert table.fault is Fault.RANGE
        await table.clear()
    await table.read_all()


@covers("psum_memory.refused")
@BENCH.test("psum_memory.waits", skip=not CONFIG.checks)
async def cleared_in_any_cycle(frame):
    """An error and a wait of the cycle in which they are cleared: the error stays, the wait does not."""
    rng = pauses.rng("tiles")
    table = Table(frame, clears=0.3)
    await table.fill()
    for _ in range(CASES):
        for lane in range(len(LANES)):
            bad = Tile([(1, 2)], DEPTH - 1, 0, "fp32", WHOLE, size=rng.choice((None, 0)))
            table.send(lane, rng.choice((bad, random_tile(CONFIG, rng, REGIONS[lane], "fp32"))))
        for engine in range(CONFIG.engines):
            table.access(engine, random_access(CONFIG, rng, ENGINE_WORDS))
    await table.play()


@BENCH.test("psum_memory.ends", "A pattern to the bank's end is legal")
async def ends_of_banks(frame):
    """The first and the last word and half word of each bank from either side, the largest step, the largest num of
    each pair."""
    table = Table(frame)
    await table.fill()
    most = (1 << CONFIG.num_bits) - 1
    step = min((1 << CONFIG.step_bits - 1) - 1, DEPTH - 1)
    for bank, (mode, elements) in product(
        range(CONFIG.banks), (("fp32", DEPTH), ("bf16_rne", 2 * DEPTH), ("bits16", 2 * DEPTH))
    ):
        count = min(most, elements)
        for tile in (
            Tile([(1, count)], elements - count, bank, mode, WHOLE),
            Tile([(-1, count)], count - 1, bank, mode, WHOLE),
            Tile([(step, 2)], elements - 1 - step, bank, mode, WHOLE),
            Tile([(-step, 2)], step, bank, mode, WHOLE),
            *(
                Tile([(1, 1)] * level + [(1, count)] + [(1, 1)] * (3 - level), 0, bank, mode, WHOLE)
                for level in range(4)
            ),
        ):
            assert tile.fault(CONFIG) is Fault.NONE
            table.send(bank % 2, tile)
    await table.play()
    await table.read_all()


@BENCH.test("psum_memory.reset", "The memory keeps its words; nothing else may remain")
async def resets(frame):
    """Resets with patterns walking and waiting, a refusal, an answer waiting and waits counted."""
    rng = pauses.rng("tiles")
    table = Table(frame)
    await table.fill()
    for turn in range(12):
        for monitor in table.monitors:
            monitor.hold()
        for lane in range(len(LANES)):
            tile = Tile([(1, 2)], DEPTH - (1 if turn % 3 == lane else 2), 0, "fp32", WHOLE)
            table.lanes[lane].commands.send_bits(tile.command(CONFIG))
        for engine in [*range(CONFIG.engines)] * 2:
            table.engines[engine].send_bits(Access(0, engine).payload(CONFIG))
        for _ in range(1 + turn // 2):
            await RisingEdge(frame.dut.clk)
        for driver in (*(lane.commands for lane in table.lanes), *table.engines):
            driver.drop()
        await frame.reset()
        for monitor in table.monitors:
            monitor.release()
        table.fault, table.waits = Fault.NONE, [0] * len(table.waits)
        for lane in range(len(LANES)):
            table.send(lane, random_tile(CONFIG, rng, REGIONS[lane], "fp32"))
        await table.play()
    await table.read_all()
