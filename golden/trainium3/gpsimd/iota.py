"""iota: a tile of affine values.

Bit-identical to `bitpath.golden.trainium3.exact.iota`.

Ref: ``nki.isa.iota`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08). Points that it leaves open are in
`bitpath.golden.trainium3.declarations.gpsimd.GPSIMD_CHOICES`.
"""

from collections.abc import Sequence

import numpy as np

from bitpath.golden.arrays.arguments import checked, integer
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.golden.trainium3.gpsimd.affine import affine_values
from bitpath.golden.trainium3.operands.cast import cast


@checked
def iota(
    pattern: Sequence[tuple[int, int]],
    partitions: int,
    *,
    offset: int = 0,
    channel_multiplier: int = 0,
    dtype: np.dtype | type | str = np.int32,
) -> np.ndarray:
    """Return ``offset + p * channel_multiplier + sum(step * i)`` for every partition p and place i in a pattern.

    The value is int32, modulo 2**32, then cast: int32 and uint32 take the word, other dtypes go through FP32.

    Parameters
    ----------
    pattern : 1 to 4 pairs (step, num), outermost first: any int32, and 1 or more.
    partitions : P, 1 to 128.
    offset, channel_multiplier : any int32.
    dtype : as `cast` takes it, also "tf32".

    Returns
    -------
    [P, product of nums] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype, pattern or number.
    """
    integer("partitions", partitions, range(1, PARTITIONS + 1))
    values = affine_values(pattern, partitions, offset, channel_multiplier)
    through_fp32 = cast(values, dtype)
    return values.view(np.uint32) if through_fp32.dtype == np.uint32 else through_fp32
