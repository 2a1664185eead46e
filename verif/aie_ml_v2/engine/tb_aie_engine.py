"""Bench of the AIE-ML v2 engine: rows of native products from operand memories to the result memory, bit for bit with golden.

Golden computes every command before anything is driven. ``BITPATH_CASES`` are more random commands in the tests of modes.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from random import Random

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, FallingEdge

from bitpath.golden import aie_ml_v2
from bitpath.golden.aie_ml_v2.declarations.modes import ACCUMULATOR_PATHS, INT8, TIMINGS, Datapath
from bitpath.golden.aie_ml_v2.matmul.cycles import MacInstruction
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.engine.aie_engine import QUEUE_DEPTH, AieEngine, AieMemory, host_write_layout
from bitpath.rtl.aie_ml_v2.engine.command import AieEngineConfig, command_layout
from bitpath.rtl.aie_ml_v2.faults import Fault
from bitpath.rtl.aie_ml_v2.mac.config import LANE_BITS, MacMode
from bitpath.rtl.aie_ml_v2.mac.mac_lane import INTEGER_MODES
from bitpath.verif.aie_ml_v2.engine.lowering import lower, result_lanes, result_words
from bitpath.verif.aie_ml_v2.engine.model import RowCommand, RowKind, row_kinds, tile_words
from bitpath.verif.aie_ml_v2.engine.session import (
    ENDS,
    RELATIONS,
    STARTS,
    Session,
    any_address,
    every_code,
    every_end,
    fault_of,
    program,
    random_command,
)
from bitpath.verif.kit.engine_host import MEETINGS, expect_rest, source_of, watch_host
from bitpath.verif.kit.player import MemoryPlayer, Segment
from bitpath.verif.kit.unit_bench import ENGINE_PATIENCE_CYCLES, UnitBench, cases, covers, cross, pack, pauses, resolved

# Commands that fill the engine's memories and its queue, with arbitrary operand and accumulator codes.


ANY_SHARE = 0.3
"""Share of tiles with arbitrary codes: all kinds of numbers meet, and most sums are still finite."""
SHAPES = ("deep", "wide", "far", "short", "one product")
"""deep: more steps than half the X memory holds; wide: one tile for each accumulator; far: two steps with a large stride; short
and one product: commands that fill the queue after a long one, with arbitrary accumulator codes or operands."""
NUMBERS = ("NaN", "infinity", "-0")
"""Kinds of results; -0 is a flushed negative result below FP32's normal numbers."""
PLACES = ("X goes round", "Y goes round", "steps of Y lie far apart")
"""Placements of a command's tiles: wrapped around a memory's end, or a stride of more than half the memory."""


