"""Banks of data memory byte by byte, and their arbitration cycle by cycle.

Ref: AM027 appendix A; AM020 for the stalls.
"""

from collections.abc import Sequence
from typing import NamedTuple

from bitpath.golden.aie_ml_v2.declarations.tile import ADDRESS_BITS, FIFO_BYTES, LINE_BYTES
from bitpath.golden.scalar.checked import check_length, checked

# Address generation on integers: a pointer that a modifier moves, with any number of counted levels.
#
# Ref: UG1583, pseudo-code of 2D and 3D addressing.


_SPACE = 1 << ADDRESS_BITS


class Level(NamedTuple):
    """One counted dimension: its registers dn, dj and dc."""

    size: int
    step: int
    counter: int = 0


@checked
def agu_step(p: int, m: int, levels: Sequence[Level]) -> tuple[int, tuple[Level, ...]]:
    """Return pointer and levels after an access at `p`: the innermost level that is not at its end steps, else m does.

    No level is post-modify, one 2D, two 3D.
    """
    for depth, level in enumerate(levels):
        if level.counter < level.size:
            ended = (each._replace(counter=0) for each in levels[:depth])
            return (p + level.step) % _SPACE, (*ended, level._replace(counter=level.counter + 1), *levels[depth + 1 :])
    return (p + m) % _SPACE, tuple(each._replace(counter=0) for each in levels)


@checked
def nest_levels(sizes: Sequence[int], steps: Sequence[int]) -> tuple[int, tuple[Level, ...]]:
    """Return m and the levels of a nest of loops with these sizes, and one step more."""
    check_length("steps", steps, len(sizes) + 1)
    passed, jumps = 0, []
    for size, step in zip((*sizes, 1), steps, strict=True):
        jumps.append((step - passed) % _SPACE)
        passed += (size - 1) * step
    return jumps[-1], tuple(Level(size - 1, jump) for size, jump in zip(sizes, jumps, strict=False))


# Load and store FIFOs as lists of bytes, over a whole sequence of operations.
#
# Ref: LLVM's registers, itineraries and tests (target aie2ps); the rules of the transfers are chosen.


class Popped(NamedTuple):
    """Result of a load FIFO's operation, with the bytes and the pointer after it."""

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
    """Return memory after pushes onto an empty FIFO, an overflow flag for each, bytes held and pointer; None means a
    flush."""
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


@checked
def bank(address: int) -> int:
    """Return the bank of a byte: address bits 17 to 14 name the pair, bit 5 its bank."""
    return 2 * (address >> 14 & 0xF) + (address >> 5 & 1)


@checked
def banks(address: int, width: int) -> set[int]:
    """Return the banks that hold the bytes of an access."""
    return {bank(byte) for byte in range(address, address + width)}


@checked
def conflict_cycles(requests: Sequence[tuple[int, int]]) -> int:
    """Return the cycles after the first that (address, width) pairs wait, each bank serving the first that needs it."""
    waiting = [banks(*request) for request in requests]
    cycles = 0
    while any(waiting):
        # Each bank serves the first request that needs it.
        served = {bank: place for place, needed in reversed([*enumerate(waiting)]) for bank in needed}
        waiting = [{bank for bank in needed if served[bank] != place} for place, needed in enumerate(waiting)]
        cycles += 1
    return max(cycles - 1, 0)
