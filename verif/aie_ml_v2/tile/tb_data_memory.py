"""Bench of data memory: accesses of the core and from outside beside a shadow of every byte; every handshake in its cycle.

Golden's `conflict_cycles` gives the stalls of the core alone.
"""

from itertools import product

from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.aie_ml_v2 import conflict_cycles
from bitpath.rtl.aie_ml_v2.tile.data_memory import ERROR, DataMemory, DataMemoryConfig
from bitpath.verif.aie_ml_v2.tile.data_memory import (
    STORE,
    Access,
    Bundle,
    Outside,
    Shadow,
    config_bytes,
    random_bundle,
    random_outside,
)
from bitpath.verif.kit.unit_bench import UnitBench, cases, cross, pack, pauses, resolved

BENCH = UnitBench(DataMemory, DataMemoryConfig, ms=20)
CONFIG = BENCH.config
CASES = cases(400)
PORTS = ("load__0", "load__1", "store")
SIZES = range(CONFIG.byte_bits + 2)
LINE = CONFIG.line_bytes
FULL = (1 << LINE) - 1


class Table:
    """Plays bundles and outside requests cycle by cycle; ``pause`` is the share of cycles in which the core waits by itself."""

    def __init__(self, frame, pause=0.0):
        self.dut, self.pause, self.rng = frame.dut, pause, pauses.rng("pauses")
        self.shadow = Shadow(CONFIG)
        self.loads = frame.scoreboard("data", 8 * LINE, output="data__0")
        self.words = frame.scoreboard("answer", 8 * CONFIG.bank_bytes, output="answer__0")
        self.shown, self.answers = {}, {}
        self.offered = {}
        self.seen = set()

    async def play(self, bundles, outside=lambda: None):
        """Play bundles; ``outside`` gives a module's next request or None."""
        for bundle in bundles:
            while not await self.step(bundle, outside):
                pass
        return self

    async def step(self, bundle, outside=lambda: None):
        """Play one cycle of a bundle; return whether the core went on."""
        dut, advance = self.dut, self.rng.random() >= self.pause
        for port, name in enumerate(PORTS):
            access = bundle.accesses.get(port)
            payload = getattr(dut, f"{name}__payload")
            getattr(dut, f"{name}__valid").value = access is not None
            junk = self.rng.getrandbits(len(payload))
            payload.value = access.payload(CONFIG, port == STORE) if access else junk
        for module in range(CONFIG.modules):
            self.offered[module] = self.offered.get(module) or outside()
            request = self.offered[module]
            getattr(dut, f"outside__{module}__valid").value = request is not None
            payload = getattr(dut, f"outside__{module}__payload")
            payload.value = request.payload(CONFIG) if request else self.rng.getrandbits(len(payload))
        dut.advance.value = advance
        await FallingEdge(dut.clk)
        went = self._see(bundle, advance)
        await RisingEdge(dut.clk)
        return went

    def _see(self, bundle, advance):
        dut, shadow = self.dut, self.shadow
        for port in range(STORE):
            assert resolved(getattr(dut, f"data__{port}__valid")) == (port in self.shown)
            if port in self.shown:
                self.loads.compare(
                    resolved(getattr(dut, f"data__{port}__payload")), self.shown[port], f"load {'AB'[port]}"
                )
        for module in range(CONFIG.modules):
            assert resolved(getattr(dut, f"answer__{module}__valid")) == (module in self.answers)
            if module in self.answers:
                self.words.compare(
                    resolved(getattr(dut, f"answer__{module}__payload")), self.answers[module], f"module {module}"
                )
        faults = {"unaligned": 0, "outside": 0}
        for port, access in bundle.accesses.items():
            faults["unaligned"] |= access.unaligned() << port
            faults["outside"] |= (access.address >= config_bytes(CONFIG)) << port
        assert resolved(dut.error) == pack(ERROR, faults)
        self.seen.update(f"error {name}" for name, ports in faults.items() if ports)
        asked = {module: request for module, request in self.offered.items() if request}
        owed = list(shadow.owed)
        waits, served = shadow.cycle(bundle, asked)
        assert resolved(dut.stall) == waits
        for module in range(CONFIG.modules):
            ready = resolved(getattr(dut, f"outside__{module}__ready"))
            assert ready == (module in served)
            if module in served:
                self.offered[module] = None
            self.seen.update(
                [f"outside goes first {owed[module]}"]
                if module in served
                else ["outside waits"]
                if module in asked
                else []
            )
        self.answers = {module: word for module, word in served.items() if word is not None}
        goes = advance and not waits
        if goes:
            self.shown = {
                port: sum(byte << 8 * place for place, byte in bundle.loaded[port].items())
                for port in bundle.accesses
                if port != STORE
            }
        self.seen.add(f"{min(bundle.cycles, 3)} cycles")
        return goes


async def fill(table):
    """Write every byte by the core."""
    rng = pauses.rng("content")
    size = SIZES[-1]
    await table.play(
        Bundle({STORE: Access(address, size, rng.getrandbits(8 * LINE), FULL)})
        for address in range(0, config_bytes(CONFIG), LINE)
    )


async def read_all(table):
    """Read every byte by the loads."""
    lines = range(0, config_bytes(CONFIG), LINE)
    await table.play(Bundle({number % 2: Access(line, SIZES[-1])}) for number, line in enumerate(lines))
    await table.step(Bundle({}))