def filling_program(
    config: AieEngineConfig, kind: RowKind, source: np.random.Generator, rng: Random
) -> Iterator[tuple[str, RowCommand]]:
    """Yield commands of each shape with their names."""
    beats = TIMINGS[kind.mode.datapath].issue_interval
    steps, most = config.x_depth // beats, config.unit.accumulators
    for shape, count, tiles in (
        ("deep", rng.randint(steps // 2 + 1, steps), 1),
        ("wide", rng.randint(2, config.y_depth // (most * beats)), most),
        ("far", 2, rng.randint(1, most // 2)),
        ("wide", 2, most),
        *(("short", 1, rng.randint(1, 2)) for _ in range(QUEUE_DEPTH)),
        *(("one product", 1, 1) for _ in range(QUEUE_DEPTH)),
    ):
        alone = shape == "one product"
        yield (
            shape,
            random_command(
                kind,
                source,
                steps=count,
                tiles=tiles,
                special=1.0 if alone else ANY_SHARE,
                accumulator=rng.randrange(most),
                negate=rng.random() < 0.5,
                clear=alone or rng.random() < 0.3,
                address=any_address(config, kind, tiles, source) if alone or rng.random() < 0.8 else None,
            ),
        )


def places_of(config: AieEngineConfig, command: RowCommand, bits: int) -> Iterator[str]:
    """Return the coverage places of a command's tiles."""
    fields = command_layout(config).from_bits(bits)
    gaps, beats = command.steps - 1, TIMINGS[command.kind.mode.datapath].issue_interval
    x_end = fields.x + command.steps * beats
    y_end = fields.y + gaps * fields.y_stride + command.tiles * beats
    far = gaps > 0 and fields.y_stride > config.y_depth // 2
    for place, met in zip(PLACES, (x_end > config.x_depth, y_end > config.y_depth, far), strict=True):
        if met:
            yield place


def numbers_of(codes: np.ndarray) -> Iterator[str]:
    """Return the kinds of numbers among FP32 codes."""
    exponent, fraction = codes >> FP32.fraction_bits & FP32.exponent_mask, codes & FP32.fraction_mask
    top = exponent == FP32.exponent_mask
    met = (top & (fraction != 0), top & (fraction == 0), codes == FP32.sign_mask)
    for name, found in zip(NUMBERS, met, strict=True):
        if found.any():
            yield name


# Cycle model of the engine for back-to-back commands.


BEGIN = 2
"""Cycles from a command's offer to its first beat: one in the queue, one in the memories."""
ANSWER = 1
"""Cycles from a request for an accumulator's word to the word."""


@dataclass
class Pace:
    """Schedule of the beats; cycle 0 is the offer of the first command.

    Attributes
    ----------
    instructions, issues : every instruction, as golden's cycle model takes it, and the cycle of its first beat.
    waits : beats that waited for a store.
    end : the last busy cycle.
    """

    config: AieEngineConfig
    instructions: list[MacInstruction] = field(default_factory=list)
    issues: list[int] = field(default_factory=list)
    waits: int = 0
    end: int = 0
    _front: int = 0
    _written: dict[int, tuple[int, str]] = field(default_factory=dict)
    _writes: set[int] = field(default_factory=set)
    _released: dict[int, int] = field(default_factory=dict)
    _store_free: int = 0

    def run(self, commands: Sequence[RowCommand]) -> int:
        """The cycles for which ``busy`` is high."""
        for index, command in enumerate(commands):
            self._front = max(self._front, index + BEGIN)
            self._issue(command)
            if command.address is not None:
                self._store(command)
        return self.end + 1

    def _places(self, command: RowCommand) -> list[tuple[int, int]]:
        """Register and place of each group of lanes, in order."""
        unit = self.config.unit
        registers = [(command.accumulator + tile) % unit.accumulators for tile in range(command.tiles)]
        parts = tile_words(self.config, command.kind)
        return [(register, register * unit.parts + part) for register, part in product(registers, range(parts))]

    def _issue(self, command: RowCommand) -> None:
        datapath = command.kind.mode.datapath
        places = self._places(command)
        for step in range(command.steps):
            for number, (register, place) in enumerate(places):
                reads = step > 0 or not command.clear
                hands_on = command.address is not None and step == command.steps - 1 and number == len(places) - 1
                free = self._store_free if hands_on else 0
                # A beat passes to the memories in the cycle after its accumulator is released.
                self._beat(datapath, place, reads=reads, free=free, released=self._released.get(register, -BEGIN) + 2)
                read = (place,) if reads else ()
                each = MacInstruction(mode=command.kind.mode.name, destination=place, accumulators=read)
                self.instructions.append(each)

    def _beat(self, datapath: Datapath, place: int, *, reads: bool, free: int, released: int) -> None:
        """Issue at the first cycle that memories, accumulators, the write port and stores allow."""
        timing, path = TIMINGS[datapath], ACCUMULATOR_PATHS[datapath]
        more = timing.issue_interval - 1
        cycle = max(self._front, released)
        self.waits += cycle > self._front
        if reads and place in self._written:
            written, writer = self._written[place]
            waits = not (self.config.unit.numerics.accumulator_bypass and writer == path)
            cycle = max(cycle, written + 1 + waits - timing.accumulator_read)
        if not more:
            self.waits += free > cycle
            cycle = max(cycle, free)
        while cycle + timing.write - 1 in self._writes:
            cycle += 1
        last = max(cycle + more, free)
        self.waits += last > cycle + more
        write = last - more + timing.write - 1
        self._writes.add(write)
        self._written[place] = write, path
        self._front = last + 1
        self.issues.append(cycle)
        self.end = max(self.end, write)

    def _store(self, command: RowCommand) -> None:
        """Schedule the reads of a store, one word a cycle, each no earlier than its write."""
        cycle = self._front - 1
        for register, place in self._places(command):
            cycle = max(cycle + 1, self._written[place][0])
            self._released[register] = cycle
        self.end = max(self.end, cycle + ANSWER)
        self._store_free = cycle + ANSWER + 1


BENCH = UnitBench(AieEngine, AieEngineConfig, ms=20, patience=ENGINE_PATIENCE_CYCLES)
CONFIG = BENCH.config
NUMERICS = CONFIG.unit.numerics
ACCUMULATORS = CONFIG.unit.accumulators
CASES = cases(4)
KINDS = {kind.name: kind for kind in row_kinds(NUMERICS)}
STEPS = (1, 2, 3, 5)
FIXED_SEED = 2026
SAMPLES = ("int8_ss", "bf16_fp16", "mx6", "mx9")
"""One kind of operands for each datapath."""
FAULTS = (Fault.OPERATION, Fault.FORMAT, Fault.RANGE)
NOWHERE = {
    "a write to no memory": ({"memory": len(AieMemory)}, Fault.OPERATION),
    "a write behind X": ({"memory": AieMemory.X.value, "address": CONFIG.x_depth}, Fault.RANGE),
}
"""Host writes that the engine refuses."""
CLEARED = 0.3
"""How often the fault is cleared behind a legal command."""
KINDS_OF_A_MODE = 4
"""Kinds of operands of each mode that fill the memories."""


@BENCH.test(
    "aie_engine.modes",
    "Each mode has its own memory layout, and an MX9 tile has two words",
    mode=[cocotb.Param(value=mode, name=mode.name.lower()) for mode in MacMode],
)
async def modes(frame, mode):
    """Every combination of formats or signs of INT8, INT16, FLOAT16, FLOAT8, MX6 with MX4, and MX9; 1 to 8 tiles, 1 to
    5 steps, from any register on; added and subtracted, cleared and continued."""
    kinds = [kind for kind in KINDS.values() if MacMode.of(kind.mode) is mode]
    session = await Session.begin(frame, CONFIG)
    source = source_of("operands")
    starts = cross(("added", "subtracted"), STARTS)
    bins = [*(kind.name for kind in kinds), *cross(("tiles",), range(1, ACCUMULATORS + 1)), *cross(("steps",), STEPS)]
    coverage = frame.coverage([*bins, *starts])
    for index in range(max(len(kinds), ACCUMULATORS) + CASES):
        kind, tiles, steps = kinds[index % len(kinds)], 1 + index % ACCUMULATORS, STEPS[index % len(STEPS)]
        negate, continued = index % 2 == 1, index % 4 >= 2
        for name in (kind.name, f"tiles/{tiles}", f"steps/{steps}"):
            coverage.hit(name)
        coverage.hit(("added", "subtracted")[negate], STARTS[continued])
        each = random_command(
            kind,
            source,
            steps=steps,
            tiles=tiles,
            # Start at any register, so that some commands wrap around the last one.
            accumulator=int(source.integers(0, ACCUMULATORS)),
            negate=negate,
            clear=not continued,
            address=any_address(CONFIG, kind, tiles, source),
        )
        await session.queue(each)
    await session.flush()


@covers(
    "aie_engine.programs", "Stores overlap the following commands, which must not overwrite a tile before it is stored"
)
@BENCH.test("aie_engine.host", pace=["full_speed", "gaps_and_stalls"])
async def programs(frame, pace):
    """Commands into all, some or none of the previous command's accumulators; cleared, continued, stored or not stored;
    formats that change with each command; no other result word changes."""
    pause = 0.5 if pace == "gaps_and_stalls" else 0.0
    session = await Session.begin(frame, CONFIG, gap=pause, stall=pause)
    coverage = frame.coverage(cross(RELATIONS, STARTS, ENDS))
    source, rng = source_of("operands"), pauses.rng("program")
    for _ in range(1 + CASES // 4):
        for bin_, each in program(CONFIG, source, rng):
            coverage.hit(*bin_)
            await session.queue(each)
    await session.flush()


MATMULS = {
    "mx9": ((40, 100, 20), False),
    "mx6": ((20, 130, 260), False),
    "mx4": ((6, 1040, 20), True),
    "bf16": ((10, 640, 20), True),
    "fp8_e5m2fnuz": ((9, 600, 10), True),
    "int8": ((70, 70, 20), False),
    "int16": ((5, 140, 20), True),
}
"""M, K, N, and True if K alone exceeds the memories; all other products exceed them as a whole."""


@BENCH.test("aie_engine.matmuls", "bitpath run executes matrix products in this way", fmt=list(MATMULS))
async def matmuls(frame, fmt):
    """Matrix products with partial tiles in seven formats, split into several segments; four of them are split within
    K."""
    (m, k, n), cuts_k = MATMULS[fmt]
    source = source_of("matrices")
    a, b = (source.standard_normal(shape, dtype=np.float32) for shape in ((m, k), (k, n)))
    if fmt.startswith("int"):
        a, b = (np.clip(matrix * 40, -128, 127).astype(np.int64) for matrix in (a, b))
    program = aie_ml_v2.matmul_program(a, b, format=fmt, numerics=NUMERICS)
    tiles = aie_ml_v2.run_program(program)
    right = tiles.astype(np.int32).view(np.uint32) if fmt.startswith("int") else tiles.view(np.uint32)
    await expect_rest(frame.dut)
    player, board = MemoryPlayer(frame), frame.scoreboard("lanes", LANE_BITS * program.mode.lanes)
    segments = list(lower(CONFIG, program))
    assert len(segments) > 1, "the memories hold the whole product: nothing is cut"
    assert any(not segment.results for segment in segments) == cuts_k
    async for row, column, content in player.output_tiles(segments, result_words(CONFIG, program.mode)):
        board.compare(
            int.from_bytes(result_lanes(program.mode, content).tobytes(), "little"),
            int.from_bytes(right[row, column].tobytes(), "little"),
            f"tile {row}, {column}",
        )
    assert board.compared == np.prod(tiles.shape[:2])
    assert resolved(frame.dut.retired) == program.instruction_count


@BENCH.test(
    "aie_engine.pace",
    "The throughput of matrix products is compared with Table 7",
    kind=["int8_ss", "bf16_bf16", "mx6", "mx9"],
)
async def throughput(frame, kind):
    """Exact cycles of back-to-back commands: chains onto one, two and four accumulators, overlapped stores, commands
    that stall for a store, reuse of the same accumulators; without store stalls golden's cycle model agrees."""
    half, chained = ACCUMULATORS // 2, set()
    shapes = {
        "alternating": [(3, half, index % 2 * half, True) for index in range(3)],
        "one tile": [(9, 1, 0, True)],
        "two tiles": [(5, 2, 0, False), (5, 2, 0, True)],
        "one step": [(1, half, index % 2 * half, True) for index in range(4)],
        "one step of one tile": [(1, 1, index % ACCUMULATORS, True) for index in range(5)],
        "the same accumulators": [(1, half, 0, True) for _ in range(3)],
        "more than are stored": [(1, ACCUMULATORS, 0, True), (2, 2, ACCUMULATORS - 1, False)],
    }
    session = await Session.begin(frame, CONFIG)
    source = source_of("operands")
    coverage = frame.coverage(("waits for a store", "waits for none"))
    for name, commands in shapes.items():
        queued = []
        for steps, tiles, accumulator, stored in commands:
            each = random_command(
                KINDS[kind],
                source,
                steps=steps,
                tiles=tiles,
                accumulator=accumulator,
                clear=stored,
                address=any_address(CONFIG, KINDS[kind], tiles, source) if stored else None,
            )
            queued.append(each)
            await session.queue(each)
        pace = Pace(CONFIG)
        expected = pace.run(queued)
        segment, before = session.take_segment(), resolved(frame.dut.busy_cycles)
        assert len(segment.commands) == len(queued), "the memories do not hold all operands at once"
        await session.player.play([segment])
        busy = resolved(frame.dut.busy_cycles) - before
        assert busy == expected, f"{name}: busy for {busy} cycles, {expected} are right"
        coverage.hit("waits for a store" if pace.waits else "waits for none")
        if not pace.waits:
            assert [at - BEGIN for at in pace.issues] == aie_ml_v2.issue_cycles(
                pace.instructions, numerics=CONFIG.unit.numerics
            )
            chained.add(name)
    assert "alternating" in chained, "double buffering hides no stores"
    await session.compare()


@BENCH.test("aie_engine.host", "A host write stalls for results in flight, and must not be lost")
async def host_traffic(frame):
    """Host writes to unused accumulators during computation and stores, answers under back-pressure, gaps between
    commands, the count of products."""
    half = ACCUMULATORS // 2
    session = await Session.begin(frame, CONFIG, gap=0.5, stall=0.5)
    source = source_of("traffic")
    coverage = frame.coverage(MEETINGS)
    frame.start("watch", watch_host(frame.dut, coverage))
    mx6 = KINDS["mx6"]
    words = half * tile_words(CONFIG, mx6)
    for _ in range(4):
        each = random_command(mx6, source, steps=3, tiles=half, address=0)
        await session.queue(each)
    segment = session.take_segment()
    await session.player.play([Segment(writes=segment.writes)])
    session.player.send(Segment(commands=segment.commands))
    while session.player.waiting_commands or resolved(frame.dut.busy):
        lanes = source.standard_normal((half, INT8.lanes), dtype=np.float32).view(np.uint32)
        session.model.accumulators[half:] = lanes
        session.player.send(Segment(writes=session.accumulator_writes(half, lanes)))
        await session.compare(range(words, CONFIG.result_depth))
    # Let pending writes finish before commands add to the accumulators.
    await session.player.play([Segment()])
    await session.flush()
    fields = {"steps": 2, "tiles": half, "accumulator": half, "clear": False, "address": 0}
    await session.run([random_command(mx6, source, **fields)])


@BENCH.test(
    "aie_engine.filled", "Short programs do not exercise the upper bits of strides, addresses and the queue's level"
)
async def filled(frame):
    """In every mode: the largest number of steps, tiles for all accumulators, the largest stride of Y, tiles that wrap
    around the end of a memory, a full queue. Operands and accumulators have arbitrary codes. Some results are NaN,
    infinity and -0 after a flush."""
    session = await Session.begin(frame, CONFIG, spread=True)
    source, rng = source_of("operands"), pauses.rng("filled")
    modes = [mode.name for mode in MacMode]
    coverage = frame.coverage(
        [*cross(modes, SHAPES), *PLACES, *cross(("changed to",), NUMBERS), "a command waits for the queue"]
    )
    frame.start("watch", watch_queue(frame.dut, coverage))
    for mode in MacMode:
        kinds = [kind for kind in KINDS.values() if MacMode.of(kind.mode) is mode]
        for kind in rng.sample(kinds, min(KINDS_OF_A_MODE, len(kinds))):
            await session.refill()
            before = session.model.results.copy()
            for shape, each in filling_program(CONFIG, kind, source, rng):
                coverage.hit(mode.name, shape)
                for place in places_of(CONFIG, each, await session.queue(each)):
                    coverage.hit(place)
            results = await session.flush()
            if mode not in INTEGER_MODES:
                for number in numbers_of(results[results != before]):
                    coverage.hit("changed to", number)


@BENCH.test(
    "aie_engine.refused",
    "A refused command must leave no trace, and the next one must work",
    pace=["full_speed", "gaps_and_stalls"],
)
async def refused(frame, pace):
    """Commands of every fault, and host writes to no memory, between legal commands, with and without pauses; fault and
    number of the first one, and the fault cleared in between."""
    pause = 0.5 if pace == "gaps_and_stalls" else 0.0
    session = await Session.begin(frame, CONFIG, gap=pause, stall=pause)
    source, rng = source_of("operands"), pauses.rng("refused")
    coverage = frame.coverage([*(fault.name for fault in FAULTS), *NOWHERE])
    every = [each for each in (*every_code(CONFIG, rng), *every_end(CONFIG, rng)) if fault_of(CONFIG, each).value]
    rng.shuffle(every)
    plan = [each for _, each in program(CONFIG, source, rng)]
    for number, each in enumerate(plan):
        for fields in every[number :: len(plan)]:
            coverage.hit(session.queue_refused(fields).name)
        await session.queue(each)
        if rng.random() < CLEARED:
            await session.flush()
            await session.faults.clear(frame.dut)
    await session.flush()
    for name, (fields, fault) in NOWHERE.items():
        await session.faults.clear(frame.dut)
        payload = pack(host_write_layout(CONFIG), {"data": rng.getrandbits(8)} | fields)
        session.player.send(Segment(writes=[payload]))
        session.faults.refuse(fault.value)
        await session.flush()
        coverage.hit(name)
    each = random_command(KINDS["int8_ss"], source, steps=1, tiles=ACCUMULATORS, clear=False, address=0)
    await session.run([each])


async def watch_queue(dut, coverage):
    """Count cycles with a full queue; runs until cancelled."""
    while True:
        await FallingEdge(dut.clk)
        if resolved(dut.command__valid) and not resolved(dut.command__ready):
            coverage.hit("a command waits for the queue")


@covers("aie_engine.reset", "A surviving counter or store bit would shift all later results, or deadlock the engine")
@BENCH.test("resets.every_unit")
async def reset(frame):
    """Reset while computing and while storing."""
    mx9 = KINDS["mx9"]
    tiles = ACCUMULATORS // 2
    beats = 2 * tiles * tile_words(CONFIG, mx9)
    moments = {"computing": BEGIN + beats, "storing": BEGIN + 2 * beats + 4}
    dut = frame.dut
    session = await Session.begin(frame, CONFIG)
    source = source_of("operands")
    coverage = frame.coverage(moments)
    for moment, cycles in moments.items():
        for _ in range(3):
            await session.queue(random_command(mx9, source, steps=2, tiles=tiles, address=0))
        segment = session.take_segment()
        await session.player.play([Segment(writes=segment.writes)])
        session.player.send(Segment(commands=segment.commands))
        await ClockCycles(dut.clk, cycles)
        assert resolved(dut.busy), f"the engine was to be {moment}"
        coverage.hit(moment)
        # Hold the reset until the host has no more writes; the engine takes nothing during a reset.
        dut.rst.value = 1
        await ClockCycles(dut.clk, 2)
        dut.rst.value = 0
        await expect_rest(dut)
        session.forget()
        await session.preset()
        fields = {"steps": 3, "tiles": tiles, "clear": False, "address": any_address(CONFIG, mx9, tiles, source)}
        await session.run([random_command(mx9, source, **fields)])


@BENCH.test("aie_engine.one_result", "Results must not depend on the number of lanes")
async def same_on_every_engine(frame):
    """The same commands of every datapath on 4, 16 and 64 lanes and on both simulators give golden's results in every
    lane."""
    session = await Session.begin(frame, CONFIG)
    source = np.random.default_rng(FIXED_SEED)
    places, address = {}, 0
    for name in SAMPLES:
        await session.queue(random_command(KINDS[name], source, steps=2, tiles=1, address=address))
        places[name] = range(address, address + tile_words(CONFIG, KINDS[name]))
        address = places[name].stop
    received = await session.flush()
    results = [
        received[place.start : place.stop].reshape(-1)[: KINDS[name].mode.lanes] for name, place in places.items()
    ]
    if "BITPATH_RESULT" in os.environ:
        np.save(os.environ["BITPATH_RESULT"], np.concatenate(results))
