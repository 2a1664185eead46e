"""Operands of a dot product of any shape in volume: random classes as arrays, with golden's vectorised answers."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from bitpath.golden.arrays.codec import decode_array, encode_array
from bitpath.golden.arrays.dot import dot_steps
from bitpath.golden.formats.catalogue import E8M0, FixedFormat, FloatFormat, Rounding
from bitpath.golden.formats.dot import DotProductNumerics
from bitpath.golden.scalar.codec import Overflow
from bitpath.rtl.common.dot.dot_product import DotProductConfig, MultiplyAddConfig, dot_product_layout
from bitpath.verif.common.dot.cases import DotCase
from bitpath.verif.kit.batches import WORD_BITS, Batch, Part, fill, places, side_by_side, words_of
from bitpath.verif.kit.mismatches import Shown
from bitpath.verif.kit.volume import Generator, VolumeTask, of_any_block

COUNT = 8192
"""Vectors of a batch."""
Format = FloatFormat | FixedFormat


def any_codes(rng: Generator, fmt: Format, terms: int) -> np.ndarray:
    """Every bit at random: NaN, infinity, far apart exponents."""
    return rng.integers(0, 1 << fmt.width, (COUNT, terms))


def finite_codes(rng: Generator, fmt: Format, terms: int) -> np.ndarray:
    """Finite numbers; a tenth are zeros and powers of two."""
    if isinstance(fmt, FixedFormat):
        return any_codes(rng, fmt, terms)
    codes = rng.integers(0, fmt.max_code + 1, (COUNT, terms))
    single = rng.random((COUNT, terms))
    codes = np.where(single < 0.07, codes >> fmt.fraction_bits << fmt.fraction_bits, np.where(single < 0.1, 0, codes))
    return codes | rng.integers(0, 2, (COUNT, terms)) * fmt.sign_mask


def sized_codes(rng: Generator, fmt: Format, terms: int, exponent: np.ndarray) -> np.ndarray:
    """Finite numbers of about these exponents, as far as the format reaches."""
    if isinstance(fmt, FixedFormat):
        return any_codes(rng, fmt, terms)
    biased = np.clip(exponent[:, np.newaxis] + fmt.bias, 0, fmt.max_code >> fmt.fraction_bits)
    codes = biased << fmt.fraction_bits | rng.integers(0, 1 << fmt.fraction_bits, (COUNT, terms))
    return np.minimum(codes, fmt.max_code) | rng.integers(0, 2, (COUNT, terms)) * fmt.sign_mask


Sides = list[tuple[np.ndarray, np.ndarray]]
"""Element codes and scale codes of the stationary and of the moving side."""


def _any(rng: Generator, numerics: DotProductNumerics, formats: Sequence[Format]) -> tuple[Sides, np.ndarray]:
    sides = [(any_codes(rng, fmt, numerics.terms), rng.integers(0, 256, COUNT)) for fmt in formats]
    return sides, rng.integers(0, 1 << numerics.partial_format.width, COUNT)


def _finite(rng: Generator, numerics: DotProductNumerics, formats: Sequence[Format]) -> Sides:
    scales = E8M0.bias + rng.integers(-10, 11, (2, COUNT))
    return [(finite_codes(rng, fmt, numerics.terms), own) for fmt, own in zip(formats, scales, strict=True)]


def sums(numerics: DotProductNumerics, sides: Sides, formats: Sequence[Format]) -> np.ndarray:
    """Approximate sums of finite products, float64; they only choose partial sums."""
    values = []
    for fmt, (codes, scale) in zip(formats, sides, strict=True):
        if isinstance(fmt, FixedFormat):
            own = codes.astype(np.int8) / 2.0**fmt.fraction_bits
        else:
            own = np.nan_to_num(decode_array(fmt, codes), nan=0.0, posinf=0.0, neginf=0.0)
        used = len(values) < numerics.scales
        values.append(np.ldexp(own, (scale - E8M0.bias)[:, np.newaxis] if used else 0))
    return (values[0] * values[1]).sum(axis=1)


def partial_codes(numerics: DotProductNumerics, values: np.ndarray) -> np.ndarray:
    """Codes of partial sums near these values, the largest number beyond them."""
    fmt = numerics.partial_format
    return encode_array(fmt, values, rounding=Rounding.RTZ, overflow=Overflow.SATURATE)


def _comparable(rng: Generator, numerics: DotProductNumerics, formats: Sequence[Format]) -> tuple[Sides, np.ndarray]:
    """A partial sum within some binades of the products: every bit of both counts."""
    sides = _finite(rng, numerics, formats)
    size = np.ldexp(np.abs(sums(numerics, sides, formats)) + 1e-30, rng.integers(-30, 31, COUNT))
    return sides, partial_codes(numerics, size * rng.uniform(0.5, 1, COUNT) * rng.choice((-1, 1), COUNT))


def _cancelling(rng: Generator, numerics: DotProductNumerics, formats: Sequence[Format]) -> tuple[Sides, np.ndarray]:
    """A partial sum that cancels the products up to a few units."""
    sides, fmt = _finite(rng, numerics, formats), numerics.partial_format
    codes = partial_codes(numerics, -sums(numerics, sides, formats))
    units = rng.integers(-2, 3, COUNT) << fmt.fraction_bits - numerics.accumulator.fraction_bits
    return sides, np.clip((codes & ~fmt.sign_mask) + units, 0, fmt.max_code) | codes & fmt.sign_mask


def _at(rng: Generator, numerics: DotProductNumerics, formats: Sequence[Format], target: np.ndarray) -> Sides:
    """Finite operands whose products are about ``2**target``: by their scales, or by their elements where they have none."""
    if not numerics.scales:
        first = target // 2 + rng.integers(-2, 3, COUNT)
        exponents = first, target - first
        scale = np.full(COUNT, E8M0.bias)
        return [
            (sized_codes(rng, fmt, numerics.terms, each), scale) for fmt, each in zip(formats, exponents, strict=True)
        ]
    sides = _finite(rng, numerics, formats)
    (x, x_scale), (y, y_scale) = sides
    size = np.frexp(np.abs(sums(numerics, sides, formats)) + 1e-30)[1]
    move = target - size
    own = move if numerics.scales == 1 else move // 2
    return [
        (x, np.clip(x_scale + own, 0, E8M0.nan_code - 1)),
        (y, np.clip(y_scale + move - own, 0, E8M0.nan_code - 1)),
    ]


def _tiny(rng: Generator, numerics: DotProductNumerics, formats: Sequence[Format]) -> tuple[Sides, np.ndarray]:
    """Results near the smallest numbers."""
    fmt = numerics.partial_format
    sides = _at(rng, numerics, formats, numerics.rounded_format.emin + rng.integers(-26, 4, COUNT))
    small = rng.integers(0, 1 << fmt.fraction_bits + 2, COUNT) >> rng.integers(0, fmt.fraction_bits + 2, COUNT)
    return sides, small | rng.integers(0, 2, COUNT) * fmt.sign_mask


def _huge(rng: Generator, numerics: DotProductNumerics, formats: Sequence[Format]) -> tuple[Sides, np.ndarray]:
    """Results around the largest number."""
    fmt = numerics.partial_format
    sides = _at(rng, numerics, formats, numerics.rounded_format.emax + rng.integers(-25, 3, COUNT))
    below = rng.integers(0, 1 << fmt.fraction_bits + 1, COUNT) >> rng.integers(0, fmt.fraction_bits + 1, COUNT)
    return sides, fmt.max_code - below | rng.integers(0, 2, COUNT) * fmt.sign_mask


def _zeros(rng: Generator, numerics: DotProductNumerics, formats: Sequence[Format]) -> tuple[Sides, np.ndarray]:
    """Mostly zeros of either sign, the partial sum too."""
    sides = []
    for fmt, (codes, scale) in zip(formats, _finite(rng, numerics, formats), strict=True):
        sign = 0 if isinstance(fmt, FixedFormat) else fmt.sign_mask
        sides.append((np.where(rng.random(codes.shape) < 0.85, codes & sign, codes), scale))
    return sides, rng.integers(0, 2, COUNT) * numerics.partial_format.sign_mask


CLASSES: dict[str, Callable] = {
    "any": _any,
    "comparable": _comparable,
    "cancelling": _cancelling,
    "tiny": _tiny,
    "huge": _huge,
    "zeros": _zeros,
}
"""Makers of operands by the name of their class: both sides and the partial sums' codes."""


