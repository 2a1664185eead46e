"""Places of the layer's tensors in SBUF, PSUM and HBM."""

import numpy as np

from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.golden.trainium3.core.program import Operand
from bitpath.golden.trainium3.declarations.memory import PSUM_BANK_BYTES
from bitpath.golden.trainium3.memory.access_pattern import AccessPattern, HbmPattern

TOKENS, HIDDEN, OUTPUTS = 128, 384, 512
"""Rows of the hidden states, their size, and columns of the weights."""
PARTS = ((0, 64, 0), (256, 32, 64))
"""First k of each part, its partitions, and the first of these; element i of partition p is k = first + partitions * i + p."""
BFLOAT16, FLOAT32, WORD, BYTE = DTYPES[BF16], DTYPES[FP32], np.dtype(np.uint32), np.dtype(np.uint8)
ROWS = sum(partitions for _, partitions, _ in PARTS)


def sbuf(
    dtype: np.dtype, partitions: int, byte: int, *pairs: tuple[int, int], start: int = 0, dma: bool = False
) -> Operand:
    """Return pairs of elements from a byte of SBUF's partitions on."""
    return Operand("sbuf", AccessPattern(dtype, start, partitions, byte // dtype.itemsize, pairs, dma=dma))


def psum(dtype: np.dtype, partitions: int, bank: int, columns: int, offset: int = 0) -> Operand:
    """Return columns of a bank of PSUM, from element `offset` of it on."""
    return Operand(
        "psum", AccessPattern(dtype, 0, partitions, bank * PSUM_BANK_BYTES // dtype.itemsize + offset, ((1, columns),))
    )


def hbm(dtype: np.dtype, byte: int, rows: int, columns: int) -> Operand:
    """Return a matrix in HBM, row after row."""
    return Operand("hbm", HbmPattern(dtype, byte // dtype.itemsize, ((columns, rows), (1, columns))))


# Bytes of a partition of SBUF.
HIDDEN_AT, GAMMA_AT, NORMALISED_AT, INTERLEAVED_AT, WORDS_AT, SCALES_AT = 0, 1024, 2048, 3072, 4096, 5120
WEIGHTS_AT, WEIGHT_SCALES_AT, PRODUCTS_AT = 8192, 10240, (12288, 14336)
ONES_AT, EPS_AT, SUM_AT, INVERSE_AT = 11264, 11776, 11780, 11784
# Bytes of HBM.
HBM_HIDDEN, HBM_GAMMA, HBM_WEIGHT, HBM_SCALE, HBM_PART, HBM_OUT = 0, 1 << 17, 1 << 18, 1 << 19, 1 << 20, 1 << 21
HBM_OTHER, HBM_COPY, HBM_BYTES = 1 << 22, 5 << 20, 7 << 20
OTHER_RUNS = (256, 4096)
"""Runs of the copy within HBM, and bytes of each."""


def scales(byte: int, quadrant: int, columns: int) -> Operand:
    """Return the four rows of scales in a quadrant of SBUF."""
    return sbuf(BYTE, 4, byte, (1, columns), start=32 * quadrant)


def product(part: int) -> Operand:
    """Return a part's product in PSUM, in a bank of its own."""
    return psum(FLOAT32, TOKENS, 5 + part, OUTPUTS)


OUTPUT = hbm(BFLOAT16, HBM_OUT, TOKENS, OUTPUTS)
"""The layer's result."""
