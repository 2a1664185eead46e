"""Datums of block floats in the bytes of L1, without their exponents."""

import numpy as np

from bitpath.golden.tensix.declarations.formats import BLOCK, BlockFloat


def split_datums(block: BlockFloat, data: np.ndarray, count: int) -> np.ndarray:
    """Return `count` datums from bytes, the first in the lowest bits; int64 [count / 16, 16]."""
    shifts = np.arange(0, 8, block.datum_bits)
    datums = data.astype(np.int64)[:, np.newaxis] >> shifts & (1 << block.datum_bits) - 1
    return datums.reshape(-1)[:count].reshape(-1, BLOCK)


def join_datums(block: BlockFloat, datums: np.ndarray) -> np.ndarray:
    """Return bytes from datums; the inverse of `split_datums`."""
    shifts = np.arange(0, 8, block.datum_bits)
    return (datums.reshape(-1, len(shifts)) << shifts).sum(axis=-1).astype(np.uint8)
