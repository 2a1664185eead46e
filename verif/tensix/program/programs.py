"""Programs for a core: words of three threads, their MOP configurations, and L1 before."""

from dataclasses import dataclass, replace

import numpy as np

from bitpath.golden.tensix.declarations.encodings import MOP_WORDS
from bitpath.golden.tensix.declarations.formats import Chip

ARCHIVE, CONTROL = "tensix_bh_program.npz", "tensix_bh_control.npz"
CHIPS = {"wh": Chip.WORMHOLE, "bh": Chip.BLACKHOLE}
LEFT, RIGHT, RESULT = 0x10000, 0x20000, 0x30000
"""Addresses in L1 of the archive's programs."""
THREADS = 3
WORD_BYTES = 64


@dataclass(frozen=True, kw_only=True, eq=False)
class CoreProgram:
    """What a core runs.

    Attributes
    ----------
    words, mops : of each thread the words that are pushed, and the nine MOP words.
    memory : addresses, multiples of 64, and bytes of L1 before.
    result : address and number of the result's bytes.
    """

    words: tuple[tuple[int, ...], ...]
    mops: tuple[tuple[int, ...], ...] = ((0,) * MOP_WORDS,) * THREADS
    memory: tuple[tuple[int, np.ndarray], ...] = ()
    result: tuple[int, int] = (RESULT, 0)

    def turned(self, places: int) -> "CoreProgram":
        """Return the program whose roles have moved to other threads, `places` further."""
        order = [(thread - places) % THREADS for thread in range(THREADS)]
        words, mops = (tuple(each[thread] for thread in order) for each in (self.words, self.mops))
        return replace(self, words=words, mops=mops)


def archived(archive: dict[str, np.ndarray], chip: str, number: int) -> CoreProgram:
    """Return a program of the archive of known answers."""
    prefix = f"{chip}{number:02}_"
    memory = tuple(
        (address, archive[prefix + name]) for name, address in (("a", LEFT), ("b", RIGHT), ("before", RESULT))
    )
    return CoreProgram(
        words=tuple(tuple(archive[f"{prefix}t{thread}"].tolist()) for thread in range(THREADS)),
        mops=tuple(tuple(archive[f"{prefix}mop{thread}"].tolist()) for thread in range(THREADS)),
        memory=memory,
        result=(RESULT, archive[f"{prefix}after"].size),
    )
