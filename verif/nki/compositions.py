"""Parts of written-out kernels: rows of scales, transposed tiles, sums over tiles of the contraction."""

from collections.abc import Sequence

import numpy as np

from bitpath.golden import trainium3

OVERWRITE, ACCUMULATE = 3, 6
"""Flags of a sum's first matmul, and of the later ones."""


def scale_rows(partitions: int) -> list[int]:
    """Return the partitions that hold the scales of a tile, in the order of its blocks of 8 partitions."""
    return [32 * (block // 4) + block % 4 for block in range(partitions // 8)]


def spread(scale: np.ndarray) -> np.ndarray:
    """Return scales [P / 8, F] in the partitions where a matmul reads them, [P, F]."""
    made = np.zeros((8 * len(scale), scale.shape[1]), np.uint8)
    made[scale_rows(8 * len(scale))] = scale
    return made


def transposed(tile: np.ndarray) -> np.ndarray:
    """Return a tile transposed, bit for bit."""
    return np.ascontiguousarray(tile.T)


def matmul(stationary: Sequence[np.ndarray], moving: Sequence[np.ndarray]) -> np.ndarray:
    """Return the FP32 sum of the products of tiles, one after the other."""
    total = None
    for left, right in zip(stationary, moving, strict=True):
        flag = OVERWRITE if total is None else ACCUMULATE
        total = trainium3.nc_matmul(left, right, dst=total, psum_accumulate_flag=flag)
    assert total is not None
    return total


def deviation(made: np.ndarray, exact: np.ndarray) -> float:
    """Return the root mean square of the error, as a part of that of the exact values."""
    error = made.astype(np.float64).reshape(exact.shape) - exact
    return float(np.sqrt((error**2).mean() / (exact**2).mean()))
