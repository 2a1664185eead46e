"""Bench of the tile: random schedules, gaps between bundles, operations that it lacks or that meet another one, resets.

Golden's `Tile` gives the expected memory, registers, cycles and stalls.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from cocotb.triggers import ClockCycles

from bitpath.golden.aie_ml_v2.declarations.tile import AguForm
from bitpath.golden.aie_ml_v2.tile.addresses import Address
from bitpath.golden.aie_ml_v2.tile.layers import write_bytes
from bitpath.golden.aie_ml_v2.tile.operation import Registers
from bitpath.golden.aie_ml_v2.tile.tile import Bundle, Tile
from bitpath.golden.aie_ml_v2.tile.transfers import PointerAdd
from bitpath.rtl.aie_ml_v2.core.address_unit import REGISTERS as POINTERS
from bitpath.rtl.aie_ml_v2.core.aie_tile import HOST_REQUEST, AieTile, HostSpace
from bitpath.rtl.aie_ml_v2.core.config import AieTileConfig
from bitpath.rtl.aie_ml_v2.core.run_counters import STALLS
from bitpath.rtl.aie_ml_v2.faults import Fault
from bitpath.verif.aie_ml_v2.core.encoding import (
    DRAIN,
    encoded,
    encoded_all,
    register_reads,
    register_values,
    register_writes,
)
from bitpath.verif.aie_ml_v2.core.host import TileHost, TileProgram, memory_bytes, module_bytes
from bitpath.verif.aie_ml_v2.core.programs import (
    BEHIND_MX9,
    LACKING,
    LINES_BEYOND,
    MEETING,
    WRONG_ADDRESSES,
    ProgramMaker,
    any_registers,
    kinds_of,
)
from bitpath.verif.kit.unit_bench import UnitBench, cases, pack, pauses, resolved

# Bins of a schedule's operations: slots, and how they address memory.


COUNTED = (AguForm.TWO_D, AguForm.THREE_D)
"""Forms without an immediate."""


def tile_events(config: AieTileConfig) -> list[str]:
    """Return the bins of a random schedule."""
    pushes = ("Push", "Flush") if config.multiply.mx9 else ()
    slots = [f"{slot} {kind}" for slot in ("lda", "ldb") for kind in ("Load", "Fill", "Pop", "PointerAdd")]
    slots += [f"st {kind}" for kind in ("StoreSrs", "PointerAdd", *pushes)]
    slots += ["vec Mac", *(["mv Shuffle"] if config.multiply.mx9 else [])]
    forms = [
        f"{place} {form.value}{end}"
        for place in ("lda", "ldb", "st", "jump")
        for form in AguForm
        for end in ("", " immediate")
        # A jump moves its pointer.
        if not (place == "jump" and form is AguForm.INDEXED) and not (end and form in COUNTED)
    ]
    return slots + forms


def events_of(bundles: Sequence[Bundle]) -> Iterator[str]:
    """Yield the bins of a schedule's operations."""
    for slot, operation in ((slot, each) for bundle in bundles for slot, each in bundle.operations.items()):
        kind = type(operation).__name__
        yield f"{slot} {kind}"
        address = getattr(operation, "jump" if kind == "Pop" else "address", None)
        if address is not None:
            place = "jump" if kind == "Pop" else slot
            yield f"{place} {address.form.value}" + (" immediate" if address.register is None else "")


BENCH = UnitBench(AieTile, AieTileConfig, ms=20)
CONFIG = BENCH.config
CASES = cases(400)
GAPS = 0.3
FIRST = 4
"""Bundles before the first reset."""


def without_stores(bundles):
    """Return a schedule that leaves memory as it is."""
    return [Bundle(**{**each.operations, "st": None}) for each in bundles]


def step(number):
    """Return the addition of a modifier to its pointer."""
    return PointerAdd(address=Address(pointer=number % POINTERS, register=number % POINTERS))


