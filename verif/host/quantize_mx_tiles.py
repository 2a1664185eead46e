"""Tiles as the blocks that QuantizeMX takes one by one, and what came of them as tiles."""

from pathlib import Path

import numpy as np

from bitpath.golden.spec.trainium3 import SCALE_PARTITIONS, X4


def tile_blocks(tile: np.ndarray) -> np.ndarray:
    """A tile [P, F, 4] as blocks [P/8 * F, 32], element i of a block's partition p at 4p + i.

    The blocks of a group of 8 partitions stand together, along F.
    """
    groups = tile.reshape(-1, SCALE_PARTITIONS, *tile.shape[1:])
    return np.ascontiguousarray(groups.transpose(0, 2, 1, 3)).reshape(-1, SCALE_PARTITIONS * X4)


def blocks_tile(codes: np.ndarray, scales: np.ndarray, free: int) -> tuple[np.ndarray, np.ndarray]:
    """The tile [P, F, 4] of blocks [P/8 * F, 32] in the order of :func:`tile_blocks`, and their scales as [P/8, F]."""
    groups = codes.reshape(-1, free, SCALE_PARTITIONS, X4).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(groups).reshape(-1, free, X4), scales.reshape(-1, free)


def save_blocks(path: Path, blocks: np.ndarray, mode: str) -> None:
    """Write what a run quantises: blocks uint16 [n, 32], and the name of their mode."""
    np.savez(path, blocks=blocks, mode=mode)


def load_blocks(path: Path) -> tuple[np.ndarray, str]:
    """What :func:`save_blocks` wrote."""
    with np.load(path) as file:
        return file["blocks"], str(file["mode"])
