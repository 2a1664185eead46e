"""Operands of the Tensix dot product in volume: the classes of `verif.tensix.dot.dot` as arrays.

A batch is some MVMULs: 8 rows of SrcB with 16 columns of SrcA each, every dot product onto a Dst word of its own.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from bitpath.golden.tensix import elwadd, elwmul, mvmul
from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, PHASES, Style
from bitpath.golden.tensix.declarations.numerics import WORMHOLE, TensixNumerics
from bitpath.golden.tensix.exact import Source, fields, multiply_integer
from bitpath.golden.tensix.operands.sources import exponent_mask, fraction_mask
from bitpath.rtl.tensix.dot.dot16 import MAGNITUDE_BITS, dot16_layout
from bitpath.rtl.tensix.dot.layouts import Dot16Config, MultiplierConfig, Operand, StyleCode
from bitpath.verif.kit.batches import WORD_BITS, Batch, Part, fill, places, side_by_side, words_of
from bitpath.verif.kit.volume import Generator, VolumeTask, of_any_block
from bitpath.verif.tensix.dot.dot import FLOAT_MODES, INT32_MAX, INTEGER_MODE, Mode, exponent_range

BLOCKS = 64
"""MVMULs in a batch."""
COUNT = BLOCKS * BLOCK_ROWS * COLUMNS
"""Dot products in a batch."""
B_SHAPE, A_SHAPE, DST_SHAPE = (BLOCKS, BLOCK_ROWS, COLUMNS), (BLOCKS, COLUMNS, COLUMNS), (BLOCKS, BLOCK_ROWS, COLUMNS)
BF16_MODE = Mode(Style.BF16, dst32=False)
LAYOUT = places(dot16_layout())
WORDS = words_of(sum(width for _, width in LAYOUT.values()))
OPERAND = places(Operand)
OPERAND_BITS = sum(width for _, width in OPERAND.values())


@dataclass(frozen=True, eq=False)
class Operands:
    """Logical words of some MVMULs: Dst [n, 8, 16], SrcB [n, 8, 16], SrcA [n, 16, 16]."""

    dst: np.ndarray
    src_b: np.ndarray
    src_a: np.ndarray


def float_words(rng: Generator, exponent: np.ndarray) -> np.ndarray:
    """Sources with these exponents, any fraction and sign."""
    shape = exponent.shape
    return rng.integers(0, 2, shape) << 18 | exponent << 10 | rng.integers(0, 1 << 10, shape)


def dst_words(rng: Generator, mode: Mode, exponent: np.ndarray) -> np.ndarray:
    """Dst words with exponents as near these as the format has them, 0 left out, and any fraction and sign."""
    fmt, shape = mode.dst_format, exponent.shape
    held = np.clip(exponent, 1, fmt.exponent_mask)
    fraction = rng.integers(0, 1 << fmt.fraction_bits, shape)
    return rng.integers(0, 2, shape) * fmt.sign_mask | held << fmt.fraction_bits | fraction


def any_class(rng: Generator, numerics: TensixNumerics, mode: Mode, phase: int) -> Operands:
    """Every bit at random: exponents far apart, codes at both ends."""
    b, a = (float_words(rng, rng.integers(0, mode.source_exponent_max + 1, shape)) for shape in (B_SHAPE, A_SHAPE))
    return Operands(rng.integers(0, 1 << mode.dst_format.width, DST_SHAPE), b, a)


def close_class(
    rng: Generator, numerics: TensixNumerics, mode: Mode, phase: int, low: int | None = None, high: int | None = None
) -> Operands:
    """Products and Dst within a few binades, some of them zero: all of their bits count."""
    bottom, top = exponent_range(mode, phase)
    each = (BLOCKS, 1, 1)
    centre = rng.integers(bottom if low is None else low, (top if high is None else high) + 1, each)
    most = mode.source_exponent_max
    total = np.clip(centre - mode.offset(phase), 2, 2 * most)
    first = rng.integers(np.maximum(1, total - most), np.minimum(most, total - 1) + 1)
    spread = rng.choice((0, 1, 3), each)
    words = []
    for exponent, shape in ((total - first, B_SHAPE), (first, A_SHAPE)):
        near = np.clip(exponent + rng.integers(-spread, spread + 1, shape), 1, most)
        # Exponent 0 makes an operand zero for any fraction.
        words.append(float_words(rng, np.where(rng.random(shape) < 0.1, 0, near)))
    return Operands(dst_words(rng, mode, centre + rng.integers(-12, 15, DST_SHAPE)), *words)


def tiny_class(rng: Generator, numerics: TensixNumerics, mode: Mode, phase: int) -> Operands:
    """Sums near the smallest exponents."""
    bottom, _ = exponent_range(mode, phase)
    return close_class(rng, numerics, mode, phase, bottom, bottom + 8)


def huge_class(rng: Generator, numerics: TensixNumerics, mode: Mode, phase: int) -> Operands:
    """Around the largest exponent of Dst, or the sources' largest."""
    top = min(exponent_range(mode, phase)[1], mode.dst_format.exponent_mask)
    return close_class(rng, numerics, mode, phase, top - 8, top)


