"""dma_copy: elements of one shape as those of another, cast where the dtypes differ.

Bit-identical to `bitpath.golden.trainium3.exact.dma_copy`.

Ref: ``nki.isa.dma_copy`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08). Points that it leaves open are in
`bitpath.golden.trainium3.declarations.dma.CHOICES`.
"""

from math import prod

import numpy as np

from bitpath.golden.arrays.arguments import check_array, checked
from bitpath.golden.trainium3.dma.generation import DgeMode, choose_mode
from bitpath.golden.trainium3.operands.cast import CAST_DTYPES, TF32_NAME, cast


@checked
def dma_copy(
    src: np.ndarray,
    shape: tuple[int, ...],
    dtype: np.dtype | type | str | None = None,
    *,
    source: str | None = None,
    dge_mode: DgeMode = "unknown",
) -> np.ndarray:
    """Return a destination whose element i is element i of the source, both in row-major order.

    Parameters
    ----------
    src : array of any shape, of a dtype that `cast` takes.
    shape : that of the destination, of as many elements.
    dtype : dtype of the destination, as `cast` takes it; None is the source's. Equal dtypes move bits, NaN payloads included,
        others go through FP32.
    source : "tf32" if `src` holds TF32 in float32 words; else None.
    dge_mode : generator of the descriptors; "hwdge" needs equal dtypes.

    Returns
    -------
    Array of `shape`, of `dtype`.

    Raises
    ------
    TypeError, ValueError : as `cast` and `choose_mode`; another number of elements.
    """
    check_array("src", src, *CAST_DTYPES.values())
    if min(shape, default=1) < 0 or prod(shape) != src.size:
        raise ValueError(f"shape must have src's {src.size} elements, not be {(*shape,)}")
    destination = (source or src.dtype) if dtype is None else dtype
    moved = cast(src, destination, source=source)
    to_tf32 = isinstance(destination, str) and destination == TF32_NAME
    choose_mode(dge_mode, cast=moved.dtype != src.dtype or to_tf32 is (source is None))
    return moved.reshape(shape)