class Table:
    """A tile in the simulator beside golden's, whose states are compared."""

    def __init__(self, frame, gaps=0.0):
        self.frame, self.dut = frame, frame.dut
        self.host = TileHost(frame, CONFIG, pauses.scattered(gaps, pauses.rng("gaps")) if gaps else None)
        self.registers = frame.scoreboard("registers", 512, output="answer")
        self.memory = frame.scoreboard("memory", 256, output="word__0")
        self.counts = frame.scoreboard("counts", 32, output="cycles")
        self.faults = frame.scoreboard("fault", Fault)
        self.golden = Tile(conflicts="stall", exposed=True)

    async def start(self, registers, memory=None):
        """Bring both tiles to a state; memory keeps its bytes where none are given."""
        self.golden.registers = registers
        if memory is not None:
            write_bytes(self.golden.memory, 0, memory)
        images = {} if memory is None else {0: memory}
        await self.host.load(TileProgram(bundles=[], writes=list(register_writes(CONFIG, registers)), images=images))

    async def play(self, bundles, words=None):
        """Play bundles on both, or other words on the tile, and compare their registers; return golden's report."""
        report = self.golden.run(bundles)
        await self.host.play(encoded_all(bundles) if words is None else [*words, *[0] * DRAIN])
        await self.compare_registers()
        return report

    def count(self, report):
        """Compare the counters of a run after a reset."""
        stalls = STALLS.from_bits(resolved(self.dut.stalls))
        for name, expected, found in (
            ("cycles", report.cycles, resolved(self.dut.cycles)),
            ("stalls", report.stalls["banks"], stalls.banks),
            ("products", report.products, resolved(self.dut.products)),
        ):
            self.counts.compare(found, expected, name)

    def fault(self, fault=Fault.NONE, number=0, name=""):
        """Compare the fault and, of one, the number of its bundle."""
        self.faults.compare(resolved(self.dut.fault), fault.value, name)
        assert fault is Fault.NONE or resolved(self.dut.fault_number) == number, name

    async def compare_registers(self):
        for (space, index), value in register_values(CONFIG, self.golden.registers).items():
            self.registers.expect(value, f"{space.name} {index}")
        for value in await self.host.registers(register_reads(CONFIG)):
            self.registers.got(value)

    async def compare_memory(self):
        size = memory_bytes(CONFIG.memory)
        lines = np.concatenate([self.golden.memory.load(at, 32) for at in range(0, size, 32)]).reshape(-1, 32)
        image = (await self.host.image()).reshape(-1, 32)
        for number, (line, found) in enumerate(zip(lines, image, strict=True)):
            self.memory.compare(
                int.from_bytes(found.tobytes(), "little"),
                int.from_bytes(line.tobytes(), "little"),
                f"bytes from {32 * number:#x}",
            )


def whole_program(kind):
    """Return a schedule of CASES bundles, doubled until it has all operations and forms."""
    count, wanted = CASES, set(tile_events(CONFIG))
    while True:
        made = ProgramMaker(CONFIG, pauses.rng("schedules"), kind).program(count)
        if wanted <= set(events_of(made.bundles)):
            return made
        count *= 2


@BENCH.test(
    "aie_tile.schedules",
    "Golden's Tile gives all registers, all of memory, cycles, stalls and products",
    kind=kinds_of(CONFIG),
    gaps=[0.0, GAPS],
)
async def random_schedules(frame, kind, gaps):
    """Random schedules with operations in all slots, early reads, conflicts at banks, FIFOs that jump, sparse chunks;
    with and without gaps between bundles."""
    table, coverage = Table(frame, gaps), frame.coverage(tile_events(CONFIG))
    program = whole_program(kind)
    await table.start(program.registers, program.memory)
    table.count(await table.play(program.bundles))
    await table.compare_memory()
    table.fault()
    assert bool(STALLS.from_bits(resolved(frame.dut.stalls)).bundles) == bool(gaps)
    for event in events_of(program.bundles):
        coverage.hit(event)


@BENCH.test(
    "aie_tile.registers",
    "Programs begin and end with the registers that the host writes and reads",
    "Any bits in all registers, FIFOs and their counts, written and read by the host; every pointer moved by "
    "every slot",
)
async def written_registers(frame):
    """The host writes any bits to all registers and reads them back, also after every slot moved every pointer, those of the
    FIFOs too; a reset makes them 0."""
    rng = np.random.default_rng(pauses.rng("state").getrandbits(64))
    table, coverage = Table(frame), frame.coverage(["registers written", "pointers moved", "registers reset"])
    memory = rng.integers(0, 256, memory_bytes(CONFIG.memory), np.uint8)
    for _ in range(3):
        await table.start(any_registers(rng, CONFIG), memory)
        await table.compare_registers()
        coverage.hit("registers written")
        await table.play([Bundle(lda=step(n), ldb=step(n + 1), st=step(n + 2)) for n in range(POINTERS)])
        coverage.hit("pointers moved")
        await frame.reset()
        table.golden.registers = Registers()
        table.count(await table.play([]))
        coverage.hit("registers reset")
    table.fault()
    await table.compare_memory()


