"""nc_stream_shuffle: partitions move within each quadrant of 32, bit for bit.

Bit-identical to `bitpath.golden.trainium3.exact.nc_stream_shuffle`.

Ref: ``nki.isa.nc_stream_shuffle`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08). Points that it leaves open are
in `bitpath.golden.trainium3.declarations.gpsimd.GPSIMD_CHOICES`.
"""

from collections.abc import Sequence

import numpy as np

from bitpath.golden.arrays.arguments import check_length, check_shape, checked
from bitpath.golden.trainium3.declarations.gpsimd import UNCHANGED
from bitpath.golden.trainium3.declarations.quad_mx import QUADRANT
from bitpath.golden.trainium3.memory.access_pattern import ELEMENT_DTYPES
from bitpath.golden.trainium3.vector.engine import check_tile


@checked
def nc_stream_shuffle(dst: np.ndarray, src: np.ndarray, shuffle_mask: Sequence[int]) -> np.ndarray:
    """Compute ``dst[32 * q + i] = src[32 * q + shuffle_mask[i]]`` for every quadrant q of dst; a new array like `dst`.

    Parameters
    ----------
    dst : [P, F], P from 1 to 128: present content, which a partition with mask 255 keeps.
    src : [Q, F] of dst's dtype, Q from 1 to 128. It is read before anything is written.
    shuffle_mask : 32 numbers, 0 to 31 or 255.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or mask, or a partition that src does not have.
    """
    check_tile("dst", dst, *ELEMENT_DTYPES)
    check_tile("src", src, dst.dtype)
    check_shape("src", src, "P", dst.shape[1], why=" with dst's elements")
    check_length("shuffle_mask", shuffle_mask, QUADRANT)
    mask = np.array(shuffle_mask)
    unknown = mask[(mask != UNCHANGED) & ((mask < 0) | (mask >= QUADRANT))]
    if unknown.size:
        raise ValueError(f"shuffle_mask must hold 0 to {QUADRANT - 1} or {UNCHANGED}, not {unknown[0]}")
    partition = np.arange(len(dst))
    of_mask = mask[partition % QUADRANT]
    written = of_mask != UNCHANGED
    source = (partition - partition % QUADRANT + of_mask)[written]
    if source.size and source.max() >= len(src):
        raise ValueError(f"shuffle_mask must name partitions below src's {len(src)}, not {source.max()}")
    result = dst.copy()
    result[written] = src[source]
    return result
