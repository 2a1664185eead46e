"""Input words of a unit whose ports are streams, and fields of its results; the player is `tb_words_run`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bitpath.verif.kit.batches import places


@dataclass(frozen=True)
class Words:
    """Words for each input stream of a unit, in their order, and how many come out of `o`."""

    unit: str
    words: Mapping[str, Sequence[int]]
    results: int


def field(layout: Any, table: np.ndarray, path: str) -> np.ndarray:
    """Return a field of each answer of a table of bytes, uint8 [results, bytes], as uint64; "o.3" is element 3 of `o`."""
    lowest, bits = places(layout)[path]
    mask = (1 << bits) - 1
    answers = (int.from_bytes(row.tobytes(), "little") for row in table)
    return np.array([answer >> lowest & mask for answer in answers], np.uint64)
