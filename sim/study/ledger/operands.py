"""Operands of rows: BF16 codes and numbers, and random matrices."""

from collections.abc import Sequence

import ml_dtypes
import numpy as np


def bf16_codes(values: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the BF16 codes of numbers, uint16, rounded to nearest even."""
    return np.asarray(values, np.float32).astype(ml_dtypes.bfloat16).view(np.uint16)


def bf16_values(words: np.ndarray) -> np.ndarray:
    """Return 16-bit BF16 words as float32."""
    return words.astype(np.uint16).view(ml_dtypes.bfloat16).astype(np.float32)


def matrices(rows: int, depth: int, columns: int, *, uniform: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return random BF16 matrices [M, K] and [K, N] of N(0, 1), or uniform below 1, as float32; always the same."""
    rng = np.random.Generator(np.random.PCG64(31))
    draw = rng.random if uniform else rng.standard_normal
    left, right = (bf16_values(bf16_codes(draw(size))) for size in ((rows, depth), (depth, columns)))
    return left, right
