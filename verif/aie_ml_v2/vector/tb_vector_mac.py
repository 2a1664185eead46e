"""Bench of the vector multiply-accumulate: programs, exact stall cycles, every lane of every mode, host traffic.

Expected values come from golden before anything is driven.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from random import Random
from typing import Any

from cocotb.triggers import FallingEdge, Timer

from bitpath.golden.aie_ml_v2 import MacInstruction, issue_cycles, total_cycles
from bitpath.golden.aie_ml_v2.declarations.modes import INT8, TIMINGS, Shape
from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.aie_ml_v2.mac.config import BYTE, LANE_BITS, MacMode
from bitpath.rtl.aie_ml_v2.vector.config import VectorMacConfig, beat_layout
from bitpath.rtl.aie_ml_v2.vector.vector_mac import VectorMac, place_layout, word_bits, write_layout, written_layout
from bitpath.verif.aie_ml_v2.mac.mac import (
    CONTROL,
    FLOATS,
    KINDS,
    LANE_MASK,
    MX_MODES,
    LaneCase,
    MacOptions,
    options,
    random_operands,
    row_of,
    stream_bits,
)
from bitpath.verif.kit.unit_bench import (
    Bench,
    Context,
    Coverage,
    Shown,
    UnitBench,
    cases,
    covers,
    cross,
    pack,
    pauses,
    resolved,
)

# Cycle-accurate player of programs on the vector unit: compares issues, writes and values with golden; host accesses.


# Native instructions: tiles, their beats, and golden's results for the lanes of a part.


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """One native instruction for one part.

    Attributes
    ----------
    rows, columns : cases whose ``x`` are the rows of X and whose ``y`` are the columns of Y; the first row's case says how
        they are multiplied.
    part : the group of lanes.
    acc1, acc2 : registers read; None where left out.
    dst : the register written.
    options : the rest of the control word.
    """

    rows: tuple[LaneCase, ...]
    columns: tuple[LaneCase, ...]
    part: int
    acc1: int | None
    acc2: int | None
    dst: int
    options: MacOptions

    @property
    def mode(self) -> MacMode:
        return self.rows[0].mode

    @property
    def shape(self) -> Shape:
        return row_of(self.mode).shapes[0]

    def lane(self, lane: int, acc1: int | None = None, acc2: int | None = None) -> LaneCase:
        """Return the case of one lane of the tile with its accumulators."""
        row, column = divmod(lane, self.shape.n)
        x, y = self.rows[row], self.columns[column]
        return replace(self.rows[0], x=x.x, y=y.y, acc1=acc1, acc2=acc2, options=self.options)

    def result(self, config: VectorMacConfig, registers: dict[tuple[int, int], int]) -> int:
        """Return the new word of ``dst``, given the words of all (register, part)."""
        lanes = config.lanes
        words = [None if acc is None else registers[acc, self.part] for acc in (self.acc1, self.acc2)]
        out = 0
        for k in range(lanes):
            lane = self.part * lanes + k
            if lane < row_of(self.mode).lanes:
                codes = (None if word is None else word >> k * LANE_BITS & LANE_MASK for word in words)
                code = self.lane(lane, *codes).result(config.numerics)
            else:
                code = registers[self.dst, self.part] >> k * LANE_BITS & LANE_MASK
            out |= code << k * LANE_BITS
        return out

    def shown(self, config: VectorMacConfig, registers: dict[tuple[int, int], int], path: str) -> Shown:
        """Return the operands of the lane that differs, given the words of all (register, part) before."""
        lane = int(path or 0)
        names = {"place": f"register {self.dst}, lane {self.part * config.lanes + lane}"}
        names |= {name: f"register {value}" for name in ("acc1", "acc2") if (value := getattr(self, name)) is not None}
        where = {"instruction": ", ".join(f"{name} {text}" for name, text in names.items())}
        if self.part * config.lanes + lane >= row_of(self.mode).lanes:
            return Shown(operands=where | {"lane": "not one of this mode, whose register keeps it"})
        words = (None if acc is None else registers[acc, self.part] for acc in (self.acc1, self.acc2))
        codes = (None if word is None else word >> lane * LANE_BITS & LANE_MASK for word in words)
        found = self.lane(self.part * config.lanes + lane, *codes).shown(config.numerics)
        return replace(found, operands=where | dict(found.operands))

    def timed(self, config: VectorMacConfig) -> MacInstruction:
        """Return golden's instruction for the cycle model, in which each accumulator word is a register."""
        read = [acc for acc in (self.acc1, self.acc2) if acc is not None]
        place = config.parts * self.dst + self.part
        return MacInstruction(
            mode=self.mode.name.lower(),
            destination=place,
            accumulators=tuple(config.parts * acc + self.part for acc in read),
        )

    def beats(self, config: VectorMacConfig, junk: Random) -> Iterator[int]:
        """Return the payloads of ``beat_layout``; unused register indices are random."""
        layout = beat_layout(config)
        first = self.lane(0, *(None if acc is None else 0 for acc in (self.acc1, self.acc2)))
        acc1, acc2 = (junk.randrange(config.accumulators) if acc is None else acc for acc in (self.acc1, self.acc2))
        common = {
            "control": pack(CONTROL, first.control_fields()),
            "acc1": acc1,
            "acc2": acc2,
            "dst": self.dst,
            "part": self.part,
        }
        rows = [list(case.operand_fields()) for case in self.rows]
        columns = [list(case.operand_fields()) for case in self.columns]
        for beat in range(len(rows[0])):
            x, y = [each[beat] for each in rows], [each[beat] for each in columns]
            yield pack(layout, common | self._side("x", x) | self._side("y", y))

    def _side(self, side: str, parts: list[dict[str, int]]) -> dict[str, int]:
        """Concatenate the rows or columns of tiles; Y of floats and integers is row-major."""
        shape, mode = self.shape, self.mode
        if mode in MX_MODES:
            width = {MacMode.MX6: 5 * 16, MacMode.MX9: 8 * 8}[mode]
            return {
                side: stream_bits([each[side] for each in parts], width),
                f"{side}_exponents": stream_bits([each[f"{side}_exponent"] for each in parts], BYTE),
                f"{side}_shifts": stream_bits([each[f"{side}_shift"] for each in parts], BYTE),
            }
        width = row_of(mode).a_bits or row_of(mode).formats[0].width
        if side == "x":
            return {side: stream_bits([each[side] for each in parts], shape.k * width)}
        mask = (1 << width) - 1
        elements = [each[side] >> k * width & mask for k in range(shape.k) for each in parts]
        return {side: stream_bits(elements, width)}


