"""Cycles of the array of all modes: operand writes, loads beside moving words, swaps, and the result of each word."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from bitpath.golden.trainium3.declarations.tensor import LOAD_COLUMNS
from bitpath.rtl.trainium3.array.core_edge import core_word
from bitpath.rtl.trainium3.array.systolic_array import CoreArrayConfig
from bitpath.rtl.trainium3.tensor.core_pe import Mode
from bitpath.rtl.trainium3.tensor.element_decode import OperandFormat
from bitpath.rtl.trainium3.tensor.tag_select import TAG
from bitpath.verif.kit.packing import width
from bitpath.verif.trainium3.array.core_products import Product

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
            """Whether the cycle does not pause, and the word is in memory."""
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
