"""Load and store FIFOs as lists of bytes, over a whole sequence of operations.

Ref: LLVM's registers, itineraries and tests (target aie2ps); the rules of the transfers are chosen.
"""

from collections.abc import Sequence
from typing import NamedTuple

from bitpath.golden.aie_ml_v2.declarations.tile import ADDRESS_BITS, FIFO_BYTES, LINE_BYTES
from bitpath.golden.scalar.checked import checked

_SPACE = 1 << ADDRESS_BITS


class Popped(NamedTuple):
    """What an operation of a load FIFO gave, and what it left: bytes held and pointer."""

    data: bytes
    underflow: bool
    held: int
    pointer: int


@checked
def load_fifo(memory: bytes, pointer: int, sizes: Sequence[int | None]) -> list[Popped]:
    """Return the results of pops of these sizes from an empty FIFO; None is a fill, -1 a pop of two sparse chunks."""
    held: list[int] = []
    results = []
    for size in sizes:
        if len(held) <= FIFO_BYTES - LINE_BYTES:
            end = pointer - pointer % LINE_BYTES + LINE_BYTES
            held += memory[pointer:end]
            pointer = end % _SPACE
        if size is None:
            taken = 0
        elif size < 0:
            taken = _sparse_bytes(held)
        else:
            taken = size
        data = bytes(held[:taken])
        results.append(Popped(data.ljust(taken, b"\0"), len(data) < taken, max(len(held) - taken, 0), pointer))
        held = held[taken:]
    return results


@checked
def store_fifo(memory: bytes, pointer: int, pushes: Sequence[bytes | None]) -> tuple[bytes, list[bool], int, int]:
    """Return memory after pushes onto an empty FIFO, an overflow flag for each, bytes held and pointer; None is a flush."""
    image, held, overflows = bytearray(memory), b"", []
    for data in pushes:
        held += data or b""
        overflows.append(len(held) > FIFO_BYTES)
        held = held[:FIFO_BYTES]
        room = LINE_BYTES - pointer % LINE_BYTES
        if data is None or len(held) >= room:
            written = held[:room]
            image[pointer : pointer + len(written)] = written
            pointer, held = (pointer + len(written)) % _SPACE, held[len(written) :]
    return bytes(image), overflows, len(held), pointer


def _sparse_bytes(held: Sequence[int]) -> int:
    """Return the bytes of two chunks: 8 of mask, one for each of its bits, rounded up to a multiple of 4."""
    total = 0
    for _ in range(2):
        kept = sum(byte.bit_count() for byte in held[total : total + 8])
        total += (8 + kept + 3) // 4 * 4
    return total