def random_instruction(
    config: VectorMacConfig, rng: Random, kind: object | None = None, part: int | None = None
) -> Instruction:
    """Return an instruction of any kind with distinct rows and columns."""
    numerics = config.numerics
    kind = rng.choice(KINDS) if kind is None else kind
    first = random_operands(numerics, rng, kind)
    shape, row = row_of(first.mode).shapes[0], row_of(first.mode)
    rows = (first, *(random_operands(numerics, rng, kind, first) for _ in range(shape.m - 1)))
    columns = tuple(random_operands(numerics, rng, kind, first) for _ in range(shape.n))
    parts = max(1, row.lanes // config.lanes)

    def register(absent: float) -> int | None:
        return None if rng.random() < absent else rng.randrange(config.accumulators)

    return Instruction(
        rows=rows,
        columns=columns,
        part=rng.randrange(parts) if part is None else part,
        acc1=register(0.2),
        acc2=register(0.5),
        dst=rng.randrange(config.accumulators),
        options=options(rng, integer=kind in (MacMode.INT8, MacMode.INT16)),
    )


Place = tuple[int, int]
Word = tuple[int, Context]
"""A result word, and what a mismatch shows of it."""
LIMIT = 400
"""Cycles after which a program is considered hung."""


@dataclass
class Log:
    """Cycles of the first beats, of the last beats, and of the result writes."""

    issued: list[int] = field(default_factory=list)
    last_beats: list[int] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    superseded: int = 0


class VectorPlayer:
    """Driver and checker of all ports.

    Parameters
    ----------
    frame : of the test.
    config : of the unit.
    junk : fills what is not valid.
    """

    def __init__(self, frame: Bench, config: VectorMacConfig, junk: Random):
        self.frame, self.dut, self.config, self.junk = frame, frame.dut, config, junk
        self.place_layout = place_layout(config)
        self.registers: dict[Place, int] = {}
        self._contexts: dict[Place, Context] = {}  # of the registers' words
        self.values = frame.scoreboard("value", word_bits(config), {"": FP32}, output="o")
        self.places = frame.scoreboard("place", self.place_layout)
        for name in ("i", "write", "read", "o"):
            frame.onlook(name)
        frame.onlook("written", lambda: self.written().valid)

    def place_bits(self, place: Place) -> int:
        """Return the payload of an accumulator word's address."""
        return pack(self.place_layout, {"index": place[0], "part": place[1]})

    def written(self) -> Any:
        """The result that is written in this cycle, if it is valid."""
        return written_layout(self.config).from_bits(resolved(self.dut.written))

    async def preload(self) -> None:
        """Write every word of all accumulators, one a cycle."""
        dut, config = self.dut, self.config
        layout = write_layout(config)
        dut.o__ready.value = 1
        await FallingEdge(dut.clk)
        for place in ((index, part) for index in range(config.accumulators) for part in range(config.parts)):
            self.registers[place] = self.junk.getrandbits(word_bits(config))
            dut.write__payload.value = pack(layout, {"place": self.place_bits(place), "word": self.registers[place]})
            dut.write__valid.value = 1
            await Timer(1, unit="ns")
            assert resolved(dut.write__ready), f"nothing is on its way, and a write to {place} waits"
            await FallingEdge(dut.clk)
        dut.write__valid.value = 0

    async def read_all(self) -> None:
        """Read every word back and compare."""
        dut = self.dut
        dut.read__valid.value = 1
        for place, word in self.registers.items():
            dut.read__payload.value = self.place_bits(place)
            await FallingEdge(dut.clk)
            assert resolved(dut.o__valid), f"no answer to a read of {place}"
            self.values.expect(word, self._contexts.get(place, f"register {place[0]}, part {place[1]}, preloaded"))
            self.values.got(resolved(dut.o__payload))
        dut.read__valid.value = 0

    def expected(self, program: Sequence[Instruction]) -> list[Word]:
        """Return the words that a program writes, instruction by instruction, and update ``registers``."""
        words = []
        for each in program:
            context = partial(each.shown, self.config, dict(self.registers))
            words.append((each.result(self.config, self.registers), context))
            self.registers[each.dst, each.part], self._contexts[each.dst, each.part] = words[-1]
        return words

    async def run(self, program: Sequence[Instruction], words: Sequence[Word], gaps: Iterator[bool]) -> Log:
        """Play a program; every result is read in the cycle of its write and compared, unless another is due there."""
        dut, log = self.dut, Log()
        beats = deque(
            (number, bits, last)
            for number, each in enumerate(program)
            for bits, last in marked(list(each.beats(self.config, self.junk)))
        )
        due: deque[tuple[int, Place]] = deque()  # cycle of the write, place
        reading: tuple[Place, Word] | None = None
        in_second = False
        cycle, offered, idle = 0, False, 0
        flying = deque(zip((self.place_bits((each.dst, each.part)) for each in program), words, strict=True))
        dut.o__ready.value = 1
        while beats or due:
            assert idle < LIMIT, "the unit waits for ever"
            offered = bool(beats) and (offered or not next(gaps))
            number, bits, last = (
                beats[0] if offered else (0, self.junk.getrandbits(beat_layout(self.config).size), False)
            )
            dut.i__valid.value, dut.i__payload.value = int(offered), bits
            landed = self._landed(cycle, due, flying, log)
            later = {place for _, place in due}
            dut.read__valid.value = int(landed is not None)
            if landed is not None:
                dut.read__payload.value = self.place_bits(landed[0])
            await Timer(1, unit="ns")
            assert resolved(dut.busy) == int(offered or in_second or bool(due) or landed is not None), "busy is wrong"
            reading = None
            if landed is not None:
                assert resolved(dut.read__ready) == int(landed[0] not in later), f"read of {landed[0]} at its write"
                log.superseded += landed[0] in later
                reading = None if landed[0] in later else landed
            idle += 1
            if offered and resolved(dut.i__ready):
                beats.popleft()
                idle, offered = 0, False
                if not in_second:
                    log.issued.append(cycle)
                in_second = not last
                if last:
                    each = program[number]
                    log.last_beats.append(cycle)
                    timing = TIMINGS[row_of(each.mode).datapath]
                    due.append((cycle + timing.write - len(timing.operand_reads), (each.dst, each.part)))
            await FallingEdge(dut.clk)
            if reading is not None:
                assert resolved(dut.o__valid), f"no answer to a read of {reading[0]}"
                self.values.expect(*reading[1])
                self.values.got(resolved(dut.o__payload))
            cycle += 1
        dut.i__valid.value = 0
        dut.read__valid.value = 0
        return log

    def _landed(self, cycle: int, due: deque, flying: deque, log: Log) -> tuple[Place, Word] | None:
        """Check the result that is written in this cycle, if any, against the due result."""
        written = self.written()
        expected = bool(due) and due[0][0] == cycle
        assert bool(written.valid) == expected, f"cycle {cycle}: a result {'is missing' if expected else 'too many'}"
        if not expected:
            return None
        log.written.append(cycle)
        _, place = due.popleft()
        bits, word = flying.popleft()
        self.places.expect(bits, f"register {place[0]}, part {place[1]}")
        self.places.got(written.place.as_bits())
        return place, word


def marked(beats: list[Any]) -> list[tuple[Any, bool]]:
    """Return the beats, each with True if it is its instruction's last."""
    return [(bits, k == len(beats) - 1) for k, bits in enumerate(beats)]


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
