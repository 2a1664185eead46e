"""Bench of the vector multiply-accumulate: programs, exact stall cycles, every lane of every mode, host traffic.

Expected values come from golden before anything is driven.
"""

from collections import deque
from dataclasses import replace
from itertools import product
from random import Random

from cocotb.triggers import FallingEdge, Timer

from bitpath.golden.aie_ml_v2 import issue_cycles, total_cycles
from bitpath.golden.aie_ml_v2.declarations.modes import INT8, TIMINGS
from bitpath.rtl.aie_ml_v2.mac.config import MacMode
from bitpath.rtl.aie_ml_v2.vector.config import VectorMacConfig
from bitpath.rtl.aie_ml_v2.vector.vector_mac import VectorMac, word_bits, write_layout
from bitpath.verif.aie_ml_v2.mac.mac import FLOATS, KINDS, MacOptions, row_of
from bitpath.verif.aie_ml_v2.vector.tiles import Instruction, random_instruction
from bitpath.verif.aie_ml_v2.vector.vector_mac_player import Log, Place, VectorPlayer, marked
from bitpath.verif.kit.unit_bench import Coverage, UnitBench, cases, covers, cross, pack, pauses, resolved

# Host accesses during a program of the vector unit, checked against a model that follows the handshakes.


REGISTERS = 4
"""Registers of the traffic; the program uses the first three."""
TAIL = 20
"""Cycles after the last beat in which all accesses complete."""


async def play_traffic(player: VectorPlayer, program: list[Instruction], rng: Random, coverage: Coverage) -> None:
    """Play a program with host writes between; ``player.registers`` then holds golden's accumulators.

    An instruction whose last beat is taken in the cycle of a host write reads the new word; a host read in that cycle
    returns the old one.
    """
    dut, registers = player.dut, player.registers
    beats = deque(
        (each, bits, last) for each in program for bits, last in marked(list(each.beats(player.config, player.junk)))
    )
    write: tuple[Place, int] | None = None
    read: Place | None = None
    answers: deque[int] = deque()
    due: deque[int] = deque()
    tail = TAIL
    while tail:
        tail -= not beats
        offered = bool(beats) and rng.random() < 0.9
        write = write or ((_place(rng), rng.getrandbits(word_bits(player.config))) if rng.random() < 0.3 else None)
        read = read or (_place(rng) if rng.random() < 0.5 and tail == TAIL else None)
        ready = rng.random() < 0.7 or tail < TAIL
        _drive(player, beats[0][1] if offered else None, write, read, ready)
        await Timer(1, unit="ns")
        written = player.written()
        if written.valid:
            player.places.compare(written.place.as_bits(), due.popleft())
        if resolved(dut.o__valid):
            if not ready:
                coverage.hit("answer waits")
            else:
                player.values.compare(resolved(dut.o__payload), answers.popleft(), "an answer")
        if write is not None:
            passes = resolved(dut.write__ready)
            coverage.hit("write passes" if passes else "write waits")
            if passes:
                registers[write[0]] = write[1]
                write = None
        if read is not None:
            passes = resolved(dut.read__ready)
            if ready or not resolved(dut.o__valid):
                coverage.hit("read passes" if passes else "read waits")
            if passes:
                answers.append(registers[read])
                read = None
        if offered and resolved(dut.i__ready):
            each, _, last = beats.popleft()
            if last:
                due.append(player.place_bits((each.dst, each.part)))
                registers[each.dst, each.part] = each.result(player.config, registers)
        await FallingEdge(dut.clk)
    _drive(player, None, None, None, True)
    assert not answers
    assert not due


def _place(rng: Random) -> Place:
    """A word of the traffic's registers."""
    return rng.randrange(REGISTERS), 0


def _drive(
    player: VectorPlayer, beat: int | None, write: tuple[Place, int] | None, read: Place | None, ready: bool
) -> None:
    dut = player.dut
    dut.i__valid.value, dut.i__payload.value = int(beat is not None), beat or 0
    dut.write__valid.value, dut.read__valid.value, dut.o__ready.value = (
        int(write is not None),
        int(read is not None),
        int(ready),
    )
    if write is not None:
        place, word = write
        dut.write__payload.value = pack(write_layout(player.config), {"place": player.place_bits(place), "word": word})
    if read is not None:
        dut.read__payload.value = player.place_bits(read)


BENCH = UnitBench(VectorMac, VectorMacConfig, ms=100)
CONFIG = BENCH.config
CASES = cases(200)
FILLERS = 4
"""Numbers of independent instructions between a write and a dependent read."""
IDLE = MacOptions(multiplies=False)
PACES = {
    "full_speed": pauses.never,
    "bursts": lambda: pauses.bursts(9, pauses.rng("gaps")),
    "scattered": lambda: pauses.scattered(0.5, pauses.rng("gaps")),
}


def check_cycles(log: Log, program: list[Instruction]) -> list[int]:
    """Check issue and write cycles of a program without gaps against golden; return each instruction's stall cycles."""
    timed = [each.timed(CONFIG) for each in program]
    starts = issue_cycles(timed, numerics=CONFIG.numerics)
    first = log.issued[0]
    assert [cycle - first for cycle in log.issued] == starts
    writes = [
        start + TIMINGS[row_of(each.mode).datapath].write - 1 for start, each in zip(starts, program, strict=True)
    ]
    assert [cycle - first for cycle in log.written] == writes
    assert log.written[-1] - first + 1 == total_cycles(timed, numerics=CONFIG.numerics)
    free = [
        0,
        *(
            start + TIMINGS[row_of(each.mode).datapath].issue_interval
            for start, each in zip(starts, program, strict=True)
        ),
    ]
    return [start - earliest for start, earliest in zip(starts, free, strict=False)]


