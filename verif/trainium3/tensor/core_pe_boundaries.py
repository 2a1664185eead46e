"""Tiles of TensorE's processing element whose sum is at a boundary of FP32, or one sticky bit beside it, in each mode that rounds.

The quad-MX and the narrow mode take the corners of their own units. The fused mode multiplies FP32 numbers: the product of 48
bits is half a unit and the sticky bit.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from random import Random

from bitpath.golden.formats.catalogue import FP32
from bitpath.golden.formats.rounding import Rounding
from bitpath.golden.scalar.codec import decode
from bitpath.golden.scalar.rounding import floor_log2
from bitpath.rtl.trainium3.tensor.core_pe import Mode
from bitpath.verif.common.fp32.boundaries import exact_code
from bitpath.verif.kit.boundaries import near_floats
from bitpath.verif.trainium3.dot.multiply_add_boundaries import boundary_corners
from bitpath.verif.trainium3.dot.quad_mx_boundary_corners import BOUNDARIES
from bitpath.verif.trainium3.tensor.core_pe import Maker, Tile

PRODUCT_DISTANCES = range(2, 2 * FP32.precision)


def _mx(maker: Maker) -> Iterator[Tile]:
    for make in BOUNDARIES:
        for corner in make(maker.config.dot, maker.rng):
            assert corner.hits(corner.case.trace(maker.config.dot))
            yield maker.mx_tile(corner.case)


def _narrow(maker: Maker) -> Iterator[Tile]:
    for corner in boundary_corners(maker.rng):
        assert corner.hits()
        yield maker.narrow_tile(corner.case)


def _fused(maker: Maker) -> Iterator[Tile]:
    rng = maker.rng
    for each in near_floats(FP32, rng, PRODUCT_DISTANCES, Rounding.RNE):
        addend, lower = each.value - each.boundary.lower, exact_code(each.boundary.lower)
        if (pair := _factors(addend, rng)) is None:
            continue
        x, y = (exact_code(factor) for factor in pair)
        assert decode(FP32, x).value * decode(FP32, y).value + decode(FP32, lower).value == each.value
        sign = rng.getrandbits(1) * FP32.sign_mask
        yield maker.fused_tile(x ^ sign, y, lower ^ sign)


def _factors(value: Fraction, rng: Random) -> tuple[Fraction, Fraction] | None:
    """Two normal FP32 numbers with this product: a power of two and the rest, or ``2**k - 1`` or ``2**k + 1`` and the rest."""
    low = floor_log2(Fraction(value.numerator & -value.numerator, value.denominator))
    odd = int(value / Fraction(2) ** low)
    candidates = [1, *((1 << k) + step for k in range(2, FP32.precision) for step in (-1, 1))]
    limit = 1 << FP32.precision
    fitting = [each for each in candidates if odd % each == 0 and odd // each < limit]
    if not fitting:
        return None
    first = rng.choice(fitting)
    return first * Fraction(2) ** (low // 2), odd // first * Fraction(2) ** (low - low // 2)


TILES: dict[Mode, Callable[[Maker], Iterator[Tile]]] = {Mode.MX: _mx, Mode.NARROW: _narrow, Mode.FUSED: _fused}
"""Makers of the tiles of each mode that sums and rounds in its own way."""
