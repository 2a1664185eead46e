"""Products in every mode of the array of all modes: words of operand memory, and what golden makes of them row by row."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from random import Random

import numpy as np

from bitpath.golden.arrays.codec import DTYPES, codes_of, format_of
from bitpath.golden.formats.catalogue import BF16, E2M1, E5M2, FP32
from bitpath.golden.trainium3 import nc_matmul, nc_matmul_mx, nc_matmul_sparse
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX
from bitpath.golden.trainium3.declarations.tensor import LOAD_COLUMNS, PATTERNS
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_MATMUL
from bitpath.golden.trainium3.matmul.array import chain_rows
from bitpath.golden.trainium3.matmul.nc_matmul import chain_passes
from bitpath.golden.trainium3.matmul.nc_matmul_mx import as_fp8
from bitpath.rtl.trainium3.array.core_edge import core_word
from bitpath.rtl.trainium3.array.systolic_array import CoreArrayConfig
from bitpath.rtl.trainium3.tensor.config import PASS_BITS
from bitpath.rtl.trainium3.tensor.core_pe import Mode
from bitpath.rtl.trainium3.tensor.element_decode import OperandFormat
from bitpath.rtl.trainium3.tensor.sparse_select import SLOTS, TAG
from bitpath.verif.kit.packing import width

NUMERICS = TRAINIUM3_QUAD_MX.numerics
MX_ROWS = 32
"""Rows of the smallest MX instruction; smaller arrays take several passes over their rows."""
PASSES = tuple(range(4))
Prefix = Callable[[int], np.ndarray]


@dataclass(frozen=True)
class Product:
    """A stationary and a moving operand of the array, and the results below any of its rows.

    Attributes
    ----------
    stationary, moving : words of operand memory, [K, M] of 16 or 32 bits and [K, N] of up to 512.
    prefix : for a number of rows, the FP32 codes below the last one of them: [results of a word, M, N], from golden.
    numbers : the passes of a moving word; ``delivers`` are those with a result.
    scales, tags : of stationary words [K, M]; scales of moving words [K, N].
    """

    mode: Mode
    stationary_format: OperandFormat
    moving_format: OperandFormat
    stationary: np.ndarray
    moving: np.ndarray
    prefix: Prefix
    numbers: tuple[int, ...] = (3,)
    pattern: tuple[int, int] = (0, 0)
    scales: tuple[np.ndarray, np.ndarray] | None = None
    tags: np.ndarray | None = None
    stationary_mode: Mode = Mode.NARROW

    @property
    def delivers(self) -> tuple[int, ...]:
        return self.numbers[-1:] if self.mode is Mode.FUSED else self.numbers

    @property
    def wide(self) -> bool:
        """Return whether a stationary word has 32 bits."""
        fp32 = self.stationary_format in (OperandFormat.FP32, OperandFormat.TF32)
        return fp32 or (self.mode is Mode.MX and self.stationary_format is not OperandFormat.E2M1)


def bits(array: np.ndarray) -> np.ndarray:
    return codes_of(array).astype(object)


def fp32(result: np.ndarray) -> np.ndarray:
    return result.view(np.uint32)[np.newaxis]


def named(array: np.ndarray) -> OperandFormat:
    return OperandFormat[format_of(array.dtype).name]


def matmul(x: np.ndarray, y: np.ndarray) -> Product:
    """A product of 16- and 8-bit floats, [K, M] and [K, N]."""

    def prefix(rows: int) -> np.ndarray:
        return fp32(nc_matmul(x[:rows], y[:rows]))

    return Product(Mode.NARROW, named(x), named(y), bits(x), bits(y), prefix)


def tf32(x: np.ndarray, y: np.ndarray) -> Product:
    """A product of FP32 codes that the array rounds to TF32."""

    def prefix(rows: int) -> np.ndarray:
        return fp32(nc_matmul(x[:rows], y[:rows], stationary_tf32=True, moving_tf32=True))

    return Product(Mode.NARROW, OperandFormat.TF32, OperandFormat.TF32, bits(x), bits(y), prefix)


def fused(x: np.ndarray, y: np.ndarray, onezero: int = 0) -> Product:
    """FP32 in up to four passes; bits 0 and 1 of ``onezero`` stand for a moving and a stationary operand of zeros and ones."""
    promises = {"is_moving_onezero": bool(onezero & 1), "is_stationary_onezero": bool(onezero & 2)}

    def prefix(rows: int) -> np.ndarray:
        return fp32(nc_matmul(x[:rows], y[:rows], **promises))

    numbers = tuple(number for number in PASSES if number & onezero == onezero)
    return Product(Mode.FUSED, named(x), named(y), bits(x), bits(y), prefix, numbers=numbers)


def split12(x: np.ndarray, y: np.ndarray) -> Product:
    """FP32 as four matmuls of halves, each a result of its own."""

    def prefix(rows: int) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            wide = x[:rows].astype(np.float64), y[:rows].astype(np.float64)
        return np.stack(chain_passes(TRAINIUM3_MATMUL.numerics, *wide)[1])

    return Product(Mode.NARROW, named(x), named(y), bits(x), bits(y), prefix, numbers=PASSES)


def double_row(x: np.ndarray, y: np.ndarray) -> Product:
    """A product of [K, 2, M] and [K, 2, N]."""

    def prefix(rows: int) -> np.ndarray:
        return fp32(nc_matmul(x[:rows], y[:rows], perf_mode="double_row"))

    words = [bits(each)[:, 0] | bits(each)[:, 1] << 8 for each in (x, y)]
    return Product(Mode.DOUBLE_ROW, named(x), named(y), *words, prefix, stationary_mode=Mode.DOUBLE_ROW)


def quad_mx(x: np.ndarray, y: np.ndarray, x_scale: np.ndarray, y_scale: np.ndarray) -> Product:
    """Operands of 32 rows, [32, M, 4] and [32, N, 4]; the array maps FP4 by :func:`fp4_table`."""
    words = []
    for side in (x, y):
        size = format_of(side.dtype).width
        words.append(sum(bits(side)[..., i] << size * i for i in range(4)))
    scales = tuple(scale.repeat(MX_ROWS // len(scale), axis=0) for scale in (x_scale, y_scale))
    sides = [(*as_fp8(NUMERICS, "side", side), scale) for side, scale in zip((x, y), scales, strict=True)]

    def prefix(rows: int) -> np.ndarray:
        if rows == MX_ROWS:
            return fp32(nc_matmul_mx(x, y, x_scale, y_scale))
        own = [part for codes, fmt, scale in sides for part in (codes[:rows], fmt, scale[:rows])]
        return chain_rows(NUMERICS, *own)[np.newaxis]

    return Product(Mode.MX, named(x), named(y), *words, prefix, scales=scales, stationary_mode=Mode.MX)


def sparse(x: np.ndarray, y: np.ndarray, tag_words: np.ndarray, name: str) -> Product:
    """A compressed operand [K, M] and [K, ratio, N]; each row's moving word has its group's slots."""
    pattern = PATTERNS[name]
    kept, ratio = pattern.kept, pattern.ratio
    moving = np.zeros((len(y), y.shape[2]), object)
    for p, q, slot in product(range(len(y)), range(kept), range(ratio)):
        moving[p] |= bits(y)[p // kept * kept + q, slot] << 32 * (SLOTS * q + slot)
    tags = np.stack([tag_words >> 4 * k & 15 for k in range(4)], axis=2).reshape(x.shape)
    fmt = OperandFormat.TF32 if named(x) is OperandFormat.FP32 else named(x)

    def prefix(rows: int) -> np.ndarray:
        return fp32(nc_matmul_sparse(x[:rows], y[:rows], tag_words[:rows], name))

    shape = (kept - 1, ratio - 1)
    return Product(Mode.SPARSE, fmt, fmt, bits(x), moving, prefix, pattern=shape, tags=tags.astype(object))


def transpose(data: np.ndarray, ones: np.ndarray | None = None) -> Product:
    """Codes [K, M] moved by columns of one 1 each, [K, N], the identity by default; 32-bit data in two halves."""
    moved, own = {1: (E5M2, BF16), 2: (BF16, BF16), 4: (FP32, FP32)}[data.itemsize]
    ones = np.eye(len(data)).astype(DTYPES[own]) if ones is None else ones
    halves = range(max(1, 8 * data.itemsize // PASS_BITS))
    floats = data.view(DTYPES[moved])

    def prefix(rows: int) -> np.ndarray:
        image = nc_matmul(floats[:rows], ones[:rows], is_transpose=True)
        image = image.view(f"u{image.itemsize}").astype(np.uint32)
        return np.stack([image >> PASS_BITS * half & 0xFFFF for half in halves])

    words = data.astype(object), bits(ones)
    kind = Mode.PASS
    return Product(kind, named(floats), named(ones), *words, prefix, numbers=tuple(halves), stationary_mode=kind)


def fp4_table() -> dict[str, object]:
    """E4M3FN's codes of the numbers of E2M1."""
    mapped, _ = as_fp8(NUMERICS, "table", np.arange(16, dtype=np.uint8).view(DTYPES[E2M1]))
    return {"codes": mapped.tolist(), "code_format": 0}


