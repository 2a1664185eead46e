"""Shuffles and vector shifts on registers held as integers, bit 0 lowest.

Ref: AM027, Vector Unit; llvm-aie for the modes.
"""

from bitpath.golden.aie_ml_v2.declarations.codes import VECTOR_BITS
from bitpath.golden.aie_ml_v2.declarations.mover import Half, ShuffleMode
from bitpath.golden.scalar.checked import checked


@checked
def shuffle(low: int, high: int, mode: ShuffleMode, width: int = VECTOR_BITS) -> int:
    """Return the `width` bits that a shuffle of two registers of that width gives, or of `low` alone.

    The bits of a field are in proportion: with another `width` than 512 a field has ``bits * width / 512`` of them.
    """
    bits = mode.bits * width // VECTOR_BITS
    source, size = (low, width) if mode.half is None else (low | high << width, 2 * width)
    out = 0
    for target in range(size // bits):
        place = target % (mode.rows * mode.cols)
        if mode.flip:
            row, column = divmod(place, mode.cols)
            column = mode.cols - 1 - column
        else:
            # Field [row, column] of the matrix goes to [column, row] of its transpose.
            column, row = divmod(place, mode.rows)
        origin = target - place + row * mode.cols + column
        out |= (source >> origin * bits & (1 << bits) - 1) << target * bits
    return out >> width if mode.half is Half.HI else out & (1 << width) - 1


@checked
def vector_shift(low: int, high: int, count: int) -> int:
    """Return 512 bits of two registers, from byte `count` of the lower one on."""
    return (high << VECTOR_BITS | low) >> 8 * count & (1 << VECTOR_BITS) - 1
