"""Moves between scalars and the lanes of a register held as an integer, bit 0 lowest.

Ref: AM027, Vector Unit; llvm-aie for the widths.
"""

from collections.abc import Sequence

from bitpath.golden.aie_ml_v2.declarations.codes import VECTOR_BITS
from bitpath.golden.aie_ml_v2.declarations.mover import SCALAR_BITS, Half, ShuffleMode
from bitpath.golden.scalar.checked import checked

# Shuffles and vector shifts on registers held as integers, bit 0 lowest.
#
# Ref: AM027, Vector Unit; llvm-aie for the modes.


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


@checked
def push(register: int, scalar: int, bits: int, at_top: bool) -> int:
    """Return a register moved by one lane with a scalar in the lane that came free, the lowest or the highest."""
    if at_top:
        return register >> bits | scalar << VECTOR_BITS - bits
    return (register << bits | scalar) & (1 << VECTOR_BITS) - 1


@checked
def insert(register: int, index: int, scalar: int, bits: int) -> int:
    """Return a register with a scalar in lane `index` modulo the number of lanes."""
    place = index * bits % VECTOR_BITS
    return register - (_lane(register, index, bits) << place) + (scalar << place)


@checked
def extract(register: int, index: int, bits: int, signed: bool) -> int:
    """Return a lane, sign- or zero-extended to the 32 bits of a scalar register; 64 bits as they are."""
    lane = _lane(register, index, bits)
    if signed and lane >> bits - 1:
        lane -= 1 << bits
    return lane % (1 << max(bits, SCALAR_BITS))


@checked
def broadcast(scalar: int, bits: int) -> int:
    """Return a register with a scalar in each lane."""
    return sum(scalar << place for place in range(0, VECTOR_BITS, bits))


@checked
def extract_broadcast(register: int, index: int, bits: int) -> int:
    """Return a register with one lane of another in each of its lanes."""
    return broadcast(_lane(register, index, bits), bits)


@checked
def pack_mask(mask: Sequence[bool]) -> int:
    """Return the number whose bit i is the flag of lane i."""
    return sum(1 << lane for lane, flag in enumerate(mask) if flag)


@checked
def unpack_mask(bits: int, lanes: int) -> list[bool]:
    """Return the flags of the lanes; the inverse of `pack_mask`."""
    return [bool(bits >> lane & 1) for lane in range(lanes)]


def _lane(register: int, index: int, bits: int) -> int:
    return register >> index * bits % VECTOR_BITS & (1 << bits) - 1
