"""BF16, FP16 and 8-bit floats to FP32, and BF16 and FP32 to integers.

Ref: BF16 to FP32 and to integers as measured on first-generation silicon; the AIE API, which widens 8-bit floats by a
multiplication; LLVM's itineraries for FP32 to integers.
"""

import numpy as np

from bitpath.golden.aie_ml_v2.convert.floats import f32_to_bf16
from bitpath.golden.aie_ml_v2.declarations.codes import F32_PIECES, F32_PRODUCTS, FLOAT_SHIFTS, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.modes import FLOAT8, FLOAT8_FORMATS, FLOAT16
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.mac.fused_dot import fused_dot
from bitpath.golden.arrays.arguments import check_array, check_choice, check_shape, checked, integer
from bitpath.golden.arrays.codec import DTYPES, decode_array, encode_array
from bitpath.golden.formats.catalogue import BF16, E4M3, FP16, FP32

# FP32 products from BF16 ones: each operand as three BF16 pieces, 9, 6 or 3 products of pieces.
#
# Ref: llvm-aie's headers for the numbers of products and their order.


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
                result = fused_dot(x[i], y[order - i], result, format="bf16", numerics=numerics)
    return result


INT32_MAX = (1 << 31) - 1
ONE = 0x38
"""1.0 in E4M3."""
LARGEST_SHIFT = 8


@checked
def bf16_to_f32(bits: np.ndarray) -> np.ndarray:
    """Convert BF16 codes, uint16 of any shape, to FP32 codes, uint32: the same bits with zeros below.

    Raises
    ------
    TypeError : another dtype.
    """
    check_array("bits", bits, np.uint16)
    return np.asarray(bits.astype(np.uint32) << 16)


@checked
def fp16_to_f32(bits: np.ndarray) -> np.ndarray:
    """Convert FP16 codes, uint16 of any shape, to FP32 codes, uint32: exact, NaN with its payload.

    Raises
    ------
    TypeError : another dtype.
    """
    check_array("bits", bits, np.uint16)
    words = bits.astype(np.uint32)
    special = words & FP16.infinity_code == FP16.infinity_code
    sign = (words & FP16.sign_mask) << 16
    finite = decode_array(FP16, words).astype(np.float32).view(np.uint32)
    fraction = (words & FP16.fraction_mask) << FP32.fraction_bits - FP16.fraction_bits
    return (sign | np.where(special, FP32.infinity_code | fraction, finite)).astype(np.uint32)


@checked
def fp8_to_f32(x: np.ndarray) -> np.ndarray:
    """Convert 8-bit floats of any shape to float32 by a multiplication with 1.0; -0 becomes +0, NaN 0x7FC00000.

    Raises
    ------
    TypeError : another dtype.
    """
    check_array("x", x, *(DTYPES[fmt] for fmt in FLOAT8_FORMATS))
    padded = np.zeros((*x.shape, FLOAT8.depth), x.dtype)
    padded[..., 0] = x
    identity = np.zeros(FLOAT8.depth, np.uint8)
    identity[0] = ONE
    return fused_dot(padded, identity.view(DTYPES[E4M3]), format="fp8")


@checked
def bf16_to_int32(bits: np.ndarray, shift: int = 0) -> np.ndarray:
    """Convert BF16 codes, uint16 of any shape, times ``2**shift`` to int32, rounded down and saturated.

    NaN gives 2**31 - 1.

    Parameters
    ----------
    shift : -32 to 31.

    Raises
    ------
    TypeError, ValueError : another dtype or shift.
    """
    check_array("bits", bits, np.uint16)
    shift = integer("shift", shift, FLOAT_SHIFTS)
    words = bits.astype(np.int64)
    biased, fraction = words >> BF16.fraction_bits & BF16.exponent_mask, words & BF16.fraction_mask
    significand = fraction | (biased > 0).astype(np.int64) << BF16.fraction_bits
    significand = np.where(words & BF16.sign_mask, -significand, significand)
    # No shift brings a subnormal number to 1, so that its exponent needs no rule of its own.
    distance = biased - BF16.bias - BF16.fraction_bits + shift
    # Significands have 8 bits: 24 places up they saturate, 8 down only the sign is left.
    up, down = np.clip(distance, 0, 24), np.clip(-distance, 0, LARGEST_SHIFT)
    integers = np.clip(significand << up >> down, -INT32_MAX - 1, INT32_MAX)
    nan = (biased == BF16.exponent_mask) & (fraction > 0)
    return np.where(nan, INT32_MAX, integers).astype(np.int32)


@checked
def f32_to_int32(bits: np.ndarray, shift: int = 0, *, rounding: RoundingCode | int) -> np.ndarray:
    """Convert FP32 codes, uint32 of any shape, to BF16 by crRnd, then times ``2**shift`` to int32 as `bf16_to_int32`.

    One instruction does both and sets the flags of both, which are those of `f32_to_bf16` and of `bf16_to_int32`.

    Raises
    ------
    TypeError, ValueError : another dtype, code or shift.
    """
    return bf16_to_int32(f32_to_bf16(bits, rounding=rounding), shift)
