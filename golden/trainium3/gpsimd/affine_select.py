"""affine_select: elements of a tile where an affine value compares true with 0, a number elsewhere.

Bit-identical to `bitpath.golden.trainium3.exact.affine_select`.

Ref: ``nki.isa.affine_select`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08). Points that it leaves open are in
`bitpath.golden.trainium3.declarations.gpsimd.GPSIMD_CHOICES`.
"""

from collections.abc import Callable, Sequence

import numpy as np

from bitpath.golden.arrays.arguments import check_choice, checked
from bitpath.golden.trainium3.declarations.gpsimd import COMPARISONS
from bitpath.golden.trainium3.gpsimd.affine import affine_values
from bitpath.golden.trainium3.operands.cast import CAST_DTYPES, cast, from_fp32
from bitpath.golden.trainium3.vector.engine import check_tile, single


@checked
def affine_select(
    pattern: Sequence[tuple[int, int]],
    channel_multiplier: int,
    on_true_tile: np.ndarray,
    on_false_value: float,
    cmp_op: str = "equal",
    *,
    offset: int = 0,
    dtype: np.dtype | type | str | None = None,
) -> np.ndarray:
    """Return ``on_true_tile[p, i] if iota[p, i] cmp_op 0 else on_false_value``, each as `dtype`.

    Parameters
    ----------
    pattern, channel_multiplier, offset : as `iota`; the nums multiply to F.
    on_true_tile : [P, F], P from 1 to 128, of a dtype that `cast` takes. Equal dtypes move bits, others go through FP32.
    on_false_value : a number, rounded once to FP32, then cast.
    cmp_op : one of `COMPARISONS`; the affine value is on its left.
    dtype : as `cast` takes it, also "tf32"; None is the tile's.

    Returns
    -------
    [P, F] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype, shape, pattern, number or comparison.
    """
    check_tile("on_true_tile", on_true_tile, *CAST_DTYPES.values())
    check_choice("cmp_op", cmp_op, COMPARISONS)
    values = affine_values(pattern, len(on_true_tile), offset, channel_multiplier)
    if values.shape != on_true_tile.shape:
        raise ValueError(f"pattern must have on_true_tile's {on_true_tile.shape[1]} elements, not {values.shape[1]}")
    result = on_true_tile.dtype if dtype is None else dtype
    compare: Callable[[np.ndarray, int], np.ndarray] = getattr(np, cmp_op)
    false = from_fp32(single("on_false_value", on_false_value, otherwise=""), result)
    return np.where(compare(values, 0), cast(on_true_tile, result), false)
