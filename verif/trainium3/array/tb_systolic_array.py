"""Bench of the systolic array: every tiling, loads behind multiplications, freezes at any time, cycle by cycle.

A phase gives memory, FP4 map, tiling and every cycle's control and partial sums; what must come out, and in which
cycle, is worked out by golden before anything is driven. ``BITPATH_CASES`` sets the moving words of a tile's load.
"""

from functools import partial
from random import Random

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge

from bitpath.golden.formats.catalogue import E8M0, FP32
from bitpath.rtl.trainium3.array.systolic_array import Tiling, leader
from bitpath.rtl.trainium3.dot.element_map import ElementFormat, MapTable
from bitpath.verif.common.fp32 import numbers as fp32
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench
from bitpath.verif.kit.coverage import Coverage, cross
from bitpath.verif.kit.packing import pack, width
from bitpath.verif.kit.streams import resolved
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.array.systolic_array_phases import (
    CASES,
    COLS,
    CONFIG,
    CONTROL,
    EVENTS,
    FORMATS,
    GROUPS,
    KINDS,
    LIMIT,
    NUMERICS,
    PACES,
    ROWS,
    SIGNATURE,
    TILINGS,
    VECTOR_BITS,
    WORDS,
    WRITE,
    Image,
    Phase,
    Result,
    Step,
    Table,
    addresses_of,
    kind,
    latency,
    leaders,
    packed,
    random_image,
    random_partial,
    random_table,
    tile_steps,
)
from bitpath.verif.trainium3.dot.quad_mx import on_grid


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
@covers(
    "systolic_array.writes",
    "The host fills memory for the next instruction during the present one",
    "Operands written during multiplications and stalls, group by group with random words for the others",
)
@cocotb.test(**LIMIT)
@cocotb.parametrize(pace=list(PACES))
async def random_tiles(dut, pace):
    """Every tiling, up and down again, tiles with operands, formats and paces of their own."""
    gap, freeze = PACES[pace]
    rng = pauses.rng("program")
    async with bench(dut, SIGNATURE) as frame:
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
@covers("systolic_array.freezes")
@cocotb.test(**LIMIT)
@cocotb.parametrize(freeze=[0.0, 0.3])
async def loads_at_the_shortest_distance(dut, freeze):
    """The next tile loads while the present one multiplies, cols cycles after a swap, its last word with the next swap."""
    rng = pauses.rng("program")
    async with bench(dut, SIGNATURE) as frame:
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


@covers("systolic_array.partial_sums", "A contraction of several passes needs partial sums to return unchanged")
@cocotb.test(**LIMIT)
async def partial_sums_pass(dut):
    """Zeros of both signs, subnormals, neighbours of powers of two, infinities and NaNs enter from above."""
    async with bench(dut, SIGNATURE) as frame:
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


@covers("systolic_array.skew", "Equal operands would hide a late column or a neighbour's result")
@cocotb.test(**LIMIT)
async def every_column_and_word_is_its_own(dut):
    """Every result of every column and word is a different number."""
    powers = np.array([0x38, 0x40, 0x48, 0x50, 0x58, 0x60, 0x68, 0x70], np.uint8)  # E4M3: 1, 2, 4, ... 128
    async with bench(dut, SIGNATURE) as frame:
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


@covers(
    "systolic_array.latency",
    "The engine relies on it, and a data check alone accepts a word that is early or late",
)
@cocotb.test(**LIMIT)
async def latency_of_single_words(dut):
    """result_valid in every cycle, and single words: tile_rows * row_latency + cols + 1 cycles."""
    rng = pauses.rng("program")
    async with bench(dut, SIGNATURE) as frame:
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
