"""Words of Dst for tests of conversions."""

import numpy as np


def words32(rng):
    """Return random words, and words of every exponent with a fraction near a tie."""
    any_word = rng.integers(0, 1 << 32, 3000)
    near = rng.integers(0, 2, 3000) << 31 | rng.integers(0, 256, 3000) << 23
    near |= rng.choice([0, 1, 0xFFF, 0x1000, 0xFFFF, 0x8000, 0x18000, 0x7F7FFF, 0x7F8000, 0x7EFFFF, 0x7FFFFF], 3000)
    return np.concatenate([any_word, near]).astype(np.uint32)[: 6000 // 16 * 16]
