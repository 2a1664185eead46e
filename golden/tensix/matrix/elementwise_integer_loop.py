"""Tensix ELWMUL, ELWADD and ELWSUB in style INT8: a product or a sum of two integers, added to each INT32 Dst word.

A product of two fields has at most 20 bits and a sum of two magnitudes 11, so that both are exact in int64, with Dst too.
"""

import numpy as np

from bitpath.golden.arrays.kernels import kernel, piece
from bitpath.golden.arrays.parallel import in_parallel, owned, shares
from bitpath.golden.tensix.matrix.mvmul_integer_loop import saturated_sum

BLOCKS = 512
"""Fewest blocks for a thread of their own."""
WHOLE = 0x3FF
"""All magnitude bits."""


def elementwise(
    dst: np.ndarray,
    src_b: np.ndarray,
    src_a: np.ndarray,
    masks: tuple[int, int] | None,
    flushes: tuple[bool, bool],
    *,
    subtract: bool = False,
    accumulate: bool = True,
) -> np.ndarray:
    """Return Dst plus products or sums, uint32 [n, 128].

    Parameters
    ----------
    dst, src_b, src_a : words, uint32 [n, 128].
    masks : magnitude bits of SrcB and SrcA that are multiplied; None adds whole magnitudes.
    flushes : True for SrcB and for SrcA if a word whose exponent field is 0 is 0.
    subtract : True to negate SrcB.
    accumulate : False to read Dst as zero.
    """
    dst, src_b, src_a = (owned(each) for each in (dst, src_b, src_a))
    result = np.empty(dst.shape, np.uint32)
    flags = masks is None, *flushes, subtract, accumulate
    fields = [np.int64(each) for each in (*(masks or (WHOLE, WHOLE)), *flags)]

    def work(part: slice) -> None:
        _elementwise(dst[part], src_b[part], src_a[part], result[part], *fields)

    in_parallel(work, shares(len(dst), BLOCKS))
    return result


@piece
def _read(word, mask, flush, negate):
    """Return the signed field of a source word."""
    field = np.int64(0) if (flush != 0) & (word >> 10 & 0xFF == 0) else word & mask
    return -field if word >> 18 ^ negate else field


@kernel
def _elementwise(dst, src_b, src_a, result, b_mask, a_mask, add, b_flush, a_flush, subtract, accumulate):
    for block in range(dst.shape[0]):
        for i in range(dst.shape[1]):
            a = _read(np.int64(src_a[block, i]), a_mask, a_flush, 0)
            b = _read(np.int64(src_b[block, i]), b_mask, b_flush, subtract)
            result[block, i] = saturated_sum(np.int64(dst[block, i]) * accumulate, a + b if add else a * b)
