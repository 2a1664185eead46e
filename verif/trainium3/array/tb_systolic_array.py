"""Bench of the systolic array: every tiling, loads behind multiplications, freezes at any time, cycle by cycle.

A phase gives memory, FP4 map, tiling and every cycle's control and partial sums; what must come out, and in which
cycle, is worked out by golden before anything is driven.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import NamedTuple

import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.formats.catalogue import E8M0, FP32, FloatFormat
from bitpath.golden.scalar.codec import Kind, decode
from bitpath.golden.trainium3.matmul.array import chain_rows
from bitpath.rtl.trainium3.array.config import ArrayConfig
from bitpath.rtl.trainium3.array.operand_row import control_layout
from bitpath.rtl.trainium3.array.systolic_array import (
    SystolicArray,
    Tiling,
    leader,
    operand_write_layout,
    tile_groups,
    tilings,
)
from bitpath.rtl.trainium3.dot.element_map import ElementFormat, MapTable
from bitpath.verif.common.dot.cases import finite_code, on_grid
from bitpath.verif.common.fp32 import numbers as fp32
from bitpath.verif.kit.unit_bench import (
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
    width,
)
from bitpath.verif.kit.values import code_text
from bitpath.verif.trainium3.dot.quad_mx import chain_shown, column_cases, word_formats

# Phases of the systolic array's bench: stimulus of every cycle, and what golden says must come out in which.


BENCH = UnitBench(SystolicArray, ArrayConfig, ms=2)
CONFIG = BENCH.config
NUMERICS = CONFIG.dot.numerics
ROWS, COLS, GROUPS = CONFIG.rows, CONFIG.cols, CONFIG.groups
VECTOR_BITS = COLS * FP32.width
CONTROL, WRITE = control_layout(CONFIG), operand_write_layout(CONFIG)
WORDS = min(CONFIG.operand_depth // 2, max(24, COLS + 1))
"""Words of a phase, at one end of memory; the other end is written for the phase after it meanwhile."""
CASES = cases(40)
TILINGS = tilings(CONFIG)
FORMATS = word_formats(NUMERICS)
KINDS = ("zero", "-zero", "subnormal", "normal", "inf", "nan")
EVENTS = ("load beside valid", "swap with valid", "swap with last load", "load cols after swap", "pause between words")
PACES = {"full_speed": (0.0, 0.0), "gaps": (0.4, 0.0), "freezes": (0.0, 0.4), "both": (0.3, 0.3)}
"""How often a tile's control pauses by itself, and how often the whole array is frozen."""


def tile_rows(tiling: Tiling) -> int:
    return tile_groups(CONFIG, tiling) * CONFIG.group_rows


def latency(tiling: Tiling) -> int:
    """Cycles from a word's control to its result, as the array documents."""
    return tile_rows(tiling) * (CONFIG.dot.pipeline.stages + 1) + COLS + 1


def leaders(tiling: Tiling) -> list[int]:
    """The groups that lead a tile."""
    return [group for group in range(GROUPS) if leader(CONFIG, group, tiling) == group]


def packed(vector: Sequence[int]) -> int:
    """A vector as the ports carry it, column 0 lowest."""
    return sum(word << FP32.width * c for c, word in enumerate(vector))


def kind(code: int) -> str:
    """Class of an FP32 code in the bins."""
    unpacked = decode(FP32, code)
    if unpacked.kind is not Kind.FINITE:
        return "nan" if unpacked.kind is Kind.NAN else "inf"
    if unpacked.is_zero:
        return "-zero" if unpacked.sign else "zero"
    return "subnormal" if code & ~FP32.sign_mask < 1 << FP32.fraction_bits else "normal"


EDGES_OF_KIND = {name: [code for code in fp32.EDGES if kind(code) == name] for name in KINDS}