def cancelling_class(rng: Generator, numerics: TensixNumerics, mode: Mode, phase: int) -> Operands:
    """Dst takes the sum back, up to a few units; in half of the MVMULs the sum is of one product."""
    given = close_class(rng, numerics, mode, phase)
    src_a = given.src_a.copy()
    src_a[::2, 1:] &= 1 << 18
    alone = answer(numerics, mode, phase, Operands(np.zeros_like(given.dst), given.src_b, src_a)).astype(np.int64)
    sign = mode.dst_format.sign_mask
    magnitude = (alone & ~sign) + rng.choice((0, 0, 0, 1, -1, 2, -2), DST_SHAPE)
    return Operands((alone & sign ^ sign) | np.clip(magnitude, 0, sign - 1), given.src_b, src_a)


def integer_class(rng: Generator, numerics: TensixNumerics, mode: Mode, phase: int) -> Operands:
    """Integers of any size, Dst small, anywhere, or near the ends."""
    words = []
    for shape in (B_SHAPE, A_SHAPE):
        magnitude = rng.integers(0, 1 << 10, shape)
        magnitude = np.where(rng.random(shape) < 0.3, rng.choice(((1 << 10) - 1, 0, 1), shape), magnitude)
        words.append(rng.integers(0, 2, shape) << 18 | rng.choice((16, 16, 16, 0), shape) << 10 | magnitude)
    sizes = (
        rng.integers(0, 1 << 12, DST_SHAPE),
        rng.integers(0, 1 << 31, DST_SHAPE),
        INT32_MAX - rng.integers(0, 1 << 20, DST_SHAPE),
        np.zeros(DST_SHAPE, np.int64),
    )
    return Operands(rng.integers(0, 2, DST_SHAPE) << 31 | np.choose(rng.integers(0, 4, DST_SHAPE), sizes), *words)


FLOAT_CLASSES: dict[str, Callable[..., Operands]] = {
    "any": any_class,
    "close": close_class,
    "tiny": tiny_class,
    "huge": huge_class,
    "cancelling": cancelling_class,
}


def answer(numerics: TensixNumerics, mode: Mode, phase: int, operands: Operands) -> np.ndarray:
    """Golden's new Dst words, uint32 [n, 8, 16]."""
    words = (each.astype(np.uint32) for each in (operands.dst, operands.src_b, operands.src_a))
    return mvmul(*words, style=mode.style, dst32=mode.dst32, phase=phase, numerics=numerics)


def batches(config: Dot16Config, rng: Generator) -> Iterator[Batch]:
    """A batch of every class, mode and phase."""
    for phase in range(PHASES):
        for mode, (name, make) in product(FLOAT_MODES, FLOAT_CLASSES.items()):
            yield mvmul_batch(config.numerics, name, mode, phase, make(rng, config.numerics, mode, phase))
        for _ in FLOAT_CLASSES:
            operands = integer_class(rng, config.numerics, INTEGER_MODE, phase)
            yield mvmul_batch(config.numerics, "integer", INTEGER_MODE, phase, operands)


