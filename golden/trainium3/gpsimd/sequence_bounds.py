"""sequence_bounds: the segment of each element of a packed sequence, by its ends.

Bit-identical to `bitpath.golden.trainium3.exact.sequence_bounds`.

Ref: ``nki.isa.sequence_bounds`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08), and the vendor's test of it.
Points that they leave open are in `bitpath.golden.trainium3.declarations.gpsimd.GPSIMD_CHOICES`.
"""

import numpy as np

from bitpath.golden.arrays.arguments import check_shape, checked, dtype_of
from bitpath.golden.trainium3.vector.engine import check_tile

_DTYPES = (np.dtype(np.float32), np.dtype(np.int32))


@checked
def sequence_bounds(segment_ids: np.ndarray, *, dtype: np.dtype | type | str | None = None) -> np.ndarray:
    """Return ``[first place, last place + 1]`` of the run of equal segment numbers that each element belongs to.

    Segment 0 is padding: its elements get ``[n, -1]``.

    Parameters
    ----------
    segment_ids : [1, n] of float32 or int32: whole numbers of 0 or more.
    dtype : float32 or int32; None is that of `segment_ids`.

    Returns
    -------
    [1, 2, n] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype or shape, or another number.
    """
    check_tile("segment_ids", segment_ids, *_DTYPES)
    check_shape("segment_ids", segment_ids, 1, "n")
    result = segment_ids.dtype if dtype is None else dtype_of("dtype", dtype, *_DTYPES)
    ids = segment_ids[0].astype(np.float64)  # which holds every INT32
    wrong = ids[~((ids >= 0) & (np.floor(ids) == ids) & (ids < np.inf))]
    if wrong.size:
        raise ValueError(f"segment_ids must be whole numbers of at least 0, not {wrong[0]}")
    starts = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
    lengths = np.diff(starts, append=len(ids))
    padding = ids == 0
    first = np.where(padding, len(ids), starts.repeat(lengths))
    end = np.where(padding, -1, (starts + lengths).repeat(lengths))
    return np.stack((first, end))[np.newaxis].astype(result)
