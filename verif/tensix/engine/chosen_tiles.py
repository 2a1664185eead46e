"""Operand tiles with special products: of any magnitude, cancelling to a unit, powers of two, at the ends of INT32."""

import numpy as np

from bitpath.golden.formats.catalogue import BF16
from bitpath.golden.tensix.convert.unpack import L1_BYTES
from bitpath.golden.tensix.declarations.formats import EXPONENT5_FORMATS, FACE, TILE, Format
from bitpath.golden.tensix.matmul.matmul import to_tiles
from bitpath.verif.tensix.engine.tiles import FLOATS, Tile, random_tile
from bitpath.verif.tensix.unpack.unpack import Conversion

BF16_TILE = Conversion(Format.BF16, Format.BF16)
FARTHEST = {True: 20, False: 115}
"""Largest exponent offset for 5-bit or 8-bit exponents; two together pass either end of the range."""
SPREAD = 8
"""Exponent range of cancelling operands, to either side of 1.0."""
FIRST_FIELD = 6
"""Fraction bits of SrcB in the first fidelity phase."""
DEEPEST = 30
"""Distance below the leading bit of a sum at which a remainder is discarded."""
UNITS, NOTHINGS = 12, 2
"""Rows with a remainder of one unit, and rows with a discarded one."""
UNIT = 23
"""Weight of a unit of a sum."""
SECOND_GROUP = FACE // 2
"""First product of the second group, so that a remainder does not share the exponent of cancelling products."""


def moved_operands(conversions: dict[str, Conversion], source: np.random.Generator) -> dict[str, Tile]:
    """Return tiles by side, with each row of the left one and each column of the right one scaled by its own power of two.

    Block floats scale 16 columns alike: by the smallest or the largest power.
    """
    tiles = {}
    for side, conversion in conversions.items():
        farthest = FARTHEST[conversion.l1_format in EXPONENT5_FORMATS]
        moved = source.permutation(np.linspace(-farthest, farthest, TILE).round().astype(np.int64))
        moved[[0, FACE]] = source.permutation([-farthest, farthest])
        by_side = np.repeat(
            moved[:, np.newaxis] if side == "left" else moved[np.newaxis], TILE, axis=int(side == "left")
        )
        tiles[side] = random_tile(source, conversion, to_tiles(by_side)[0, 0], rare=0)
    return tiles


def powers_of_two(conversion: Conversion, source: np.random.Generator) -> Tile:
    """Return a tile of powers of two near 1, which have no bits in fidelity phases after the first."""
    fmt = FLOATS[conversion.l1_format]
    shape = (TILE, TILE)
    signs = source.integers(0, 2, shape) << fmt.width - 1
    exponents = fmt.bias + source.integers(-SPREAD // 2, SPREAD // 2, shape)
    return _tile(conversion, signs | exponents << fmt.fraction_bits)


def cancelling(source: np.random.Generator) -> list[dict[str, Tile]]:
    """Return the operands of two consecutive products, by side: the second cancels the first up to a remainder.

    Many remainders are one unit of the sum, and some are discarded; they have either sign.
    """
    shape = (TILE, 1)
    exponents = BF16.bias + source.integers(-SPREAD, SPREAD + 1, shape)
    fractions = source.integers(0, 1 << FIRST_FIELD, shape) << BF16.fraction_bits - FIRST_FIELD
    signs, rest_signs = (source.integers(0, 2, shape) << BF16.width - 1 for _ in range(2))
    depths = source.integers(0, DEEPEST, shape)
    depths[:UNITS], depths[UNITS : UNITS + NOTHINGS] = UNIT, DEEPEST
    depths = source.permutation(depths)
    first, second, right = (np.zeros((TILE, TILE), np.int64) for _ in range(3))
    first[:, :1] = signs | exponents << BF16.fraction_bits | fractions
    second[:, :1] = first[:, :1] ^ BF16.sign_mask
    second[:, SECOND_GROUP : SECOND_GROUP + 1] = rest_signs | exponents - depths << BF16.fraction_bits
    powers = BF16.bias + source.integers(-SPREAD, SPREAD + 1, TILE) << BF16.fraction_bits
    right[0] = right[SECOND_GROUP] = powers
    return [{"left": _tile(BF16_TILE, left), "right": _tile(BF16_TILE, right)} for left in (first, second)]


def infinite(signs: np.ndarray) -> dict[str, Tile]:
    """Return operands of infinities with these signs, [32] of 0 or 1 for the rows."""
    largest = BF16.infinity_code - 1
    left = np.repeat(signs[:, np.newaxis] << BF16.width - 1 | largest, TILE, axis=1)
    return {"left": _tile(BF16_TILE, left), "right": _tile(BF16_TILE, np.full((TILE, TILE), largest))}


def largest_integers(signs: np.ndarray) -> dict[str, Tile]:
    """Return operands of the largest products of INT8 with these signs, [32] of 0 or 1 for the rows."""
    left = np.repeat(signs[:, np.newaxis] << 7 | 0x7F, TILE, axis=1)
    return {
        "left": _tile(Conversion(Format.INT8, Format.INT8), left),
        "right": _tile(Conversion(Format.INT8, Format.INT8, unsigned=True), np.full((TILE, TILE), 0xFF)),
    }


def _tile(conversion: Conversion, codes: np.ndarray) -> Tile:
    """Return the tile of a matrix of codes in its format, [32, 32]."""
    return Tile(conversion, to_tiles(codes).astype(f"<u{L1_BYTES[conversion.l1_format]}").reshape(-1).view(np.uint8))
