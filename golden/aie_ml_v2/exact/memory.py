"""Banks of data memory byte by byte, and their arbitration cycle by cycle.

Ref: AM027 appendix A; AM020 for the stalls.
"""

from collections.abc import Sequence

from bitpath.golden.scalar.checked import checked


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
        # Of each bank the first that needs it.
        served = {bank: place for place, needed in reversed([*enumerate(waiting)]) for bank in needed}
        waiting = [{bank for bank in needed if served[bank] != place} for place, needed in enumerate(waiting)]
        cycles += 1
    return max(cycles - 1, 0)
