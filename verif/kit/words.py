"""Words for a unit with one stream in and one out, and the fields of what it answers; the player is `tb_words_run`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bitpath.verif.kit.packing import unpack


@dataclass(frozen=True)
class Words:
    """Words for `i` of a unit, in their order, and how many come out of `o`."""

    unit: str
    words: Sequence[int]
    results: int


def answers(shape: Any, table: np.ndarray) -> list[Any]:
    """Return the fields of each answer of a table of bytes, uint8 [results, bytes]."""
    return [unpack(shape, int.from_bytes(row.tobytes(), "little")) for row in table]
