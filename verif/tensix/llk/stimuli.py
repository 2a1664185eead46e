"""Operands for kernel tests: matrices as tiles in L1, of few different rows where a scalar device computes; results as matrices."""

import ml_dtypes
import numpy as np

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.formats import BLOCK, BLOCK_FLOATS, FACE, TILE, Format
from bitpath.golden.tensix.llk import Case, Op, expected

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


# Cases on matrices in BF16, and their results as matrices.


COPY = {"op": "datacopy", "in_a": "BF16", "register_format": "BF16", "mid_format": "BF16", "out_format": "BF16"}
TWO = COPY | {"op": "matmul", "in_b": "BF16"}
EIGHTHS = np.arange(TILE * TILE).reshape(TILE, TILE) % 63 / 8
"""Numbers with 6 significant bits, whose sums are exact."""


def normal(seed: int, rows: int = TILE, columns: int = TILE) -> np.ndarray:
    """Return a matrix of normal numbers."""
    return np.random.default_rng(seed).standard_normal((rows, columns))


def bf16(matrix: np.ndarray) -> np.ndarray:
    """Return the numbers of a matrix rounded to BF16."""
    return np.asarray(matrix, ml_dtypes.bfloat16).astype(np.float64)


def result(case: Case, *matrices: np.ndarray) -> np.ndarray:
    """Return the BF16 matrix of a case on matrices in BF16."""
    l1 = expected(case, *(l1_of(each, Format.BF16) for each in matrices)).l1
    numbers = bf16(l1.view(ml_dtypes.bfloat16))
    if case.op in (Op.UNTILIZE, Op.PACK_UNTILIZE):
        return numbers.reshape(case.result_dimensions)
    rows, columns = case.result_dimensions
    return tensix.untilize(numbers.reshape(rows // TILE, columns // TILE, 2 * TILE, BLOCK))
