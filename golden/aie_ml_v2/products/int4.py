"""Products of 4-bit integers, which the machine unpacks to 8 bits and multiplies in mode int8.

Ref: AM027, Table 7, whose note says that 4-bit products are emulated; AIE API for the shape 4x16x16.
"""

import numpy as np

from bitpath.golden.aie_ml_v2.convert.integers import integer_dot
from bitpath.golden.aie_ml_v2.convert.pack import unpack4
from bitpath.golden.aie_ml_v2.declarations.modes import INT4_BITS, INT4_SHAPES, INT8
from bitpath.golden.aie_ml_v2.operands.axes import in_groups
from bitpath.golden.arrays.arguments import check_array, check_choice, check_shape, checked


@checked
def int4_matmul(
    a: np.ndarray,
    b: np.ndarray,
    acc: np.ndarray | None = None,
    *,
    a_bits: int,
    shape: str,
    signed_a: bool = True,
    signed_b: bool = True,
) -> np.ndarray:
    """Multiply a tile by 4-bit integers, ``D[i][j] = acc[i][j] + sum(A[i][k] * B[k][j])``; lanes of 32 bits wrap.

    Parameters
    ----------
    a : with `a_bits` 8 integers of 8 bits [..., M, K], with 4 uint8 [..., M, K / 2].
    b : uint8 [..., K, N / 2]. A byte holds two elements, the lower one in its low nibble.
    acc : integers of 32 bits [..., M, N]; None if absent.
    a_bits : 4 or 8.
    shape : MxKxN: "8x8x8", "4x8x16", or "4x16x16", which takes two native products.
    signed_a, signed_b : True if an operand is signed.

    Returns
    -------
    int64 [..., M, N].

    Raises
    ------
    TypeError, ValueError : another shape or dtype; integers out of range.
    """
    a_bits = check_choice("a_bits", a_bits, (INT4_BITS, INT8.a_bits))
    tile = INT4_SHAPES[check_choice("shape", shape, INT4_SHAPES)]
    per_byte = INT8.a_bits // a_bits
    for name, array, *sizes in (("a", a, tile.m, tile.k // per_byte), ("b", b, tile.k, tile.n // 2)):
        check_array(name, array, *((np.uint8,) if name == "b" or a_bits == INT4_BITS else ()))
        check_shape(name, array, "...", *sizes, why=f" with shape {shape!r}")
    x = unpack4(a, signed=signed_a) if a_bits == INT4_BITS else a
    y = unpack4(b, signed=signed_b).swapaxes(-1, -2)
    # [..., M, N, steps, depth of int8]
    left, right = (in_groups(each, INT8.depth) for each in (x[..., np.newaxis, :], y[..., np.newaxis, :, :]))
    for step in range(tile.k // INT8.depth):
        operands = left[..., step, :], right[..., step, :]
        acc = integer_dot(*operands, acc, mode=INT8.name, signed_a=signed_a, signed_b=signed_b)
    return np.asarray(acc)
