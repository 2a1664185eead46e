"""Operands of Trainium3's quad-MX dot product in volume: the classes of `verif.trainium3.dot.quad_mx` and more as arrays.

A batch is every pair of some stationary and some moving operands, each pair with a partial sum of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import product

import numpy as np

from bitpath.golden.arrays.codec import decode_array
from bitpath.golden.formats.catalogue import E8M0, FP32, FloatFormat
from bitpath.golden.trainium3.matmul.array import chain_rows
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.rtl.trainium3.dot.quad_mx_dot import dot_layout
from bitpath.verif.common.dot.cases import DotCase
from bitpath.verif.kit.batches import WORD_BITS, Batch, Part, fill, places, side_by_side, words_of
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.volume import Generator, VolumeTask, of_any_block

SIDE = 128
"""Operands of either side in a batch."""
TERMS = 4


def finite_codes(rng: Generator, fmt: FloatFormat) -> np.ndarray:
    """Finite elements of one side, [SIDE, 4]."""
    magnitude = rng.integers(0, fmt.max_code + 1, (SIDE, TERMS))
    return magnitude | rng.integers(0, 2, (SIDE, TERMS)) * fmt.sign_mask


def near_scales(rng: Generator, exponent: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Scales of both sides, [SIDE] each, that multiply to within 20 binades of ``2**exponent``."""
    first = exponent // 2
    sides = (E8M0.bias + part + rng.integers(-10, 11, SIDE) for part in (first, exponent - first))
    return tuple(np.clip(side, 0, E8M0.nan_code - 1) for side in sides)


@cache
def _values(fmt: FloatFormat) -> np.ndarray:
    return np.nan_to_num(decode_array(fmt, np.arange(1 << fmt.width)), nan=0.0, posinf=0.0, neginf=0.0)


def sums(codes: tuple[np.ndarray, np.ndarray], formats: tuple[FloatFormat, FloatFormat]) -> np.ndarray:
    """Approximate sums of products of finite operands before scales, float64 [SIDE, SIDE]; they only choose partial sums."""
    x, y = (_values(fmt)[each] for each, fmt in zip(codes, formats, strict=True))
    return x @ y.T