@BENCH.test(
    "data_memory.shadow",
    "A load finds what all before it wrote, and nothing of the store beside it",
    busy=[0.0, 0.3, 1.0],
    pause=[0.0, 0.4],
)
async def random_traffic(frame, busy, pause):
    """Two loads and a store a cycle beside outside ports and a shadow of every byte, with masks, wrong addresses, and
    waits of the core's own; every handshake in its cycle."""
    rng = pauses.rng("traffic")
    events = ["1 cycles", "2 cycles", "3 cycles", "error unaligned", "error outside"]
    if busy:
        events += ["outside waits", "outside goes first False"]
        events += ["outside goes first True"] if CONFIG.round_robin else []
    table = Table(frame, pause)
    coverage = frame.coverage(events)
    await fill(table)
    wrong = [Bundle({port: Access(1, 1), 2 - port: Access(1 << 19 | 2, 0, 5, FULL)}) for port in (0, 2)]
    bundles = [*wrong, Bundle({1: Access(1 << 18, 0)}), *(random_bundle(CONFIG, rng) for _ in range(CASES))]
    rng.shuffle(bundles)
    await table.play(bundles, lambda: random_outside(CONFIG, rng) if rng.random() < busy else None)
    while any(table.offered.values()):
        await table.step(Bundle({}))
    await read_all(table)
    for event in set(events) & table.seen:
        coverage.hit(event)
    if not table.answers and not busy:
        # Nothing comes from outside in this test: read one word.
        table.offered[0] = Outside(0, 0)
        await table.step(Bundle({}))
        await table.step(Bundle({}))


@BENCH.test("data_memory.stalls", "Cycle counts of programs depend on it")
async def stalls_of_the_core(frame):
    """Accesses of one cycle in the same or other banks, words and halves; as many stalls as golden's formula says."""
    rng = pauses.rng("places")
    table = Table(frame)
    coverage = frame.coverage(["0/other bytes", *cross((1, 2), ("one byte", "other bytes"))])
    await fill(table)
    halves = [(0, SIZES[-1]), (0, SIZES[-2]), (CONFIG.bank_bytes, SIZES[-2]), (1, 0)]
    for places in product(halves, repeat=3):
        for apart in (0, LINE, LINE * CONFIG.words):
            accesses = {
                port: Access(
                    (place + apart * rng.randrange(2)) % config_bytes(CONFIG), size, rng.getrandbits(8 * LINE), FULL
                )
                for port, (place, size) in enumerate(places)
                if rng.random() < 0.9
            }
            bundle = Bundle(accesses)
            await table.play([bundle])
            stalls = conflict_cycles([access.on_machine(CONFIG) for access in accesses.values()])
            assert bundle.cycles == 1 + stalls
            stored = set(accesses[STORE].bytes(CONFIG)) if STORE in accesses else set()
            meets = any(stored & {*accesses[port].bytes(CONFIG)} for port in accesses if port != STORE)
            coverage.hit(stalls, "one byte" if meets else "other bytes")
    table.offered[0] = Outside(0, 0)
    await read_all(table)


@BENCH.test("data_memory.places", "The banks are interleaved")
async def every_place(frame):
    """Every size at every aligned address, by the store and both loads; every word of every bank from outside."""
    rng = pauses.rng("places")
    table = Table(frame)
    await fill(table)
    for size in SIZES:
        span = config_bytes(CONFIG) >> size
        for place in sorted(rng.sample(range(span), min(span, 256))):
            stored = Access(place << size, size, rng.getrandbits(8 * LINE), FULL)
            await table.play([Bundle({STORE: stored}), Bundle({place % 2: Access(place << size, size)})])
    for bank, word, writes in product(range(2 * CONFIG.pairs), range(min(CONFIG.words, 8)), (True, False)):
        request = Outside(bank, word, writes, rng.getrandbits(8 * CONFIG.bank_bytes), (1 << CONFIG.bank_bytes) - 1)
        for module in range(CONFIG.modules):
            table.offered[module] = request
        await table.step(Bundle({}))
    await read_all(table)


@BENCH.test("data_memory.fairness", "Without turns DMA may starve")
async def fairness(frame):
    """The core uses a bank in every cycle and an outside port asks for it, with and without turns."""
    table = Table(frame)
    await fill(table)
    cycles = served = 0
    for _ in range(8):
        bundle = Bundle({0: Access(0, 0)})
        went = False
        while not went:
            table.offered[0] = table.offered.get(0) or Outside(0, 1)
            went = await table.step(bundle)
            cycles += 1
            served += table.offered[0] is None
    assert (cycles, served) == ((15, 7) if CONFIG.round_robin else (8, 0))
    await table.step(Bundle({}))
    assert table.offered[0] is None or CONFIG.round_robin
    await table.step(Bundle({}))
    await read_all(table)


@BENCH.test("data_memory.reset", "The memory keeps its bytes; nothing else may remain")
async def resets(frame):
    """Resets while a bundle waits with parts of it served, and a port is owed."""
    table = Table(frame)
    await fill(table)
    whole = SIZES[-1]
    for cycles in range(1, 4):
        bundle = Bundle({0: Access(0, whole), 1: Access(0, whole), STORE: Access(0, whole, 3, FULL)})
        table.offered[0] = Outside(0, 0)
        for _ in range(cycles):
            await table.step(bundle)
        await frame.reset()
        table.shown, table.answers, table.offered = {}, {}, {}
        table.shadow.owed = [False] * CONFIG.modules
        await table.play([Bundle({0: Access(0, whole), 1: Access(0, whole)})])
        table.offered[0] = Outside(1, 0)
        await table.step(Bundle({}))
    await read_all(table)
