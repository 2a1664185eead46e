"""The bench of PSUM at addresses: drivers of lanes and engines, and the handshakes of each cycle worked out beside golden.

Imported in a simulation alone, whose configuration it reads.
"""

from collections import deque
from itertools import product

from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.rtl.common.fp32.fp32_arithmetic import DROPPED_BITS
from bitpath.rtl.trainium3.array.psum_memory import LANES, PsumMemory, PsumMemoryConfig
from bitpath.rtl.trainium3.faults import Fault
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import config_from_environment
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.pipeline import PACES
from bitpath.verif.kit.streams import resolved
from bitpath.verif.trainium3.array.psum_memory import Access, Model, random_values

CONFIG = config_from_environment(PsumMemoryConfig)
SIGNATURE = PsumMemory(CONFIG).signature
DEPTH = CONFIG.psum.bank_depth
START = 2
"""Cycles from a command to its first address, or to its refusal."""
WHOLE = (1 << CONFIG.cols) - 1
MOST_WAITS = (1 << CONFIG.wait_bits) - 1


class Lane:
    """What a lane has been sent, and what it has taken: commands, and the results of the pattern at the head."""

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
                # Beside the carry into BF16, so that each random bit decides.
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