@BENCH.test("aie_tile.outside", "Outside ports give way to the core, and the host waits for its end")
async def access_beside_a_schedule(frame):
    """Reads from outside beside a schedule's loads, and the host's requests while bundles issue."""
    rng = pauses.rng("places")
    dut = frame.dut
    table = Table(frame)
    maker = ProgramMaker(CONFIG, pauses.rng("schedules"), kinds_of(CONFIG)[0])
    program = maker.program(max(60, CASES // 4))
    await table.start(program.registers, program.memory)
    bundles = without_stores(program.bundles)
    report = table.golden.run(bundles)
    for word in encoded_all(bundles):
        table.host.bundles.send_bits(word)
    await ClockCycles(dut.clk, 4)
    for request in register_reads(CONFIG):
        table.host.host.send_bits(request)
    modules = []
    for _ in range(60):
        address = 32 * rng.randrange(maker.size // 32)
        table.host.ask(address, {})
        modules.append(address // module_bytes(CONFIG.memory))
        line = program.memory[address : address + 32]
        table.memory.expect(int.from_bytes(line.tobytes(), "little"), f"bytes from {address:#x}")
        await ClockCycles(dut.clk, rng.randrange(1, 4))
    await table.host.bundles.drained()
    await table.host.drained()
    await ClockCycles(dut.clk, 2)
    for module in modules:
        table.memory.got(table.host.words[module].pop(0))
    for (space, index), value in register_values(CONFIG, table.golden.registers).items():
        table.registers.expect(value, f"{space.name} {index}")
    for value in table.host.values:
        table.registers.got(value)
    table.fault()
    table.count(report)


@BENCH.test("aie_tile.wrong", "It is left out and leaves nothing but the fault")
async def wrong_operations(frame):
    """Every kind of operation that the tile lacks, or that meets another one at a port, a slot or a FIFO."""
    rng = pauses.rng("state")
    table = Table(frame)
    meeting = MEETING | ({"a product behind MX9": BEHIND_MX9} if CONFIG.multiply.mx9 else {})
    maker = ProgramMaker(CONFIG, rng, kinds_of(CONFIG)[-1])
    program = maker.program(0)
    coverage = frame.coverage([*LACKING, *meeting])
    await table.start(Registers(), program.memory)
    for name, word in LACKING.items():
        await frame.reset()
        await table.start(program.registers)
        await table.play([], [0, word(CONFIG), word(CONFIG)])
        table.fault(Fault.OPERATION, 1, name)
        coverage.hit(name)
    for name, (bundles, kept) in meeting.items():
        await frame.reset()
        await table.start(maker.program(0).registers)
        await table.play(kept, [encoded(each) for each in bundles])
        table.fault(Fault.BUSY, len(bundles) - 1, name)
        coverage.hit(name)
    await table.compare_memory()
    await frame.reset()
    table.count(Tile().run([]))


@BENCH.test(
    "aie_tile.addresses",
    "They change nothing, the fault stays, and the next bundle works",
    "Loads and stores at addresses that are not aligned, or beyond the memory; FIFOs whose line lies beyond it; "
    "the host's requests for registers that there are not",
)
async def wrong_addresses(frame):
    """Loads and stores at addresses that are not aligned, or beyond the memory, and FIFOs that pass its end, change nothing; the bundle
    behind them works, and the host's requests for registers that there are not are answered and noted."""
    rng = pauses.rng("state")
    dut = frame.dut
    table, coverage = Table(frame), frame.coverage([*WRONG_ADDRESSES, *LINES_BEYOND, "no space", "no register"])
    maker = ProgramMaker(CONFIG, rng, kinds_of(CONFIG)[0])
    await table.start(Registers(), maker.program(0).memory)
    beyond = memory_bytes(CONFIG.memory)
    cases = {
        name: (bundle, "p3", lambda place, pointer=pointer: pointer(CONFIG, place), fault)
        for name, (bundle, pointer, fault) in WRONG_ADDRESSES.items()
    } | {
        name: (bundle, f"p{fifo}", lambda place: place + beyond, Fault.RANGE)
        for name, (bundle, _, fifo) in LINES_BEYOND.items()
    }
    for name, (bundle, pointer, wrong, fault) in cases.items():
        await frame.reset()
        registers = maker.program(0).registers
        registers.write(pointer, wrong(int(registers.read(pointer))))
        for count, value in (("r24", 0), ("r25", 0), ("r26", 1)):
            registers.write(count, value)
        await table.start(registers)
        behind = [Bundle(st=step(4))]
        await table.play(behind, [0, 0, encoded(bundle), *map(encoded, behind)])
        table.fault(fault, 2, name)
        coverage.hit(name)
    for name, request, fault in (
        ("no space", {"space": 6, "writes": 1}, Fault.OPERATION),
        ("no register", {"space": HostSpace.S, "index": 4, "writes": 1}, Fault.RANGE),
    ):
        dut.clear.value = 1
        await ClockCycles(dut.clk, 1)
        dut.clear.value = 0
        for writes in (1, 0):
            table.host.host.send_bits(pack(HOST_REQUEST, request | {"data": rng.getrandbits(64), "writes": writes}))
        await table.host.host.drained()
        await ClockCycles(dut.clk, 2)
        await table.compare_registers()
        table.fault(fault, 0, name)
        coverage.hit(name)
    await table.compare_memory()
    await frame.reset()
    table.count(Tile().run([]))


@BENCH.test("aie_tile.reset", "Memory keeps its bytes; nothing else may remain")
async def resets(frame):
    """Resets with operations at every depth in flight."""
    rng = pauses.rng("schedules")
    table = Table(frame)
    maker = ProgramMaker(CONFIG, rng, kinds_of(CONFIG)[0])
    for cycles in range(FIRST, FIRST + DRAIN):
        program = maker.program(cycles)
        bundles = without_stores(program.bundles)
        await table.start(program.registers, program.memory if cycles == FIRST else None)
        for word in map(encoded, bundles):
            table.host.bundles.send_bits(word)
        await table.host.bundles.drained()
        await frame.reset()
        table.golden.registers = Registers()
        table.count(await table.play([]))
        table.fault()
    await table.compare_memory()
