"""XORWOW states: published, random and degenerate ones, and as ports have them."""

from random import Random

import numpy as np

from bitpath.golden.trainium3.declarations.vector import XORWOW_STATES, XORWOW_WORDS

PUBLISHED_STATE = (123456789, 362436069, 521288629, 88675123, 5783321, 6615241)
"""The state of Marsaglia's listing."""
PUBLISHED_NUMBERS = (246875399, 3690007200, 1264581005, 3906711041, 1866187943)
"""First numbers from that state."""
SHAPE = (XORWOW_STATES, XORWOW_WORDS)


def random_states(rng: Random) -> np.ndarray:
    """A lane's states, uint32 [4, 6]: random words, at times all ones or zeros, or all but one bit zeros."""
    kinds = (
        lambda: rng.getrandbits(32),
        lambda: rng.getrandbits(32),
        lambda: 0,
        lambda: 0xFFFF_FFFF,
        lambda: 1 << rng.randrange(32),
    )
    kind = [rng.choice(kinds) for _ in range(XORWOW_STATES)]
    return np.array([[kind[j]() for _ in range(XORWOW_WORDS)] for j in range(XORWOW_STATES)], np.uint32)


def bits_of(words: np.ndarray) -> int:
    """uint32 of any shape as a port has them, the last index fastest, from bit 0 up."""
    return int.from_bytes(np.ascontiguousarray(words).astype("<u4").tobytes(), "little")