# Cycles of the array of all modes: operand writes, loads beside moving words, swaps, and the result of each word.


FORMAT_BITS = {
    OperandFormat.E2M1: 4,
    OperandFormat.FP16: 16,
    OperandFormat.BF16: 16,
    OperandFormat.TF32: 32,
    OperandFormat.FP32: 32,
}
Vector = tuple[int, ...]


@dataclass
class Step:
    """One cycle: a word written to each row, control of all tiles, partial sums of each tile, and the words' results."""

    write: tuple[int, list[int]] | None = None
    load: tuple[Product, int, int] | None = None  # product, column, address
    move: tuple[Product, int, int] | None = None  # product, pass, address
    first: int = 0
    swap: int = 0
    partial: list[Vector] | None = None
    result: list[Vector] | None = None


@dataclass
class Work:
    """One load and its moving words: the words of each beat and column for all rows, by their places among all words."""

    product: Product
    beats: list[int] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    moves: list[tuple[int, int, int, list[Vector] | None, list[Vector] | None]] = field(default_factory=list)


class Schedule:
    """Steps of a sequence of instructions, each of one product for every tile, in one tiling.

    A load begins in the cycle after the swap before it; its swap comes with the last moving word of the load before, or with its
    own last beat. ``gap`` is the probability of a pause; with ``written`` nothing begins before memory is full, or all
    words are in it.
    """

    def __init__(
        self,
        config: CoreArrayConfig,
        instructions: list[list[Product]],
        rng: Random,
        gap: float = 0.0,
        *,
        written: bool = False,
    ):
        self.config, self.rng, self.gap, self.written = config, rng, gap, written
        self.layout = core_word(config.dot)
        self.words: list[list[int]] = []
        self.works = [work for tiles in instructions for work in self._works(tiles)]
        self.steps = list(self._steps())

    def _works(self, tiles: list[Product]) -> Iterator[Work]:
        product, rows = tiles[0], self.config.rows // len(tiles)
        k, m = product.stationary.shape
        before = [each.prefix(rows) * 0 for each in tiles]
        for start in range(0, k, rows):
            after = [each.prefix(start + rows) for each in tiles]
            work = Work(product)
            words = 2 if product.wide else LOAD_COLUMNS
            for column in range(0, m, words):
                work.beats.append(len(self.words))
                work.columns.append(column)
                own = [self._beat(each, row, column, words) for each in tiles for row in range(start, start + rows)]
                self.words.append(own)
            for n in range(product.moving.shape[1]):
                place = len(self.words)
                self.words.append([self._moving(each, row, n) for each in tiles for row in range(start, start + rows)])
                for number in product.numbers:
                    vectors: list[list[Vector] | None] = [None, None]
                    if number in product.delivers:
                        index = product.delivers.index(number)
                        vectors = [[tuple(side[index, :, n].tolist()) for side in sides] for sides in (before, after)]
                    work.moves.append((place, number, int(number == product.numbers[0]), *vectors))
            yield work
            before = after

    def _beat(self, product: Product, row: int, column: int, words: int) -> int:
        """Columns beyond the operand's, and bits beyond an element, are any."""
        size = 32 if product.wide else 16
        bits = self.rng.getrandbits(width(self.layout["bits"].shape))
        scales = tags = 0
        for k in range(LOAD_COLUMNS):
            inside = k < words and column + k < product.stationary.shape[1]
            code = int(product.stationary[row, column + k]) if inside else None
            if code is not None:
                kept = self._bits(product, product.stationary_format, size)
                bits = bits & ~((1 << kept) - 1 << size * k) | code << size * k
            scaled = code is not None and product.scales is not None
            scales |= (int(product.scales[0][row, column + k]) if scaled else self.rng.getrandbits(8)) << 8 * k
            tagged = code is not None and product.tags is not None
            tags |= (int(product.tags[row, column + k]) if tagged else self.rng.getrandbits(TAG)) << TAG * k
        return self._word(bits, scales, tags)

    def _moving(self, product: Product, row: int, n: int) -> int:
        space = width(self.layout["bits"].shape)
        kept = space if product.mode is Mode.SPARSE else self._bits(product, product.moving_format, 32)
        bits = self.rng.getrandbits(space) >> kept << kept | int(product.moving[row, n])
        scale = self.rng.getrandbits(32)
        if product.scales is not None:
            scale = scale >> 8 << 8 | int(product.scales[1][row, n])
        return self._word(bits, scale, self.rng.getrandbits(16))

    def _word(self, bits: int, scales: int, tags: int) -> int:
        word = bits | scales << self.layout["scales"].offset
        return word | tags << self.layout["tags"].offset if self.config.dot.sparse else word

    @staticmethod
    def _bits(product: Product, fmt: OperandFormat, size: int) -> int:
        """Bits of an element, or of the elements of a word."""
        element = FORMAT_BITS.get(fmt, 8)
        if product.stationary_mode is Mode.PASS:
            return min(size, 32 if element == 32 else 16)
        return element * {Mode.MX: 4, Mode.DOUBLE_ROW: 2}.get(product.mode, 1)

    # Cycles.

    def _steps(self) -> Iterator[Step]:
        depth, works = self.config.operand_depth, self.works
        passing = self.config.rows * self.config.row_latency + 2
        written: dict[int, int] = {}
        last_use: dict[int, int] = {}
        pending = self._uses()
        now = following = swaps = loaded = beat = move = 0

        filled = min(len(self.words), depth)

        def goes(place: int | None = None) -> bool:
            """Return whether the cycle does not pause, and the word is in memory."""
            there = place is None or written.get(place, now) < now
            return there and (following >= filled or not self.written) and self.rng.random() >= self.gap

        while swaps < len(works) or move < len(works[-1].moves):
            step = Step()
            if following < len(self.words):
                former = following - depth
                if former < 0 or (pending[former] == 0 and now > last_use[former] + passing):
                    step.write = (following % depth, self.words[following])
            if loaded == swaps < len(works) and goes(works[loaded].beats[beat]):
                work, place = works[loaded], works[loaded].beats[beat]
                step.load = (work.product, work.columns[beat], place % depth)
                pending[place] -= 1
                last_use[place] = now
                beat += 1
                if beat == len(work.beats):
                    loaded, beat = loaded + 1, 0
            active = works[swaps - 1] if swaps else None
            if active and move < len(active.moves):
                place, number, first, partial, result = active.moves[move]
                if goes(place):
                    step.move, step.first = (active.product, number, place % depth), first
                    step.partial, step.result = partial, result
                    pending[place] -= 1
                    last_use[place] = now
                    move += 1
            done = active is None or move == len(active.moves)
            if loaded > swaps and done and goes():
                step.swap, swaps, move = 1, swaps + 1, 0
            if step.write:
                written[following] = now
                following += 1
            now += 1
            yield step

    def _uses(self) -> dict[int, int]:
        uses = dict.fromkeys(range(len(self.words)), 0)
        for work in self.works:
            for place in (*work.beats, *(move[0] for move in work.moves)):
                uses[place] += 1
        return uses
