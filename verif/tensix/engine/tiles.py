"""Operand tiles in their L1 layout, with numbers whose products add up: most near 1, some zeros, few random.

A result sums 64 datums, and one of extreme magnitude would mask all others.
"""

from dataclasses import dataclass

import numpy as np

from bitpath.golden.formats.catalogue import BF16, FloatFormat
from bitpath.golden.tensix import unpack
from bitpath.golden.tensix.convert.unpack import L1_BYTES
from bitpath.golden.tensix.declarations.formats import BLOCK, BLOCK_FLOATS, FACE, TILE, Format, Style
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.verif.tensix.dot.numbers import FLOATS
from bitpath.verif.tensix.unpack.block_datums import join_datums
from bitpath.verif.tensix.unpack.unpack import ALL_CONVERSIONS, Conversion

DATUMS = TILE * TILE
RARE = 0.002
"""Probability of a random datum; of a random block exponent, times the datums of a block."""
ZERO = 0.05
"""Probability of exponent 0, with any fraction."""
SPREAD = 3
"""Range of the other exponents, to either side of 1.0."""
SHIFTS = (0, 0, 0, 0, 3)
"""Right shifts of a tile's integers, so that sums of products have any size."""
REGISTER_FORMATS = {
    Style.BF16: (Format.TF32, Format.BF16, Format.BFP8, Format.BFP4, Format.BFP2, Format.INT16),
    Style.TF32: (Format.TF32, Format.BF16, Format.BFP8, Format.BFP4, Format.BFP2, Format.INT16),
    Style.FP16: (Format.FP16, Format.FP8, Format.BFP8A, Format.BFP4A, Format.BFP2A),
    Style.INT8: (Format.INT8,),
}
"""Formats of the sources, by style."""
CONVERSIONS = {
    style: tuple(each for each in ALL_CONVERSIONS if each.register_format in formats)
    for style, formats in REGISTER_FORMATS.items()
}
"""L1 and register formats of an unpacker, by style."""


@dataclass(frozen=True, eq=False)
class Tile:
    """A tile in L1: exponents for block formats, then 1024 datums, face by face."""

    conversion: Conversion
    image: np.ndarray

    def words(self, numerics: TensixNumerics) -> np.ndarray:
        """Return the unpacked words in SrcA or SrcB, uint32 [64, 16]."""
        each = self.conversion
        words = unpack(
            self.image,
            each.l1_format,
            each.register_format,
            unsigned=each.unsigned,
            count=DATUMS,
            numerics=numerics,
        )
        return words.reshape(-1, FACE)


def random_tile(
    source: np.random.Generator, conversion: Conversion, moved: np.ndarray | int = 0, *, rare: float = RARE
) -> Tile:
    """Return a random tile of an L1 format, with the exponents of floats offset, per datum [64, 16] or for all.

    ``rare`` is the probability of a random datum.
    """
    fmt = conversion.l1_format
    moved = np.broadcast_to(moved, (DATUMS // FACE, FACE))
    if fmt in BLOCK_FLOATS:
        return Tile(conversion, _blocks(source, fmt, moved[:, 0], rare))
    if fmt in FLOATS:
        codes = _floats(source, FLOATS[fmt], moved.ravel(), rare)
    elif fmt is Format.INT16:
        # Opaque: its low byte goes to the exponent field.
        codes = source.integers(0, 1 << 16, DATUMS) & ~0xFF | _exponents(source, BF16, moved.ravel(), rare)
    else:
        codes = _integers(source, unsigned=conversion.unsigned)
    return Tile(conversion, codes.astype(f"<u{L1_BYTES[fmt]}").view(np.uint8))


def _integers(source: np.random.Generator, *, unsigned: bool) -> np.ndarray:
    """Return INT8 datums up to a random limit."""
    bits = 8 if unsigned else 7
    magnitudes = source.integers(0, 1 << bits, DATUMS) >> source.choice(SHIFTS)
    return magnitudes if unsigned else source.integers(0, 2, DATUMS) << 7 | magnitudes


def _exponents(source: np.random.Generator, fmt: FloatFormat, moved: np.ndarray, rare: float) -> np.ndarray:
    near = (fmt.bias + moved + source.integers(-SPREAD, SPREAD + 1, DATUMS)).clip(0, fmt.exponent_mask)
    anything = source.integers(0, 1 << fmt.exponent_bits, DATUMS)
    choice = source.random(DATUMS)
    return np.where(choice < ZERO, 0, np.where(choice > 1 - rare, anything, near))


def _floats(source: np.random.Generator, fmt: FloatFormat, moved: np.ndarray, rare: float) -> np.ndarray:
    signs = source.integers(0, 2, DATUMS) << fmt.width - 1
    return (
        signs
        | _exponents(source, fmt, moved, rare) << fmt.fraction_bits
        | source.integers(0, 1 << fmt.fraction_bits, DATUMS)
    )


def _blocks(source: np.random.Generator, fmt: Format, moved: np.ndarray, rare: float) -> np.ndarray:
    block = BLOCK_FLOATS[fmt]
    blocks = DATUMS // BLOCK
    bias = (1 << block.exponent_bits - 1) - 1
    near = (bias + moved + source.integers(-SPREAD, SPREAD + 1, blocks)).clip(0, (1 << block.exponent_bits) - 1)
    anything = source.integers(0, 1 << block.exponent_bits, blocks)
    exponents = np.where(source.random(blocks) < rare * BLOCK, anything, near).astype(np.uint8)
    datums = source.integers(0, 1 << block.datum_bits, DATUMS)
    # A negative zero counts as 2**128.
    minus_zero = datums == 1 << block.magnitude_bits
    datums = np.where(minus_zero & (source.random(DATUMS) > rare), 0, datums)
    return np.concatenate([exponents, join_datums(block, datums)])
