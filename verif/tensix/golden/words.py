"""Words of Dst for tests, and the scalar tier of MVMUL on one of them."""

import numpy as np

from bitpath.golden.formats.catalogue import BF16, E4M3FN, E5M2, FP16, FP32, TF32
from bitpath.golden.tensix.declarations.formats import COLUMNS, Style
from bitpath.golden.tensix.exact import dot16_integer, trace_dot16
from bitpath.verif.common.boundary_codes import codes, crossing

# Scalar tier of MVMUL on one Dst word, in every style.


def scalar_dot(numerics, dst, b, a, **options):
    if options["style"] is Style.INT8:
        return dot16_integer(numerics, dst, b, a, options["phase"])
    return trace_dot16(numerics, dst, b, a, **options).result


# Words of Dst for tests of conversions.


BOUNDARIES = sorted({code for fmt in (BF16, FP16, TF32, E5M2, E4M3FN) for code in crossing(FP32, fmt)})
"""FP32's boundary codes, and its codes next to the boundaries and ties of the narrower formats."""


def words32(rng, count=6000):
    """Return `BOUNDARIES`, `count` random words, and as many of them as words of every exponent with a fraction near a tie."""
    half = count // 2
    any_word = rng.integers(0, 1 << 32, half)
    near = rng.integers(0, 2, half) << 31 | rng.integers(0, 256, half) << 23
    near |= rng.choice([0, 1, 0xFFF, 0x1000, 0xFFFF, 0x8000, 0x18000, 0x7F7FFF, 0x7F8000, 0x7EFFFF, 0x7FFFFF], half)
    words = np.concatenate([BOUNDARIES, any_word, near]).astype(np.uint32)
    return words[: len(words) // COLUMNS * COLUMNS]


def words16(rng, count):
    """Return the boundary codes of BF16 and FP16, and `count` random words, at most one of each."""
    words = np.concatenate([codes(BF16), codes(FP16), rng.permutation(1 << 16)[:count]]).astype(np.uint32)
    return words[: len(words) // COLUMNS * COLUMNS]
