"""Operands for kernel tests: tiles in L1 of few different rows, so that a scalar device has few dot products to compute."""

import ml_dtypes
import numpy as np

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.formats import BLOCK_FLOATS, FACE, TILE, Format

FLOATS = {Format.FP32: np.float32, Format.BF16: ml_dtypes.bfloat16, Format.FP16: np.float16}


def l1_of(matrix: np.ndarray, fmt: Format) -> np.ndarray:
    """Return a matrix [R, C] of numbers as tiles in L1; block floats by the packer, from BF16."""
    tiles = tensix.tilize(np.asarray(matrix, np.float32)).reshape(-1, 2 * TILE, FACE)
    if fmt in FLOATS:
        return tiles.astype(FLOATS[fmt]).reshape(-1).view(np.uint8)
    block = BLOCK_FLOATS[fmt]
    whole, narrow = (Format.BF16, ml_dtypes.bfloat16) if block.exponent_bits == 8 else (Format.FP16, np.float16)
    words = tiles.astype(narrow).view(np.uint16).astype(np.uint32)
    return np.concatenate([tensix.pack(each, whole, fmt, dst32=False) for each in words])


def few_rows(rng: np.random.Generator, rows: int = 4) -> np.ndarray:
    """Return a matrix [32, 32] of normal numbers with that many different rows."""
    return np.tile(rng.standard_normal((rows, TILE)), (TILE // rows, 1))


def few_columns(rng: np.random.Generator, columns: int = 4) -> np.ndarray:
    """Return a matrix [32, 32] of normal numbers with that many different rows and columns."""
    return np.tile(rng.standard_normal((columns, columns)), (TILE // columns, TILE // columns))
