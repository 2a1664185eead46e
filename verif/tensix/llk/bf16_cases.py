"""Cases on matrices in BF16, and their results as matrices."""

import ml_dtypes
import numpy as np

from bitpath.golden import tensix
from bitpath.golden.tensix.declarations.formats import BLOCK, TILE, Format
from bitpath.golden.tensix.llk import Op, expected
from bitpath.verif.tensix.llk.stimuli import l1_of

COPY = {"op": "datacopy", "in_a": "BF16", "register_format": "BF16", "mid_format": "BF16", "out_format": "BF16"}
TWO = COPY | {"op": "matmul", "in_b": "BF16"}
EIGHTHS = np.arange(TILE * TILE).reshape(TILE, TILE) % 63 / 8
"""Numbers with 6 significant bits, whose sums are exact."""


def normal(seed, rows=TILE, columns=TILE):
    return np.random.default_rng(seed).standard_normal((rows, columns))


def bf16(matrix):
    return np.asarray(matrix, ml_dtypes.bfloat16).astype(np.float64)


def result(case, *matrices):
    """Return the BF16 matrix of a case on matrices in BF16."""
    l1 = expected(case, *(l1_of(each, Format.BF16) for each in matrices)).l1
    numbers = bf16(l1.view(ml_dtypes.bfloat16))
    if case.op in (Op.UNTILIZE, Op.PACK_UNTILIZE):
        return numbers.reshape(case.result_dimensions)
    rows, columns = case.result_dimensions
    return tensix.untilize(numbers.reshape(rows // TILE, columns // TILE, 2 * TILE, BLOCK))