@covers(
    "vector_mac.programs",
    "Instructions of different latency must neither overtake each other nor lose results",
    "Random programs of all modes on few registers equal golden word by word, at full speed, in bursts and with "
    "scattered gaps, also between MX9's beats; all accumulators are read back at the end",
)
@covers(
    "vector_mac.cycles",
    "The timing table is part of the contract",
    "Cycles of issues and writes equal golden's: MX9's two beats, stalls for accumulators, write conflicts",
)
@BENCH.test(
    "vector_mac.busy",
    "The engine uses them to detect the end of a tile",
    "busy in every cycle, and written in exactly the cycle of each result's write",
    pace=list(PACES),
)
async def random_programs(frame, pace):
    """Instructions of all modes in random order on few registers and parts, so that they stall for each other."""
    rng = pauses.rng("program")
    parts = range(CONFIG.parts) if rng.random() < 0.5 else range(min(2, CONFIG.parts))
    player = VectorPlayer(frame, CONFIG, pauses.rng("junk"))
    await player.preload()
    program = [
        random_instruction(CONFIG, rng, part=rng.choice(parts[: _parts(kind)]), kind=kind)
        for kind in _kinds(rng, CASES)
    ]
    words = player.expected(program)
    log = await player.run(program, words, PACES[pace]())
    if pace == "full_speed":
        check_cycles(log, program)
    assert log.superseded < len(program) // 2, "too few results were compared"
    await player.read_all()


def _kinds(rng, count: int) -> list:
    return [rng.choice(KINDS) for _ in range(count)]


def _parts(kind) -> int:
    """Return the number of parts of a kind's tile."""
    return max(1, (row_of(kind).lanes if isinstance(kind, MacMode) else INT8.lanes) // CONFIG.lanes)


@covers("vector_mac.cycles")
@BENCH.test("vector_mac.waits", "Each pair of modes has its own minimum distance")
async def waits(frame):
    """Every mode reads the result of every other, with 0 to 4 independent instructions between; integers and MX6
    directly after floats."""
    rng = pauses.rng("waits")
    by_mode = {mode: next(kind for kind in KINDS if kind.name.upper() == mode.name) for mode in MacMode}
    names = [mode.name for mode in MacMode]
    coverage = frame.coverage(
        [*cross(["depends"], names, names, range(FILLERS + 1)), *cross(["conflict"], ("INT8", "INT16", "MX6"))]
    )
    player = VectorPlayer(frame, CONFIG, pauses.rng("junk"))
    await player.preload()
    for (first, second), fillers in product(product(MacMode, repeat=2), range(FILLERS + 1)):
        program = _chain(rng, by_mode, first, second, fillers)
        log = await player.run(program, player.expected(program), pauses.never())
        waited = check_cycles(log, program)
        coverage.hit("depends", first.name, second.name, fillers)
        if first in FLOATS and program[1].mode not in (*FLOATS, MacMode.MX9) and fillers and waited[1] == 1:
            coverage.hit("conflict", program[1].mode.name)


def _chain(rng, by_mode: dict, first: MacMode, second: MacMode, fillers: int) -> list[Instruction]:
    """Return a write of register 0, independent instructions, and a read of it as acc1 or acc2."""
    writer = replace(random_instruction(CONFIG, rng, by_mode[first], part=0), dst=0)
    others = [
        replace(random_instruction(CONFIG, rng, rng.choice(KINDS), part=0), acc1=None, acc2=None, dst=1, options=IDLE)
        for _ in range(fillers)
    ]
    reads = {"acc1": 0, "acc2": None} if rng.getrandbits(1) else {"acc1": None, "acc2": 0}
    reader = replace(random_instruction(CONFIG, rng, by_mode[second], part=0), dst=rng.randrange(2), **reads)
    return [writer, *others, reader]


@covers("vector_mac.cycles")
@BENCH.test("vector_mac.lanes", "The permute network has a separate path for each")
async def every_lane(frame):
    """Every part of every mode's tile with distinct rows and columns; 1, 4 and 64 lanes; accumulator lanes that a mode
    does not use stay unchanged."""
    rng = pauses.rng("lanes")
    names = [f"{kind.name}/{part}" for kind in KINDS for part in range(_parts(kind))]
    program = [random_instruction(CONFIG, rng, kind, part=part) for kind in KINDS for part in range(_parts(kind))]
    coverage = frame.coverage(names)
    player = VectorPlayer(frame, CONFIG, pauses.rng("junk"))
    await player.preload()
    words = player.expected(program)
    for name in names:
        coverage.hit(name)
    log = await player.run(program, words, pauses.never())
    check_cycles(log, program)
    await player.read_all()


@BENCH.test("vector_mac.outside", "Cascade and engine use these ports while instructions are in flight")
async def outside_traffic(frame):
    """Host reads and writes during a program: each sees all instructions issued before it and none issued after it;
    answers stall."""
    rng = pauses.rng("traffic")
    program = [
        replace(
            random_instruction(CONFIG, rng, part=0), dst=rng.randrange(3), acc1=rng.randrange(3), acc2=rng.randrange(3)
        )
        for _ in range(max(10, CASES // 2))
    ]
    coverage = frame.coverage(["write waits", "read waits", "write passes", "read passes", "answer waits"])
    player = VectorPlayer(frame, CONFIG, pauses.rng("junk"))
    await player.preload()
    await play_traffic(player, program, rng, coverage)
    await player.read_all()
