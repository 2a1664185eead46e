"""FP32 products from BF16 ones: each operand as three BF16 pieces, 9, 6 or 3 products of pieces.

Ref: llvm-aie's headers for the numbers of products and their order.
"""

import numpy as np

from bitpath.golden.aie_ml_v2.convert.narrow import f32_to_bf16
from bitpath.golden.aie_ml_v2.declarations.codes import F32_PIECES, F32_PRODUCTS, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT16
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.mac.fused_dot import fused_dot
from bitpath.golden.arrays.arguments import check_array, check_choice, check_shape, checked
from bitpath.golden.arrays.codec import DTYPES, decode_array, encode_array
from bitpath.golden.formats.catalogue import BF16, FP32


@checked
def split_f32(x: np.ndarray) -> np.ndarray:
    """Split float32 `x` into three BF16 addends: bfloat16 [3, *x.shape], the largest first.

    Each is the remainder rounded to nearest even; after one that is not finite the others are 0.

    Raises
    ------
    TypeError : another dtype.
    """
    check_array("x", x, np.float32)
    bits = np.ascontiguousarray(x).view(np.uint32).reshape(x.shape)
    first = f32_to_bf16(bits, rounding=RoundingCode.CONV_EVEN)
    finite = first & BF16.infinity_code != BF16.infinity_code
    left = decode_array(FP32, np.where(finite, bits, 0))
    pieces = [first]
    for _ in range(F32_PIECES - 1):
        # Exact in float64: the leavings are multiples of the last place of `x`, and smaller.
        left = left - np.where(finite, decode_array(BF16, np.where(finite, pieces[-1], 0)), 0.0)
        pieces.append(np.where(finite, encode_array(BF16, left), 0).astype(np.uint16))
    return np.stack(pieces).view(DTYPES[BF16])


@checked
def f32_dot(
    a: np.ndarray,
    b: np.ndarray,
    acc1: np.ndarray | None = None,
    *,
    products: int = 9,
    numerics: AieNumerics | None = None,
) -> np.ndarray:
    """Add the products of one lane of float32 operands to an accumulator, in 9, 6 or 3 passes of the BF16 mode.

    Parameters
    ----------
    a, b : float32 [..., 8]; leading axes broadcast.
    acc1 : float32 [...]; None is not there.
    products : 9, 6 or 3; the smallest products first.

    Returns
    -------
    float32 [...].

    Raises
    ------
    TypeError, ValueError : another dtype, shape or number of products.
    """
    products = check_choice("products", products, F32_PRODUCTS)
    check_array("a", a, np.float32)
    check_array("b", b, np.float32)
    check_shape("a", a, "...", FLOAT16.depth, why=" the depth of the mode")
    check_shape("b", b, "...", FLOAT16.depth, why=" the depth of the mode")
    x, y = split_f32(a), split_f32(b)
    result = acc1
    largest = F32_PRODUCTS[products]
    for order in range(largest, -1, -1):
        for i in range(min(order, F32_PIECES - 1), -1, -1):
            if order - i < F32_PIECES:
                result = fused_dot(x[i], y[order - i], result, fmt="bf16", numerics=numerics)
    return result
