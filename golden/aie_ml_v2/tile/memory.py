"""Data memory: four modules of eight single-port banks, interleaved in pairs at 32 bytes.

::

     17   16 15  14 13                6   5   4        0
    [module][pair ][       word       ][odd][   byte    ]      bank = 8 * module + 2 * pair + odd

Ref: AM027 chapter 2 and appendix A; AM020 for the stalls.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.tile import (
    ACCESS_WIDTHS,
    BANK_BYTES,
    BANK_WORDS,
    LINE_BYTES,
    MEMORY_BYTES,
)
from bitpath.golden.arrays.arguments import check_array, check_choice, checked, integer


@checked
def banks(address: int, width: int) -> tuple[int, ...]:
    """Return the banks that an access of `width` bytes needs.

    Raises
    ------
    TypeError, ValueError : another width than 1, 2, 4 to 64; an address that is not aligned to it, or beyond 256 KiB.
    """
    _check_access(address, width, MEMORY_BYTES)
    even = 2 * (address // (LINE_BYTES * BANK_WORDS))
    return (even, even + 1) if width > BANK_BYTES else (even + address // BANK_BYTES % 2,)


@checked
def conflict_cycles(requests: Sequence[tuple[int, int]]) -> int:
    """Return the cycles that the core stalls for (address, width) pairs presented in one cycle.

    A bank serves one request a cycle: the largest number of requests to one bank, less one.

    Raises
    ------
    TypeError, ValueError : as `banks`.
    """
    return max(Counter(bank for request in requests for bank in banks(*request)).values(), default=1) - 1


class DataMemory:
    """Bytes, zero at first. Loads and stores are aligned; a caller performs a cycle's loads before its store.

    Parameters
    ----------
    size : bytes, a multiple of 64 up to 256 KiB.

    Raises
    ------
    TypeError, ValueError : another size.
    """

    @checked
    def __init__(self, size: int = MEMORY_BYTES):
        self._size = integer("size", size, range(LINE_BYTES, MEMORY_BYTES + 1))
        if size % LINE_BYTES:
            raise ValueError(f"size must be a multiple of {LINE_BYTES}, not {size}")
        self._bytes = np.zeros(size, np.uint8)

    def __repr__(self) -> str:
        return f"DataMemory({self._size})"

    @checked
    def load(self, address: int, width: int) -> np.ndarray:
        """Return uint8 [width].

        Raises
        ------
        TypeError, ValueError : another width than 1, 2, 4 to 64; an address that is not aligned to it, or beyond the memory.
        """
        _check_access(address, width, self._size)
        return self._bytes[address : address + width].copy()

    @checked
    def store(self, address: int, data: np.ndarray) -> None:
        """Write uint8 [width].

        Raises
        ------
        TypeError, ValueError : another dtype; as `load`.
        """
        check_array("data", data, np.uint8)
        if data.ndim != 1 or len(data) not in ACCESS_WIDTHS:
            raise ValueError(f"data must have one axis of 1, 2, 4, 8, 16, 32 or 64, not shape {data.shape}")
        _check_access(address, len(data), self._size)
        self._bytes[address : address + len(data)] = data


def _check_access(address: int, width: int, size: int) -> None:
    check_choice("width", width, ACCESS_WIDTHS)
    integer("address", address, range(size))
    if address % width:
        raise ValueError(f"address must be a multiple of the width {width}, not {address:#x}")