@dataclass(frozen=True)
class Image:
    """A phase's operand words: format of each address, FP8 or FP4 codes [rows, WORDS, 4], scales [rows, WORDS]."""

    formats: list[ElementFormat]
    codes: np.ndarray
    scales: np.ndarray

    def word(self, row: int, address: int, junk: Random) -> dict[str, int]:
        """An operand word; bits above four E2M1 elements are junk."""
        is_fp4 = self.formats[address] is ElementFormat.E2M1
        bits = 4 if is_fp4 else 8
        elements = sum(int(code) << bits * k for k, code in enumerate(self.codes[row, address]))
        elements |= junk.getrandbits(16) << 16 if is_fp4 else 0
        return {"elements": elements, "scale": int(self.scales[row, address])}


@dataclass(frozen=True)
class Table:
    """An FP4 map with its format."""

    codes: tuple[int, ...]
    code_format: int

    def fields(self) -> dict[str, object]:
        return {"codes": list(self.codes), "code_format": self.code_format}


@dataclass
class Step:
    """Control of one tile in one cycle."""

    valid: int = 0
    swap: int = 0
    load: int = 0
    moving: int = 0
    stationary: int = 0
    partial: tuple[int, ...] = (0,) * COLS


class Result(NamedTuple):
    """Codes of a result vector, and the parts that a mismatch shows of it."""

    codes: tuple[int, ...]
    context: Context


@dataclass
class Phase:
    """A stretch of cycles under one tiling, map and memory image; ``upper`` says at which end it lies."""

    tiling: Tiling
    table: Table
    image: Image
    upper: int
    steps: dict[int, list[Step]] = field(default_factory=dict)

    @property
    def base(self) -> int:
        return self.upper * (CONFIG.operand_depth - WORDS)

    @property
    def length(self) -> int:
        return max(len(steps) for steps in self.steps.values())

    def expected(self) -> dict[int, dict[int, Result]]:
        """The result vectors of each cycle, by leading group."""
        results: dict[int, dict[int, Result]] = {}
        for group, steps in self.steps.items():
            for cycle, result in self._tile(group, steps):
                results.setdefault(cycle + latency(self.tiling), {})[group] = result
        return results

    def _tile(self, group: int, steps: list[Step]) -> Iterator[tuple[int, Result]]:
        """Cycle and result of each word of a tile; golden computes all words of one load and one format at once."""
        shifted: list[int] = []
        held: list[int] | None = None
        words: list[int] = []
        for cycle, step in enumerate(steps):
            if step.valid:
                words.append(cycle)
            if step.load:
                shifted.append(step.stationary)
            if step.swap:
                yield from self._multiply(group, held, [(c, steps[c]) for c in words])
                # The last column's word comes first.
                held, words = shifted[-1 : -COLS - 1 : -1], []
        yield from self._multiply(group, held, [(c, steps[c]) for c in words])

    def _multiply(self, group: int, held: list[int] | None, words: list[tuple[int, Step]]):
        if not words:
            return
        rows = slice(group * CONFIG.group_rows, group * CONFIG.group_rows + tile_rows(self.tiling))
        stationary = self._operand(rows, held)
        for fmt in FORMATS:
            chosen = [(cycle, step) for cycle, step in words if self.image.formats[step.moving] is fmt]
            if not chosen:
                continue
            start = np.array([step.partial for _, step in chosen], np.uint32).T
            moving = self._operand(rows, [step.moving for _, step in chosen])
            result = chain_rows(NUMERICS, *stationary, *moving, start=start)
            for (cycle, step), vector in zip(chosen, result.T, strict=True):
                yield cycle, Result(tuple(vector.tolist()), partial(self._shown, rows, held, cycle, step))

    def _shown(self, rows: slice, held: list[int], cycle: int, step: Step, column: str) -> Shown:
        """The last step of a column for the word of a cycle."""
        column = int(column or 0)
        codes, fmt, scales = self._operand(rows, held)
        moving, moving_format, moving_scales = self._operand(rows, [step.moving])
        cases = column_cases(
            (codes[:, column], fmt, scales[:, column]), (moving[:, 0], moving_format, moving_scales[:, 0])
        )
        cases[0] = replace(cases[0], partial=step.partial[column])
        tile = f"{self.tiling.name}, rows {rows.start} to {rows.stop - 1}, column {column}, word of cycle {cycle}"
        return chain_shown(NUMERICS, cases, {"tile": tile, "enters": code_text(FP32, step.partial[column])})

    def _operand(self, rows: slice, addresses: list[int]) -> tuple[np.ndarray, FloatFormat, np.ndarray]:
        """Codes, format and scales of some words, as the PEs take them; all addresses have one format."""
        fmt = self.image.formats[addresses[0]]
        codes = self.image.codes[rows, addresses]
        index = fmt.value
        if fmt is ElementFormat.E2M1:
            codes = np.array(self.table.codes, np.uint8)[codes]
            index = self.table.code_format
        return codes, NUMERICS.element_formats[index], self.image.scales[rows, addresses]


