"""nc_n_gather: elements by index, in each partition by itself.

Bit-identical to `bitpath.golden.trainium3.exact.nc_n_gather`.

Ref: ``nki.isa.nc_n_gather`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08).
"""

import numpy as np

from bitpath.golden.arrays.arguments import check_shape, checked
from bitpath.golden.trainium3.memory.access_pattern import ELEMENT_DTYPES
from bitpath.golden.trainium3.vector.engine import check_tile


@checked
def nc_n_gather(data: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Compute ``out[p, i] = data[p, indices[p, i]]``, bit for bit.

    Parameters
    ----------
    data : [P, F] of `ELEMENT_DTYPES`, P from 1 to 128.
    indices : uint32 [P, N], each below F.

    Returns
    -------
    [P, N] of data's dtype.

    Raises
    ------
    TypeError, ValueError : another dtype or shape, or an index of F or more.
    """
    check_tile("data", data, *ELEMENT_DTYPES)
    check_tile("indices", indices, np.dtype(np.uint32))
    check_shape("indices", indices, len(data), "N", why=" with data's partitions")
    if indices.max() >= data.shape[1]:
        raise ValueError(f"indices must be below data's {data.shape[1]} elements, not {indices.max()}")
    return np.take_along_axis(data, indices.astype(np.int64), axis=1)
