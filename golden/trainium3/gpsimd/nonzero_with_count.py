"""nonzero_with_count: places of the nonzero elements of a row, and how many there are, in each GpSimd core.

Bit-identical to `bitpath.golden.trainium3.exact.nonzero_with_count`.

Ref: ``nki.isa.nonzero_with_count`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08). Points that it leaves open are
in `bitpath.golden.trainium3.declarations.gpsimd.GPSIMD_CHOICES`.
"""

import numpy as np

from bitpath.golden.arrays.arguments import check_shape, checked, integer
from bitpath.golden.trainium3.declarations.gpsimd import CORE_PARTITIONS, INT32_RANGE
from bitpath.golden.trainium3.vector.engine import check_tile


@checked
def nonzero_with_count(dst: np.ndarray, src: np.ndarray, *, index_offset: int = 0, padding_val: int = -1) -> np.ndarray:
    """Return dst after rows 0, 16, ... 112 hold the places of src's nonzero elements, padding, and their count.

    With N nonzero elements at ``i[0] < i[1] < ...``: ``out[p, :N] = index_offset + i`` modulo 2**32,
    ``out[p, N:F] = padding_val`` and ``out[p, F] = N``. Other rows keep dst's content.

    Parameters
    ----------
    dst : int32 [P, F + 1], present content, P from 1 to 128.
    src : [P, F] of float32 or int32. Zeros of both signs are zero; NaN and subnormals are not.
    index_offset, padding_val : any int32.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or number.
    """
    check_tile("src", src, np.dtype(np.float32), np.dtype(np.int32))
    check_tile("dst", dst, np.dtype(np.int32))
    check_shape("dst", dst, len(src), src.shape[1] + 1, why=", src's partitions and an element more")
    integer("index_offset", index_offset, INT32_RANGE)
    integer("padding_val", padding_val, INT32_RANGE)
    result = dst.copy()
    for p in range(0, len(src), CORE_PARTITIONS):
        places = np.flatnonzero(src[p])
        result[p, : len(places)] = ((places + index_offset) % (1 << 32)).astype(np.uint32).view(np.int32)
        result[p, len(places) : -1] = padding_val
        result[p, -1] = len(places)
    return result