def random_table(rng: Random) -> Table:
    """Any finite codes, of either format: as far from the exact map as can be."""
    code_format = rng.getrandbits(1) % len(NUMERICS.element_formats)
    fmt = NUMERICS.element_formats[code_format]
    return Table(tuple(finite_code(fmt, rng) for _ in range(16)), code_format)


def random_image(rng: Random) -> Image:
    """An image with a third of the addresses for each format, scales near each other, and a few non-finite operands."""
    source = np.random.default_rng(rng.getrandbits(64))
    formats = [FORMATS[address % len(FORMATS)] for address in range(WORDS)]
    codes = source.integers(0, 256, (ROWS, WORDS, 4), dtype=np.uint8)
    # So rare that most results of the tallest tile are finite: a result sees 8 elements a row.
    rare = 0.15 / (8 * ROWS)
    for address, fmt in enumerate(formats):
        if fmt is ElementFormat.E2M1:
            codes[:, address] &= 15
            continue
        element = NUMERICS.element_formats[fmt.value]
        special = (codes[:, address] & ~np.uint8(element.sign_mask)) > element.max_code
        kept = source.random(special.shape) < rare * 256 / 3
        codes[:, address] = np.where(special & ~kept, codes[:, address] & 0x83, codes[:, address])
    scales = source.integers(117, 138, (ROWS, WORDS), dtype=np.uint8)
    extremes = source.choice(np.array([0, 1, 253, 254, 255], np.uint8), scales.shape)
    return Image(formats, codes, np.where(source.random(scales.shape) < rare, extremes, scales))


def random_partial(rng: Random) -> tuple[int, ...]:
    """Mostly near the products; in every third vector an edge, of a kind as likely as any other."""
    vector = [on_grid(NUMERICS, fp32.mixed(rng)) for _ in range(COLS)]
    if not rng.randrange(3):
        vector[rng.randrange(COLS)] = on_grid(NUMERICS, rng.choice(EDGES_OF_KIND[rng.choice(KINDS)]))
    return tuple(vector)


def addresses_of(image: Image, fmt: ElementFormat) -> list[int]:
    return [address for address, each in enumerate(image.formats) if each is fmt]


