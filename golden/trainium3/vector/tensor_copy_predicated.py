"""tensor_copy_predicated: elements of a tile where a predicate holds, those of the destination elsewhere.

Bit-identical to `bitpath.golden.trainium3.exact.copy_row_predicated`.

Ref: ``nki.isa.tensor_copy_predicated`` reference page, NKI 0.6 (AWS Neuron documentation, 2026-08).
"""

import numpy as np

from bitpath.golden.arrays.arguments import checked
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.vector.engine import (
    ENGINE_DTYPES,
    bit_words,
    check_shapes,
    check_tile,
    real,
    single,
    write,
)

PREDICATE_DTYPES = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32))


@checked
def tensor_copy_predicated(
    dst: np.ndarray, src: float | np.ndarray, predicate: np.ndarray, *, reverse_pred: bool = False
) -> np.ndarray:
    """Return `dst` with the elements of `src` where the predicate is not 0; bits move, NaN payloads included.

    Parameters
    ----------
    dst : [P, F], P from 1 to 128, of a dtype in `ENGINE_DTYPES`.
    src : [P, F] of dst's dtype, or a number, rounded to FP32 and then cast to it.
    predicate : [P, F], uint8, uint16 or uint32.
    reverse_pred : True to copy where the predicate is 0.

    Returns
    -------
    [P, F] of dst's dtype, a new array.

    Raises
    ------
    TypeError, ValueError : another dtype or shape.
    """
    check_tile("dst", dst, *ENGINE_DTYPES)
    if isinstance(src, np.ndarray):
        check_tile("src", src, dst.dtype)
        check_shapes(dst=dst, src=src)
    else:
        src = write(fp32.one_nan(single("src", real("src", src, ", or an array [P, F]"))), dst.dtype)
    check_tile("predicate", predicate, *PREDICATE_DTYPES)
    check_shapes(dst=dst, predicate=predicate)
    return np.where((predicate != 0) != reverse_pred, bit_words(src), bit_words(dst)).view(dst.dtype)
