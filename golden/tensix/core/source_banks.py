"""Two banks of SrcA or of SrcB, which the unpacker and the Matrix unit own in turn.

Ref: tt-isa-documentation 3930471, SrcASrcB; of Blackhole for the format that a bank implies.
"""

import numpy as np

from bitpath.golden.tensix.declarations.formats import COLUMNS, SRC_ROWS

BANKS = 2


class SourceBanks:
    """Registers of one source.

    Attributes
    ----------
    words : uint32 [2, 64, 16], logical words of 19 bits.
    owned : for each bank True if the Matrix unit owns it, False if the unpacker does.
    matrix_bank, unpacker_bank : bank that the Matrix unit reads and that the unpacker writes next.
    formats : code of the format that each bank implies; None where it is undefined.
    """

    def __init__(self) -> None:
        self.words = np.zeros((BANKS, SRC_ROWS, COLUMNS), np.uint32)
        self.formats: list[int | None] = [None] * BANKS
        self.reset()

    def reset(self) -> None:
        """Give both banks to the unpacker; both sides go on with bank 0."""
        self.owned = [False] * BANKS
        self.matrix_bank = self.unpacker_bank = 0

    @property
    def readable(self) -> bool:
        """True if the Matrix unit owns the bank that it reads next."""
        return self.owned[self.matrix_bank]

    @property
    def writable(self) -> bool:
        """True if the unpacker owns the bank that it writes next."""
        return not self.owned[self.unpacker_bank]

    @property
    def read(self) -> np.ndarray:
        """The Matrix unit's bank, [64, 16]; writes to it reach the register."""
        return self.words[self.matrix_bank]

    @property
    def written(self) -> np.ndarray:
        """The unpacker's bank, [64, 16]; writes to it reach the register."""
        return self.words[self.unpacker_bank]

    def hand_over(self, fmt: int | None) -> None:
        """Give the unpacker's bank, with the format that it implies, to the Matrix unit."""
        self.formats[self.unpacker_bank] = fmt
        self.owned[self.unpacker_bank] = True
        self.unpacker_bank ^= 1

    def give_back(self, *, release: bool = True, flip: bool = True) -> None:
        """Give the Matrix unit's bank back to the unpacker with `release`; go on with the other bank with `flip`."""
        if release:
            self.owned[self.matrix_bank] = False
        if flip:
            self.matrix_bank ^= 1
