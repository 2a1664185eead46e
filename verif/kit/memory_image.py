"""Images of an engine's memories as payloads of its stream ``write``."""

from collections.abc import Iterable
from enum import Enum

import numpy as np
from amaranth.lib import data


def image_words(image: np.ndarray, word_bytes: int) -> list[int]:
    """The words of a uint8 image, the last one filled up with zeros."""
    content = image.tobytes()
    return [int.from_bytes(content[at : at + word_bytes], "little") for at in range(0, len(content), word_bytes)]


def write_payloads(layout: data.StructLayout, memory: Enum, address: int, words: Iterable[int]) -> list[int]:
    """Payloads that write words to a memory from an address on; ``layout`` has data, address and memory."""
    # Amaranth works out a field's place each time it is asked.
    content, at, which = (layout[name].offset for name in ("data", "address", "memory"))
    place = memory.value << which
    return [word << content | address + offset << at | place for offset, word in enumerate(words)]
