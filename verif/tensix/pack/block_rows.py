"""Rows of the packer with every significand at every distance below the exponent of its block."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

from bitpath.golden.formats.catalogue import BF16, FP16
from bitpath.golden.scalar.rounding import round_to_integer
from bitpath.golden.tensix.declarations.formats import BLOCK, BLOCK_FLOATS, Format
from bitpath.golden.tensix.declarations.numerics import TensixNumerics
from bitpath.verif.tensix.pack.pack import Packing, PackRow

MAGNITUDE_BITS = 7
"""Magnitude bits of BFP8, to which all block floats are rounded; shorter ones keep the upper bits."""
SHARED = 25
"""Exponent of the blocks."""
DISTANCES = range(11)
"""From 8 on every significand is below half a unit."""


def _datum(numerics: TensixNumerics, bits: int, significand: int, distance: int, sign: int) -> tuple[str, int]:
    """Return the bin of a float, and the datum of its exact value."""
    value = Fraction(significand, 2 << distance)
    beside = value % 1 - Fraction(1, 2)
    side = "exact" if value.denominator == 1 else "tie" if not beside else "above tie" if beside > 0 else "below tie"
    magnitude = min(round_to_integer(value, numerics.final_tie), (1 << MAGNITUDE_BITS) - 1) >> MAGNITUDE_BITS - bits
    return f"{distance} below/{side}", magnitude | (sign << bits if magnitude else 0)


def block_rows(numerics: TensixNumerics, out: Format) -> Iterator[tuple[PackRow, Sequence[tuple[str, int]]]]:
    """Yield the rows of an output format with bin and datum of each float, one of which has the block's exponent."""
    block = BLOCK_FLOATS[out]
    mid, fmt = (Format.BF16, BF16) if block.exponent_bits == BF16.exponent_bits else (Format.FP16, FP16)
    packing, hidden = Packing(mid, out, False, raw=True), 1 << MAGNITUDE_BITS
    place = fmt.fraction_bits - MAGNITUDE_BITS

    def each(distance: int, sign: int, fraction: int) -> tuple[int, tuple[str, int]]:
        code = (sign << fmt.exponent_bits | SHARED - distance) << MAGNITUDE_BITS | fraction
        return code << place, _datum(numerics, block.magnitude_bits, hidden | fraction, distance, sign)

    floats = [each(*fields) for fields in product(DISTANCES, (0, 1), range(hidden))]
    for start in range(0, len(floats), BLOCK - 1):
        part = floats[start : start + BLOCK - 1]
        part.insert(start % BLOCK, each(0, 0, 0))
        codes, data = zip(*part, strict=True)
        yield PackRow(packing, (*codes, *(0,) * (BLOCK - len(codes)))), data