def scaled(values: np.ndarray, scales: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The sums with their scales, float64."""
    return np.ldexp(values, scales[0][:, np.newaxis] + scales[1] - 2 * E8M0.bias)


def exponents(values: np.ndarray) -> np.ndarray:
    """Exponents of the leading bits, 0 of a zero."""
    return np.where(values == 0, 0, np.frexp(values)[1] - 1)


def fp32_near(rng: Generator, exponent: np.ndarray) -> np.ndarray:
    """FP32 codes with about these exponents, any fraction and sign."""
    shape = exponent.shape
    biased = np.clip(exponent + FP32.bias, 1, FP32.exponent_mask - 1)
    fraction = rng.integers(0, 1 << FP32.fraction_bits, shape)
    return biased << FP32.fraction_bits | fraction | rng.integers(0, 2, shape) << 31


def fp32_codes(values: np.ndarray) -> np.ndarray:
    """FP32 codes of float64 values, int64; the largest number beyond it."""
    largest = float(np.finfo(np.float32).max)
    return np.clip(values, -largest, largest).astype(np.float32).view(np.uint32).astype(np.int64)


def any_class(rng: Generator, formats):
    """Every bit at random: NaNs, infinities and far apart exponents."""
    codes = tuple(rng.integers(0, 1 << fmt.width, (SIDE, TERMS)) for fmt in formats)
    scales = tuple(rng.integers(0, 1 << E8M0.width, SIDE) for _ in formats)
    return codes, scales, rng.integers(0, 1 << FP32.width, (SIDE, SIDE))


def comparable_class(rng: Generator, formats):
    """A partial sum within some binades of the products: every bit of both counts."""
    codes, scales = tuple(finite_codes(rng, fmt) for fmt in formats), near_scales(rng)
    size = exponents(scaled(sums(codes, formats), scales))
    return codes, scales, fp32_near(rng, size + rng.integers(-30, 31, size.shape))


def cancelling_class(rng: Generator, formats):
    """Products that cancel each other, and a partial sum that cancels them up to a few units."""
    codes, scales = tuple(finite_codes(rng, fmt) for fmt in formats), near_scales(rng)
    codes[0][::2, 1] = codes[0][::2, 0] ^ formats[0].sign_mask
    codes[1][::2, 1] = codes[1][::2, 0]
    partial_sum = fp32_codes(-scaled(sums(codes, formats), scales))
    units = rng.integers(-2, 3, partial_sum.shape)
    magnitude = np.clip((partial_sum & ~FP32.sign_mask) + units, 0, FP32.max_code)
    return codes, scales, magnitude | partial_sum & FP32.sign_mask


def tied_class(rng: Generator, formats):
    """Products that are single bits, and a partial sum whose last place is around them."""
    codes = []
    for fmt in formats:
        power = rng.integers(1, fmt.max_code >> fmt.fraction_bits, (SIDE, TERMS)) << fmt.fraction_bits
        power *= rng.random((SIDE, TERMS)) < 0.6
        codes.append(power | rng.integers(0, 2, (SIDE, TERMS)) * fmt.sign_mask)
    scales = near_scales(rng)
    size = exponents(scaled(sums(tuple(codes), formats), scales))
    return tuple(codes), scales, fp32_near(rng, size + rng.integers(22, 28, size.shape))


def lowest_class(rng: Generator, formats):
    """Half a unit of the subnormal grid, a smaller product, and a partial sum on the grid or about the smallest normal number."""
    codes, scales = _halves(rng, formats, FP32.emin - FP32.fraction_bits - 1)
    shape = (SIDE, SIDE)
    partial_sum = rng.integers(0, 1 << 24, shape) >> rng.integers(0, 25, shape)
    about = (1 << FP32.fraction_bits) + rng.integers(-2, 3, shape)
    partial_sum = np.where(rng.random(shape) < 0.2, about, partial_sum)
    return codes, scales, partial_sum | rng.integers(0, 2, shape) << 31


def highest_class(rng: Generator, formats):
    """Half a unit of the largest binade, a smaller product, and a partial sum in it, up to the largest number."""
    codes, scales = _halves(rng, formats, FP32.emax - FP32.fraction_bits - 1)
    shape = (SIDE, SIDE)
    below = rng.integers(0, 1 << FP32.fraction_bits, shape) >> rng.integers(0, FP32.fraction_bits + 1, shape)
    return codes, scales, FP32.max_code - below | rng.integers(0, 2, shape) << 31


def _halves(rng: Generator, formats, half: int):
    """Codes and scales whose first product is ``2**half``, and the second a smaller power of two; either sign of both."""
    codes, scales = [], []
    for fmt, exponent in zip(formats, (half // 2, half - half // 2), strict=True):
        fields = np.arange(1, (fmt.max_code >> fmt.fraction_bits) + 1) << fmt.fraction_bits
        powers = np.concatenate([1 << np.arange(fmt.fraction_bits), fields])
        place = np.sort(rng.integers(0, len(powers), (SIDE, 2)))[:, ::-1]
        # Both scales take the exponent of the first product away again.
        scales.append(E8M0.bias + exponent - (place[:, 0] - fmt.fraction_bits + fmt.emin))
        code = np.zeros((SIDE, TERMS), np.int64)
        code[:, :2] = powers[place]
        codes.append(code | rng.integers(0, 2, (SIDE, TERMS)) * fmt.sign_mask)
    return tuple(codes), tuple(scales)


def zeros_class(rng: Generator, formats):
    """Mostly zeros of either sign, the partial sum too."""
    codes = tuple(
        finite_codes(rng, fmt) & np.where(rng.random((SIDE, TERMS)) < 0.15, -1, fmt.sign_mask) for fmt in formats
    )
    partial_sum = rng.integers(0, 2, (SIDE, SIDE)) << 31
    partial_sum |= np.where(rng.random((SIDE, SIDE)) < 0.1, rng.integers(0, FP32.max_code, (SIDE, SIDE)), 0)
    return codes, near_scales(rng), partial_sum


def tiny_class(rng: Generator, formats):
    """Random operands whose results are near FP32's subnormals."""
    codes, scales, size = _at(rng, formats, FP32.emin, -26, 4)
    partial_sum = rng.integers(0, 1 << FP32.width, size) >> rng.integers(6, 32, size)
    return codes, scales, partial_sum | rng.integers(0, 2, size) << 31


def huge_class(rng: Generator, formats):
    """Results around FP32's largest number."""
    codes, scales, size = _at(rng, formats, FP32.emax, -25, 3)
    partial_sum = FP32.max_code - (rng.integers(0, 1 << 24, size) >> rng.integers(0, 24, size))
    return codes, scales, partial_sum | rng.integers(0, 2, size) << 31


def _at(rng: Generator, formats, exponent: int, low: int, high: int):
    """Finite operands, scales that bring a usual sum to this exponent and this far from it, and the shape of all pairs."""
    codes = tuple(finite_codes(rng, fmt) for fmt in formats)
    size = exponents(sums(codes, formats))
    target = exponent + int(rng.integers(low, high)) - int(np.median(size))
    return codes, near_scales(rng, int(np.clip(target, -2 * E8M0.bias + 21, 2 * E8M0.bias - 21))), size.shape


CLASSES: dict[str, Callable] = {
    "any": any_class,
    "comparable": comparable_class,
    "cancelling": cancelling_class,
    "tied": tied_class,
    "lowest": lowest_class,
    "highest": highest_class,
    "zeros": zeros_class,
    "tiny": tiny_class,
    "huge": huge_class,
}
"""Makers of operands by the name of their class: codes [SIDE, 4] and scales [SIDE] of both sides, partial sums."""


def batches(config: DotConfig, rng: Generator) -> Iterator[Batch]:
    """A batch of every class and pair of formats."""
    unused = FP32.fraction_bits - config.numerics.accumulator.fraction_bits
    for pair, (name, make) in product(product(config.numerics.element_formats, repeat=2), CLASSES.items()):
        codes, scales, partial_sum = make(rng, pair)
        kind = f"{name}, {pair[0].name} with {pair[1].name}"
        yield pairs_batch(config, kind, pair, codes, scales, (partial_sum >> unused << unused).astype(np.uint32))


def pairs_batch(
    config: DotConfig,
    kind: str,
    formats: tuple[FloatFormat, FloatFormat],
    codes: tuple[np.ndarray, np.ndarray],
    scales: tuple[np.ndarray, np.ndarray],
    partial_sum: np.ndarray,
) -> Batch:
    """Every stationary operand, codes [M, 4] and scales [M], with every moving one, [N, 4] and [N], onto uint32 [M, N]."""
    layout = places(dot_layout(config.numerics))
    words, parts = words_of(sum(width for _, width in layout.values())), []
    rows, columns = partial_sum.shape
    which = np.repeat(np.arange(rows, dtype=np.uint32), columns), np.tile(np.arange(columns, dtype=np.uint32), rows)
    sides = zip(("stationary", "moving"), formats, codes, scales, which, strict=True)
    for side, fmt, elements, scale, index in sides:
        fields = [(*layout[f"{side}.elements.{k}"], elements[:, k]) for k in range(TERMS)]
        fields.append((*layout[f"{side}.scale"], scale))
        fields.append((*layout[f"{side}.format"], config.numerics.element_formats.index(fmt)))
        parts.append(Part(fill(len(elements), words, fields), index))
    lowest, width = layout["partial"]
    first = lowest // WORD_BITS
    table = fill(partial_sum.size, words - first, [(lowest - first * WORD_BITS, width, partial_sum.ravel())])
    parts.append(Part(table, None, first))
    operands = [
        each
        for fmt, elements, scale in zip(formats, codes, scales, strict=True)
        for each in (elements[np.newaxis].astype(np.uint8), fmt, scale[np.newaxis].astype(np.uint8))
    ]
    golden = partial(chain_rows, config.numerics, *operands, partial_sum)
    return Batch(kind, tuple(parts), partial_sum.size, lambda: golden().ravel())


def _quad_mx_layout() -> dict[str, tuple[int, int]]:
    return side_by_side(("", dot_layout(DotConfig().numerics)))


def shown(config: DotConfig, words: Sequence[int]) -> Shown:
    """The operands of a vector, and the command that explains its result."""
    bits = sum(word << WORD_BITS * k for k, word in enumerate(words))
    case = DotCase.of(config.numerics, dot_layout(config.numerics).from_bits(bits))
    return replace(case.shown(config.numerics), formats={"": FP32})


VOLUMES = (
    VolumeTask(
        name="volume-trainium3",
        machine="trainium3",
        unit="quad_mx_dot",
        what="four products onto a partial sum: every pair of FP8 formats, 9 classes",
        config=DotConfig,
        block_vectors=len(CLASSES) * len(DotConfig().numerics.element_formats) ** 2 * SIDE**2,
        batches=partial(of_any_block, batches),
        layout=_quad_mx_layout,
        shown=shown,
    ),
)


CODES = 1 << 8
"""Of an FP8 format."""


def fp8_products(config: DotConfig, rng: Generator, lane: int) -> Iterator[Batch]:
    """Every pair of codes in one lane; the other products and the partial sum are -0, which no sum shows."""
    scales = np.full(CODES, E8M0.bias)
    partial_sum = np.full((CODES, CODES), FP32.sign_mask, np.uint32)
    for formats in product(config.numerics.element_formats, repeat=2):
        codes = []
        for fmt, sign in zip(formats, (1, 0), strict=True):
            side = np.full((CODES, TERMS), sign * fmt.sign_mask)
            side[:, lane] = np.arange(CODES)
            codes.append(side)
        kind = f"lane {lane}, {formats[0].name} with {formats[1].name}"
        yield pairs_batch(config, kind, formats, tuple(codes), (scales, scales), partial_sum)


SWEEPS = (
    VolumeTask(
        name="sweep-fp8-products",
        machine="trainium3",
        unit="quad_mx_dot",
        what="products: every pair of codes of every pair of FP8 formats, in every lane",
        config=DotConfig,
        block_vectors=CODES**2 * len(DotConfig().numerics.element_formats) ** 2,
        blocks=TERMS,
        batches=fp8_products,
        random=False,
        layout=lambda: side_by_side(("", dot_layout(DotConfig().numerics))),
    ),
)