def tile_steps(rng: Random, image: Image, loads: int, words: int, gap: float, coverage: Coverage | None) -> list[Step]:
    """Load after load, each used by up to ``words`` moving words of all formats, as soon as the rules and ``gap`` allow.

    A load begins ``COLS`` cycles after the swap before it at the earliest, and a swap comes with the load's last word at
    the earliest.
    """

    def hit(*bins: object) -> None:
        if coverage is not None:
            coverage.hit(*bins)

    by_format = [addresses_of(image, fmt) for fmt in FORMATS]
    steps: list[Step] = []
    free_at, swap_at, column, left, used, loaded = 0, None, 0, 0, 0, 0
    first = rng.randrange(len(FORMATS))
    while used < loads or left:
        step, now = Step(), len(steps)
        if left and rng.random() >= gap:
            stationary_format = FORMATS[(first + used - 1) % len(FORMATS)]
            step.valid, left = 1, left - 1
            step.moving = rng.choice(by_format[(left + used) % len(FORMATS)])
            step.partial = random_partial(rng)
            hit(stationary_format.name, image.formats[step.moving].name)
        elif left:
            hit("pause between words")
        if loaded == used and loaded < loads and now >= free_at and rng.random() >= gap:
            step.load, column = 1, column + 1
            step.stationary = rng.choice(by_format[(first + loaded) % len(FORMATS)])
            if column == 1 and now == free_at and swap_at is not None:
                hit("load cols after swap")
            if step.valid:
                hit("load beside valid")
            if column == COLS:
                column, loaded = 0, loaded + 1
        if loaded > used and not left and rng.random() >= gap:
            step.swap, used, left = 1, used + 1, rng.randint(max(1, words // 2), words)
            swap_at, free_at = now, now + COLS
            if step.valid:
                hit("swap with valid")
            if step.load:
                hit("swap with last load")
        steps.append(step)
    return steps


class Player:
    """Drives phases and compares the outputs of every cycle, stalled ones included."""

    def __init__(self, frame, freeze: float, coverage: Coverage | None = None):
        self.dut, self.coverage = frame.dut, coverage
        self.freezes = pauses.scattered(freeze, pauses.rng("advance"))
        self.junk = pauses.rng("junk")
        self.boards = [
            frame.scoreboard(f"group {group}", VECTOR_BITS, {"": FP32}, output="result", lowest=group * VECTOR_BITS)
            for group in range(GROUPS)
        ]
        self.writes: list[int] = []
        frame.onlook("write", lambda: WRITE.from_bits(resolved(self.dut.write)).groups)
        for group in range(GROUPS):
            frame.onlook(f"control {group}", partial(self._word_enters, group), "advance")
            frame.onlook(f"result {group}", partial(self._result_leaves, group), "advance")

    def _word_enters(self, group: int) -> int:
        """1 if the group leads a tile and its control is valid."""
        control = resolved(self.dut.control) >> group * width(CONTROL) & (1 << width(CONTROL)) - 1
        leads = leader(CONFIG, group, Tiling(resolved(self.dut.tiling))) == group
        return leads and CONTROL.from_bits(control).valid

    def _result_leaves(self, group: int) -> int:
        return resolved(self.dut.result_valid) >> group & 1

    def _hit(self, name: str) -> None:
        if self.coverage is not None and name in self.coverage.counts:
            self.coverage.hit(name)

    def queue_image(self, phase: Phase) -> None:
        """The writes of a phase's image: each row group's words at times of their own, junk for the others."""
        for address in range(WORDS):
            words = [phase.image.word(row, address, self.junk) for row in range(ROWS)]
            first = self.junk.randrange(1, 1 << GROUPS)
            for mask in (first, (1 << GROUPS) - 1 & ~first):
                if mask:
                    shown = [
                        word
                        if mask >> row // CONFIG.group_rows & 1
                        else {"elements": self.junk.getrandbits(32), "scale": self.junk.getrandbits(8)}
                        for row, word in enumerate(words)
                    ]
                    at = phase.base + address
                    self.writes.append(pack(WRITE, {"words": shown, "address": at, "groups": mask}))

    async def play(self, phases: list[Phase]) -> None:
        """Phase after phase; a phase's image is written while the one before it runs."""
        self.queue_image(phases[0])
        while self.writes:
            await self._cycle(None, 0, {})
        for phase, after in zip(phases, [*phases[1:], None], strict=True):
            expected = phase.expected()
            self.dut.tiling.value = phase.tiling.value
            self.dut.fp4_table.value = pack(MapTable, phase.table.fields())
            if after is not None:
                self.queue_image(after)
            count = 0
            for group, board in enumerate(self.boards):
                for cycle in sorted(expected):
                    if group in expected[cycle]:
                        codes, context = expected[cycle][group]
                        board.expect(packed(codes), context)
            while count <= phase.length + latency(phase.tiling) or self.writes:
                count += await self._cycle(phase, count, expected.get(count, {}))

    async def _cycle(self, phase: Phase | None, count: int, expected: dict[int, Result]) -> bool:
        """One clock cycle; returns whether the array advanced in it."""
        dut = self.dut
        advance = not next(self.freezes)
        dut.advance.value = int(advance)
        self._drive(phase, count, advance)
        write = bool(self.writes) and self.junk.random() < 0.8
        dut.write.value = self.writes.pop(0) if write else self._no_write()
        self._hit("write while frozen") if write and not advance else None
        self._hit("write beside words") if write and phase is not None and count < phase.length else None
        await FallingEdge(dut.clk)
        valid = resolved(dut.result_valid)
        mask = sum(1 << group for group in expected)
        assert valid == mask, f"cycle {count} of a phase: result_valid is {valid:#b}, expected {mask:#b}"
        if mask:
            result = resolved(dut.result)
            for group, (words, _) in expected.items():
                vector = result >> group * VECTOR_BITS & (1 << VECTOR_BITS) - 1
                if advance:
                    self.boards[group].got(vector)
                    continue
                self._hit("frozen result")
                want = packed(words)
                assert vector == want, f"group {group}: a frozen result is {vector:#x}, expected {want:#x}"
        await RisingEdge(dut.clk)
        return advance

    def _drive(self, phase: Phase | None, count: int, advance: bool) -> None:
        """Control and partial sums of every group: the tiles' own, and junk where nothing may look."""
        bits = width(CONTROL)
        control = partial = 0
        for group in range(GROUPS):
            steps = phase.steps.get(group) if phase else None
            step = steps[count] if steps and count < len(steps) else Step() if phase is None or steps else None
            base = phase.base if phase else 0
            if step is None or not advance:
                # A group that leads no tile, or a frozen array.
                control |= self.junk.getrandbits(bits) << group * bits
                partial |= self.junk.getrandbits(VECTOR_BITS) << group * VECTOR_BITS
                continue
            formats = phase.image.formats if phase else [ElementFormat.E4M3FN]
            fields = {
                "moving_address": base + step.moving,
                "stationary_address": base + step.stationary,
                "moving_format": formats[step.moving] if step.valid else self.junk.choice(FORMATS),
                "stationary_format": formats[step.stationary] if step.load else self.junk.choice(FORMATS),
                "valid": step.valid,
                "swap": step.swap,
                "load": step.load,
            }
            control |= pack(CONTROL, fields) << group * bits
            vector = step.partial if step.valid else [self.junk.getrandbits(FP32.width) for _ in range(COLS)]
            partial |= packed(vector) << group * VECTOR_BITS
        self.dut.control.value = control
        self.dut.partial.value = partial

    def _no_write(self) -> int:
        """Words and an address that no group stores."""
        mask = ((1 << GROUPS) - 1) << WRITE["groups"].offset
        return self.junk.getrandbits(width(WRITE)) & ~mask


def cover_values(phase: Phase, coverage: Coverage) -> None:
    """Tiles, and the kinds of partial sums that enter them."""
    for group, steps in phase.steps.items():
        coverage.hit(phase.tiling.name, group)
        for step in steps:
            for code in step.partial if step.valid else ():
                coverage.hit("partial", kind(code))


def result_kinds(phases: list[Phase]) -> list[str]:
    return [
        kind(code)
        for phase in phases
        for vectors in phase.expected().values()
        for vector in vectors.values()
        for code in vector.codes
    ]


VALUE_BINS = [*cross(["partial"], KINDS), *(f"{t.name}/{group}" for t in TILINGS for group in leaders(t))]
FORMAT_BINS = cross([f.name for f in FORMATS], [f.name for f in FORMATS])


@covers(
    "systolic_array.tilings",
    "A tile's control, partial sums and results are routed by its leading group: a wrong choice mixes tiles",
    "Full, halves and quarters at once, up and down again, each tile with its own operands, formats and pace",
)
@covers("systolic_array.latency")
@covers("systolic_array.load_behind")
@covers(
    "systolic_array.freezes",
    "One register without its enable would shift a tile out of step",
    "advance low at random, with random control and partial sums: all registers hold",
)
@covers("systolic_array.partial_sums")
@covers(
    "systolic_array.formats",
    "The format travels with the operand; the exact map would hide a table with permuted entries",
    "Every pair of E4M3, E5M2 and E2M1, mixed from load to load and from word to word, E2M1 through a random map",
)
@BENCH.test(
    "systolic_array.writes",
    "The host fills memory for the next instruction during the present one",
    "Operands written during multiplications and stalls, group by group with random words for the others",
    pace=list(PACES),
)
async def random_tiles(frame, pace):
    """Every tiling, up and down again, tiles with operands, formats and paces of their own."""
    gap, freeze = PACES[pace]
    rng = pauses.rng("program")
    events = [name for name in EVENTS if gap or name != "pause between words"]
    events += ["write beside words", *(["write while frozen", "frozen result"] if freeze else [])]
    coverage = frame.coverage([*VALUE_BINS, *FORMAT_BINS, *events])
    phases = []
    for index, tiling in enumerate([*TILINGS, *reversed(TILINGS)]):
        phase = Phase(tiling, random_table(rng), random_image(rng), index % 2)
        for group in leaders(tiling):
            phase.steps[group] = tile_steps(rng, phase.image, 4, CASES, gap, coverage)
        cover_values(phase, coverage)
        phases.append(phase)
    kinds = result_kinds(phases)
    assert 2 * kinds.count("normal") > len(kinds), "too few results show every bit"
    await Player(frame, freeze, coverage).play(phases)


@covers(
    "systolic_array.load_behind",
    "One cycle earlier it would overwrite operands that the last column has not swapped yet",
)
@BENCH.test("systolic_array.freezes", freeze=[0.0, 0.3])
async def loads_at_the_shortest_distance(frame, freeze):
    """The next tile loads while the present one multiplies, cols cycles after a swap, its last word with the next swap."""
    rng = pauses.rng("program")
    phases = []
    for index, tiling in enumerate(TILINGS):
        phase = Phase(tiling, random_table(rng), random_image(rng), index % 2)
        for group in leaders(tiling):
            phase.steps[group] = shortest_steps(rng, phase.image, loads=5)
        phases.append(phase)
    await Player(frame, freeze).play(phases)


def shortest_steps(rng: Random, image: Image, loads: int) -> list[Step]:
    """A word in every cycle after the first swap, the swap's own cycle included."""
    steps = []
    for index in range(loads):
        fmt = addresses_of(image, FORMATS[index % len(FORMATS)])
        waiting = COLS if index else 0
        steps += [Step() for _ in range(waiting)]
        steps += [Step(load=1, stationary=rng.choice(fmt)) for _ in range(COLS)]
        steps[-1].swap = 1
    steps += [Step() for _ in range(2 * COLS)]
    for step in steps[COLS:]:
        step.valid, step.moving, step.partial = 1, rng.randrange(WORDS), random_partial(rng)
    return steps


def plain_image(codes: np.ndarray) -> Image:
    """E4M3 codes [rows, addresses, 4] at the lowest addresses, +0 above them, all scales 1."""
    whole = np.zeros((ROWS, WORDS, 4), np.uint8)
    whole[:, : codes.shape[1]] = codes
    return Image([ElementFormat.E4M3FN] * WORDS, whole, np.full((ROWS, WORDS), E8M0.bias, np.uint8))


def loaded_with(addresses: list[int]) -> list[Step]:
    """A load of one address for each column, and its swap."""
    steps = [Step(load=1, stationary=address) for address in reversed(addresses)]
    steps[-1].swap = 1
    return steps


@BENCH.test("systolic_array.partial_sums", "A contraction of several passes needs partial sums to return unchanged")
async def partial_sums_pass(frame):
    """Zeros of both signs, subnormals, neighbours of powers of two, infinities and NaNs enter from above."""
    codes = np.zeros((ROWS, 2, 4), np.uint8)
    codes[:, 1] = 0x80
    kept = [name for name in KINDS if NUMERICS.accumulator_subnormals or name != "subnormal"]
    coverage = frame.coverage([*cross(["partial"], KINDS), *cross(["result"], kept)])
    edges = [on_grid(NUMERICS, code) for code in fp32.EDGES]
    phases = []
    for index, tiling in enumerate(TILINGS):
        phase = Phase(tiling, Table((0,) * 16, 0), plain_image(codes), index % 2)
        for group in leaders(tiling):
            steps = loaded_with([1] * COLS)
            # Each edge enters at each column's turn.
            for at in range(len(edges)):
                vector = tuple(edges[(at + c * 5) % len(edges)] for c in range(COLS))
                for code in vector:
                    coverage.hit("partial", kind(code))
                steps.append(Step(valid=1, moving=0, partial=vector))
            phase.steps[group] = steps
        phases.append(phase)
    for name in result_kinds(phases):
        coverage.hit("result", name)
    await Player(frame, 0.2).play(phases)


@BENCH.test("systolic_array.skew", "Equal operands would hide a late column or a neighbour's result")
async def every_column_and_word_is_its_own(frame):
    """Every result of every column and word is a different number."""
    powers = np.array([0x38, 0x40, 0x48, 0x50, 0x58, 0x60, 0x68, 0x70], np.uint8)  # E4M3: 1, 2, 4, ... 128
    words = 3 * COLS
    phases = []
    for index, tiling in enumerate(TILINGS):
        codes = np.zeros((ROWS, COLS + 1, 4), np.uint8)
        for group in leaders(tiling):
            # One row of each tile has something in it, so that a result is 2**(c % 8) + partial sum.
            row = group * CONFIG.group_rows
            codes[row, :COLS, 0] = powers[np.arange(COLS) % 8]
            codes[row, COLS, 0] = powers[0]
        phase = Phase(tiling, Table((0,) * 16, 0), plain_image(codes), index % 2)
        names = set()
        for group in leaders(tiling):
            steps = loaded_with(list(range(COLS)))
            for word in range(words):
                serial = [256 * ((group * words + word) * COLS + c) for c in range(COLS)]
                vector = tuple(int(np.float32(number).view(np.uint32)) for number in serial)
                steps.append(Step(valid=1, moving=COLS, partial=vector))
            phase.steps[group] = steps
        for vectors in phase.expected().values():
            names |= {code for vector in vectors.values() for code in vector.codes}
        assert len(names) == len(leaders(tiling)) * words * COLS, "results are not all different"
        phases.append(phase)
    await Player(frame, 0.2).play(phases)


@BENCH.test(
    "systolic_array.latency", "The engine relies on it, and a data check alone accepts a word that is early or late"
)
async def latency_of_single_words(frame):
    """result_valid in every cycle, and single words: tile_rows * row_latency + cols + 1 cycles."""
    rng = pauses.rng("program")
    phases = []
    for index, tiling in enumerate(TILINGS):
        phase = Phase(tiling, random_table(rng), random_image(rng), index % 2)
        for group in leaders(tiling):
            steps = loaded_with(
                [rng.choice(addresses_of(phase.image, FORMATS[index % len(FORMATS)])) for _ in range(COLS)]
            )
            for _ in range(2):
                # Also before the swap has passed the last column: the word follows it.
                steps.append(Step(valid=1, moving=rng.randrange(WORDS), partial=random_partial(rng)))
                steps += [Step() for _ in range(latency(tiling) + group)]
            phase.steps[group] = steps
        assert min(phase.expected()) == COLS + latency(tiling)
        phases.append(phase)
    await Player(frame, 0.0).play(phases)
