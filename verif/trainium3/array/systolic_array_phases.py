"""Phases of the systolic array's bench: stimulus of every cycle, and what golden says must come out in which."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import NamedTuple

import numpy as np

from bitpath.golden.formats.catalogue import FP32, FloatFormat
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
from bitpath.rtl.trainium3.dot.element_map import ElementFormat
from bitpath.verif.common.fp32 import numbers as fp32
from bitpath.verif.kit.bench import config_from_environment
from bitpath.verif.kit.coverage import Coverage
from bitpath.verif.kit.mismatches import Context, Shown
from bitpath.verif.kit.values import code_text
from bitpath.verif.trainium3.dot.quad_mx import chain_shown, column_cases, finite_code, on_grid, word_formats

CONFIG = config_from_environment(ArrayConfig)
NUMERICS = CONFIG.dot.numerics
SIGNATURE = SystolicArray(CONFIG).signature
ROWS, COLS, GROUPS = CONFIG.rows, CONFIG.cols, CONFIG.groups
VECTOR_BITS = COLS * FP32.width
CONTROL, WRITE = control_layout(CONFIG), operand_write_layout(CONFIG)
WORDS = min(CONFIG.operand_depth // 2, max(24, COLS + 1))
"""Words of a phase, at one end of memory; the other end is written for the phase after it meanwhile."""
CASES = int(os.environ.get("BITPATH_CASES", "40"))
LIMIT = {"timeout_time": 2, "timeout_unit": "ms"}
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
    """Codes of a result vector, and what a mismatch shows of it."""

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