def batches(config: DotProductConfig, rng: Generator) -> Iterator[Batch]:
    """A batch of every class and pair of formats."""
    numerics = config.numerics
    unused = numerics.partial_format.fraction_bits - numerics.accumulator.fraction_bits
    layout = places(dot_product_layout(numerics))
    words = words_of(sum(width for _, width in layout.values()))
    for formats, (name, make) in product(product(numerics.element_formats, repeat=2), CLASSES.items()):
        sides, codes = make(rng, numerics, formats)
        codes = codes >> unused << unused
        fields = [(*layout["partial"], codes)]
        for side, fmt, (elements, scale) in zip(("stationary", "moving"), formats, sides, strict=True):
            fields += [(*layout[f"{side}.elements.{k}"], elements[:, k]) for k in range(numerics.terms)]
            fields += [(*layout[f"{side}.scale"], scale)] if f"{side}.scale" in layout else []
            index = numerics.element_formats.index(fmt)
            fields += [(*layout[f"{side}.format"], index)] if f"{side}.format" in layout else []
        (x, x_scale), (y, y_scale) = sides
        golden = partial(dot_steps, numerics, x, formats[0], y, formats[1], x_scale, y_scale, codes)
        kind = f"{name}, {formats[0].name} with {formats[1].name}"
        yield Batch(kind, (Part(fill(COUNT, words, fields)),), COUNT, golden)


def shown(config: DotProductConfig, words: Sequence[int]) -> Shown:
    """The operands of a vector, and the command that explains its result."""
    bits = sum(word << WORD_BITS * k for k, word in enumerate(words))
    case = DotCase.of(config.numerics, dot_product_layout(config.numerics).from_bits(bits))
    return replace(case.shown(config.numerics), formats={"": config.numerics.result_format})


def _task(name: str, unit: str, config: Callable[[], Any]) -> VolumeTask:
    pairs = len(config().numerics.element_formats) ** 2
    return VolumeTask(
        name=name,
        machine="common",
        unit=unit,
        what=f"any dot product: every pair of formats, {len(CLASSES)} classes",
        config=config,
        block_vectors=len(CLASSES) * pairs * COUNT,
        batches=partial(of_any_block, batches),
        layout=lambda: side_by_side(("", dot_product_layout(config().numerics))),
        shown=shown,
    )


VOLUMES = (
    _task("volume-dot-product", "dot_product", DotProductConfig),
    _task("volume-multiply-add", "multiply_add", MultiplyAddConfig),
)
