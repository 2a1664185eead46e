"""Random blocks by classes for the conversion to blocks, and every unit in the last place with its ties."""

from random import Random

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import MX_BLOCK, MxFormat, RoundingCode
from bitpath.golden.formats.catalogue import FP32
from bitpath.verif.aie_ml_v2.convert.mx_convert import Conversion

EDGES = (0, 0, 1, 2, 253, 254, 254, 255)
"""Exponents at the ends of the range."""
FRACTIONS_OF_A_PLACE = (0, 2.0**-10, 0.5 - 2.0**-10, 0.5, 0.5 + 2.0**-10)
"""Bits below an element's last place: zero and its neighbours, and the midpoint and its neighbours."""


HALVES_AND_A_BIT = np.add.outer((0.5, 1.5, 2.5), 2.0 ** -np.arange(2, 23)).ravel()
"""Half a last place above an even or an odd element, and one bit below."""


def _word(source: Random, exponent: int, fraction: int) -> int:
    return source.getrandbits(1) << 31 | exponent << FP32.fraction_bits | fraction & FP32.fraction_mask


def _any(source: Random, fmt: MxFormat) -> int:
    return source.getrandbits(32)


def _near(source: Random, fmt: MxFormat) -> int:
    """Elements with exponents so close that each keeps some bits."""
    return _word(source, source.randint(118, 130), source.getrandbits(FP32.fraction_bits))


def _tie(source: Random, fmt: MxFormat) -> int:
    """A unit in the last place of the element, half of it, and neighbours."""
    place = FP32.precision - fmt.magnitude_bits
    below = source.choice((0, 1, (1 << place - 1) - 1, 1 << place - 2, (1 << place - 2) - 1))
    return _word(source, source.randint(124, 127), source.getrandbits(fmt.magnitude_bits) << place - 1 | below)


def _ones(source: Random, fmt: MxFormat) -> int:
    """Return numbers that round up to the next power of two."""
    return _word(source, source.randint(125, 127), FP32.fraction_mask)


def _edge(source: Random, fmt: MxFormat) -> int:
    """Zeros, subnormals, the smallest and largest normal numbers, infinity and NaN."""
    return _word(source, source.choice(EDGES), source.choice((0, 1, 1 << 22, FP32.fraction_mask)))


def _high(source: Random, fmt: MxFormat) -> int:
    """Large finite numbers."""
    return _word(source, source.randint(250, 254), source.choice((0, FP32.fraction_mask, source.getrandbits(23))))


KINDS = (_any, _near, _near, _tie, _tie, _ones, _edge, _high)


def random_conversion(combination: tuple[MxFormat, RoundingCode], source: Random) -> Conversion:
    """Return a block whose elements all have one class, or a class each."""
    fmt, rounding = combination
    kind = source.choice((*KINDS, None))
    kinds = [kind or source.choice(KINDS) for _ in range(fmt.elements)]
    return Conversion(tuple(each(source, fmt) for each in kinds), fmt, rounding)


def every_place(fmt: MxFormat) -> np.ndarray:
    """Return every magnitude and sign with every fraction of its last place, as `in_blocks`."""
    units = np.add.outer(np.arange(fmt.max_code + 1), FRACTIONS_OF_A_PLACE).ravel()
    return in_blocks(fmt, np.concatenate([units, HALVES_AND_A_BIT, -units]))


def in_blocks(fmt: MxFormat, units: np.ndarray) -> np.ndarray:
    """Return elements of these units in the last place, float32 [n, elements], and in MX with and without shift.

    Element 0 is 1.5, so that the exponent is 127; it stands alone in its pair.
    """
    place = 2.0 ** (1 - fmt.magnitude_bits)
    if not fmt.has_shifts:
        beside = _rows(units * place, fmt.elements - 1)
        return _with_first(np.concatenate([np.zeros((len(beside), 1)), beside], axis=1))
    # A pair whose other element is 1.0 has no shift; one of two elements below 1.0 has it, and half the place.
    alone = _rows(units * place, MX_BLOCK // 2 - 1)
    unshifted = np.ones((len(alone), MX_BLOCK))
    unshifted[:, 2::2] = alone
    both = _rows(units * place / 2, MX_BLOCK - 2)
    shifted = np.zeros((len(both), MX_BLOCK))
    shifted[:, 2:] = both
    return _with_first(np.concatenate([unshifted, shifted]))


def _with_first(blocks: np.ndarray) -> np.ndarray:
    """Return blocks as float32 with 1.5 as element 0."""
    blocks[:, 0] = 1.5
    floats = blocks.astype(np.float32)
    assert np.array_equal(floats, blocks), "a number is no FP32 number"
    return floats


def _rows(numbers: np.ndarray, width: int) -> np.ndarray:
    """Split into rows of equal length, the last one padded with zeros."""
    rows = np.zeros(-(-len(numbers) // width) * width)
    rows[: len(numbers)] = numbers
    return rows.reshape(-1, width)
