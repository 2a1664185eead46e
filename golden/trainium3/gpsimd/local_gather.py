"""local_gather: runs of elements by the indices of each GpSimd core.

Bit-identical to `bitpath.golden.trainium3.exact.local_gather`.

Ref: ``nki.isa.local_gather`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08). Points that it leaves open are in
`bitpath.golden.trainium3.declarations.gpsimd.GPSIMD_CHOICES`.
"""

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_choice, check_shape, checked, integer
from bitpath.golden.trainium3.declarations.gpsimd import CORE_PARTITIONS, MAX_LOCAL_INDICES, RUNS
from bitpath.golden.trainium3.declarations.memory import TRAINIUM3_INDIRECT_GROUPED
from bitpath.golden.trainium3.memory.access_pattern import ELEMENT_DTYPES
from bitpath.golden.trainium3.memory.indirect import indirect_offsets
from bitpath.golden.trainium3.vector.engine import check_tile


@checked
def local_gather(
    src_buffer: np.ndarray, index: np.ndarray, num_elem_per_idx: int = 1, num_valid_indices: int | None = None
) -> np.ndarray:
    """Compute ``out[p, e * i + j] = src_buffer[p, index i + j]`` with ``index i = index[16 * c + i % 16, i // 16]``.

    ``c = p // 16`` is the core of a partition, ``e = num_elem_per_idx`` and ``0 <= j < e``.

    Parameters
    ----------
    src_buffer : [P, F] of `ELEMENT_DTYPES`, P a multiple of 16 up to 128.
    index : uint16 [P, K]: first element of each run, not multiplied by `num_elem_per_idx`.
    num_elem_per_idx : elements of a run, 1, 2, 4, 8, 16 or 32.
    num_valid_indices : indices of each core, 1 to 16 * K and at most 4096; None takes 16 * K.

    Returns
    -------
    [P, num_elem_per_idx * num_valid_indices] of src_buffer's dtype.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or number, or a run that ends behind element F.
    """
    check_tile("src_buffer", src_buffer, *ELEMENT_DTYPES)
    partitions, elements = src_buffer.shape
    if partitions % CORE_PARTITIONS:
        raise ValueError(f"src_buffer must have a multiple of {CORE_PARTITIONS} partitions, not {partitions}")
    check_array("index", index, np.uint16)
    check_shape("index", index, partitions, "K", why=" with src_buffer's partitions")
    check_choice("num_elem_per_idx", num_elem_per_idx, RUNS)
    given = CORE_PARTITIONS * index.shape[1]
    count = given if num_valid_indices is None else num_valid_indices
    most = min(given, MAX_LOCAL_INDICES)
    integer("num_valid_indices", count, range(1, most + 1), f" with an index of {index.shape[1]} columns")
    starts = indirect_offsets(index, count, engine="gpsimd", numerics=TRAINIUM3_INDIRECT_GROUPED.numerics)
    if starts.max() + num_elem_per_idx > elements:
        raise ValueError(
            f"index must start runs of {num_elem_per_idx} in src_buffer's {elements} elements, not at {starts.max()}"
        )
    of_cores = (starts[..., np.newaxis] + np.arange(num_elem_per_idx)).reshape(len(starts), -1)
    return np.take_along_axis(src_buffer, of_cores.repeat(CORE_PARTITIONS, axis=0), axis=1)