def mvmul_batch(numerics: TensixNumerics, name: str, mode: Mode, phase: int, operands: Operands) -> Batch:
    """Every dot product of some MVMULs, by block, row and column."""
    count = operands.dst.size
    # A row of a side's table holds the 16 words that meet in a dot product.
    sides = {"src_b": operands.src_b, "src_a": operands.src_a.swapaxes(1, 2)}
    block, row, column = (each.astype(np.uint32) for each in np.unravel_index(np.arange(count), operands.dst.shape))
    which = {"src_b": block * BLOCK_ROWS + row, "src_a": block * COLUMNS + column}
    parts = []
    for side, words in sides.items():
        lowest, _ = LAYOUT[f"{side}.0.magnitude"]
        datums = as_operands(numerics, mode, words, is_src_b=side == "src_b").reshape(-1, COLUMNS)
        fields = [(k * OPERAND_BITS, OPERAND_BITS, datums[:, k]) for k in range(COLUMNS)]
        table = fill(len(datums), words_of(COLUMNS * OPERAND_BITS), fields)
        parts.append(Part(table, which[side], lowest // WORD_BITS))
    control = {"style": StyleCode.of(mode.style).value, "dst32": mode.dst32, "phase": phase, "add": 0}
    first = LAYOUT["dst"][0] // WORD_BITS
    fields = [(*LAYOUT["dst"], operands.dst.ravel())]
    fields += [(*LAYOUT[f"control.{field}"], int(value)) for field, value in control.items()]
    moved = [(lowest - first * WORD_BITS, width, value) for lowest, width, value in fields]
    parts.append(Part(fill(count, WORDS - first, moved), None, first))
    kind = f"{name}, {mode}, phase {phase}"
    return Batch(kind, tuple(parts), count, lambda: answer(numerics, mode, phase, operands).ravel())


def as_operands(numerics: TensixNumerics, mode: Mode, words: np.ndarray, *, is_src_b: bool = False) -> np.ndarray:
    """Logical words as the unit takes them, the integers of `Operand`."""
    sign, exponent, fraction = words >> 18 & 1, words >> 10 & exponent_mask(mode.style), words & 0x3FF
    present = (exponent != 0) | (is_src_b and numerics.zero_flag_disabled)
    if mode.style is Style.INT8:
        present |= not numerics.int8_zero_exponent_flush
        fields = {"magnitude": np.where(present, fraction, 0), "sign": sign}
    else:
        significand = fraction & fraction_mask(numerics, mode.style, mode.source_format) | 1 << 10
        fields = {"magnitude": np.where(present, significand, 0), "exponent": exponent, "sign": sign}
    # A zero keeps its sign.
    return sum(value.astype(np.int64) << OPERAND[field][0] for field, value in fields.items())


def elementwise_batches(config: Dot16Config, rng: Generator) -> Iterator[Batch]:
    """Sums and products of pairs of normal BF16 numbers, as public measurements of the chips have them."""
    shape = BLOCKS, BLOCK_ROWS, COLUMNS
    empty = np.zeros(shape, np.uint32)
    options = {"style": BF16_MODE.style, "dst32": BF16_MODE.dst32, "numerics": config.numerics}
    for name, spread in (("any", 254), ("near", 12)):
        low = rng.integers(1, 256 - spread, (BLOCKS, 1, 1))
        b, a = (normal_words(rng, low + rng.integers(0, spread, shape)) for _ in range(2))
        yield element_batch(config.numerics, f"sums, {name}", 0, True, empty, b, a, partial(elwadd, **options))
    # No phase leaves the range of normal numbers.
    dst, (b, a) = empty, (normal_words(rng, rng.integers(71, 183, shape)) for _ in range(2))
    for phase in range(PHASES):
        multiply = partial(elwmul, phase=phase, **options)
        yield element_batch(config.numerics, f"products, phase {phase}", phase, False, dst, b, a, multiply)
        dst = multiply(dst, b, a)


def normal_words(rng: Generator, exponent: np.ndarray) -> np.ndarray:
    """Source words of BF16 numbers with these exponents, any fraction and sign."""
    words = rng.integers(0, 2, exponent.shape) << 18 | exponent << 10 | rng.integers(0, 1 << 7, exponent.shape) << 3
    return words.astype(np.uint32)


def element_batch(
    numerics: TensixNumerics,
    kind: str,
    phase: int,
    add: bool,
    dst: np.ndarray,
    src_b: np.ndarray,
    src_a: np.ndarray,
    golden: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
) -> Batch:
    """One product or sum for each Dst word: operands in lane 0, zeros in the others."""
    control = {"style": StyleCode.of(BF16_MODE.style).value, "dst32": 0, "phase": phase, "add": int(add)}
    fields = [(*LAYOUT["dst"], dst.ravel())]
    fields += [(*LAYOUT[f"control.{field}"], value) for field, value in control.items()]
    for side, words in {"src_b": src_b, "src_a": src_a}.items():
        datums = as_operands(numerics, BF16_MODE, words, is_src_b=side == "src_b").ravel()
        fields.append((LAYOUT[f"{side}.0.magnitude"][0], OPERAND_BITS, datums))
    table = fill(dst.size, WORDS, fields)
    return Batch(kind, (Part(table),), dst.size, lambda: golden(dst, src_b, src_a).ravel())


VOLUMES = (
    VolumeTask(
        name="volume-tensix",
        machine="tensix",
        unit="dot16",
        what="16 products onto a Dst word: every style, Dst width and fidelity phase, 6 classes",
        config=Dot16Config,
        block_vectors=PHASES * (len(FLOAT_MODES) + 1) * len(FLOAT_CLASSES) * COUNT,
        batches=partial(of_any_block, batches),
        layout=lambda: side_by_side(("", dot16_layout())),
    ),
    VolumeTask(
        name="volume-tensix-elementwise",
        machine="tensix",
        unit="dot16",
        what="a sum, or a product in each phase, of two BF16 numbers onto a 16-bit Dst word",
        config=Dot16Config,
        block_vectors=(2 + PHASES) * COUNT,
        batches=partial(of_any_block, elementwise_batches),
        layout=lambda: side_by_side(("", dot16_layout())),
    ),
)


MAGNITUDES = 1 << MAGNITUDE_BITS
EXPONENT = 16 << 10
"""Exponent of an integer datum; with 0 it would be 0."""
HALVES = 2
"""A block holds half of SrcA's magnitudes, in one phase."""


def multiplier(config: MultiplierConfig, rng: Generator, block: int) -> Iterator[Batch]:
    """Every pair of magnitudes in one phase, of floats and of integers; SrcB's integers have a bit less."""
    phase, half = divmod(block, HALVES)
    size = MAGNITUDES // HALVES
    for is_integer in (0, 1):
        others = MAGNITUDES >> is_integer
        a, b = np.arange(half * size, (half + 1) * size), np.arange(others)
        index = (np.repeat(np.arange(size, dtype=np.uint32), others), np.tile(b.astype(np.uint32), size))
        # Ports by name: is_integer, phase, src_a, src_b.
        one = np.array([[is_integer, phase]], np.uint32)
        parts = (
            Part(one, np.zeros(size * others, np.uint32)),
            Part(a.astype(np.uint32)[:, np.newaxis], index[0], 2),
            Part(b.astype(np.uint32)[:, np.newaxis], index[1], 3),
        )
        both = _fields(a, phase, is_integer)[0], _fields(b, phase, is_integer)[1]
        kind = f"{'integers' if is_integer else 'floats'}, phase {phase}"
        golden = lambda both=both: np.multiply.outer(*both).astype(np.uint32).ravel()  # noqa: E731
        yield Batch(kind, parts, size * others, golden)


def _fields(magnitudes: np.ndarray, phase: int, is_integer: int) -> tuple[np.ndarray, np.ndarray]:
    """Golden's fields of SrcA and of SrcB. Fractions of integers move from their places to the multiplier's."""
    if not is_integer:
        sources = (Source(0, 1, each) for each in magnitudes.tolist())
        a, b = np.array([fields(each, each, phase) for each in sources]).T
        return a, b
    words = (EXPONENT | each & 0x3FF for each in magnitudes.tolist())
    products = [multiply_integer(WORMHOLE.numerics, each, each, phase) for each in words]
    a, b = np.array([(each.field_a, each.field_b) for each in products]).T
    return a >> (0 if phase & 1 else 5), b << 3 if phase & 2 else b >> 4


SWEEPS = (
    VolumeTask(
        name="sweep-fidelity-multiplier",
        machine="tensix",
        unit="fidelity_multiplier",
        what="every pair of magnitudes in every phase, floats and integers",
        config=MultiplierConfig,
        block_vectors=MAGNITUDES // HALVES * (MAGNITUDES + MAGNITUDES // 2),
        blocks=PHASES * HALVES,
        batches=multiplier,
        random=False,
        layout=lambda: side_by_side(*((name, WORD_BITS) for name in ("is_integer", "phase", "src_a", "src_b"))),
    ),
)
