"""FP32 to MX9, MX6 and MX4.

Bit-identical to `bitpath.golden.exact.aie_ml_v2.to_mx` on every block.

Ref: amd-quark 0.13; llvm-aie for what the conversion reads: crRnd, and no saturation code.
"""

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import MX_BLOCK, MX_NAN_EXPONENT, MX_PAIRS, MxFormat, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.operands.arguments import mx_format, numerics_or_default
from bitpath.golden.aie_ml_v2.operands.axes import in_groups
from bitpath.golden.aie_ml_v2.operands.mx_blocks import MxBlocks
from bitpath.golden.arrays import backend
from bitpath.golden.arrays.arguments import check_array, checked, member
from bitpath.golden.arrays.rounding import shift_round
from bitpath.golden.formats.catalogue import FP32

LOOPS = "bitpath.golden.aie_ml_v2.convert.to_mx_loop"
LARGEST_SHIFT = 40
"""Significands have 24 bits: a shift this long leaves less than half a unit of any."""


@checked
def to_mx(
    x: np.ndarray,
    fmt: MxFormat | str,
    *,
    rounding: RoundingCode | int = RoundingCode.CONV_EVEN,
    numerics: AieNumerics | None = None,
) -> MxBlocks:
    """Convert along the last axis, 16 elements a block.

    A block's exponent is the largest of its elements'; a pair whose two elements lie below it has its shift bit set and
    one more bit of precision. Codes are rounded and saturated to plus and minus 2**m - 1. An infinity or a NaN makes
    the block NaN: exponent 255, codes 0.

    Parameters
    ----------
    x : float32 [..., 16 * B].
    fmt : "mx9", "mx6" or "mx4".
    rounding : crRnd code. The machine's own default after reset is 0, floor, which is biased.
    numerics : None is `AIE_ML_V2`'s.

    Raises
    ------
    TypeError, ValueError : another dtype, shape, format or code.
    """
    fmt = mx_format(fmt)
    code = member("rounding", rounding, RoundingCode)
    numerics = numerics_or_default(numerics)
    check_array("x", x, np.float32)
    if x.ndim < 1 or x.shape[-1] == 0 or x.shape[-1] % MX_BLOCK:
        raise ValueError(f"x must have shape [..., 16 * B] with B of at least 1, not {x.shape}")
    words = in_groups(np.ascontiguousarray(x).view(np.uint32), MX_BLOCK)
    if loops := backend.loops(LOOPS, words.size, numerics):
        shared, shift, codes = loops.to_mx(words.reshape(-1, MX_BLOCK), fmt, code, numerics)
        shape = words.shape[:-1]
        return MxBlocks(fmt, shared.reshape(shape), shift.reshape(shape), codes.reshape(words.shape))
    bits = words.astype(np.int64)
    exponent = bits >> FP32.fraction_bits & FP32.exponent_mask
    fraction = bits & FP32.fraction_mask
    significand = np.where(exponent > 0, fraction | 1 << FP32.fraction_bits, 0 if numerics.mx_flush else fraction)
    significand = np.where(bits & FP32.sign_mask, -significand, significand)
    pairs = in_groups(exponent, 2).max(axis=-1)
    lowest = fmt.min_code if numerics.mx_min_code else -fmt.max_code

    rounded, shared, shift = _round(fmt, significand, exponent, pairs, code)
    if numerics.mx_bump:
        leaves = (rounded < lowest) | (rounded > fmt.max_code)
        bumped = leaves.reshape(*pairs.shape, 2).any(axis=-1) & (pairs < MX_NAN_EXPONENT - 1)
        rounded, shared, shift = _round(fmt, significand, exponent, pairs + bumped, code)
    codes = np.clip(rounded, lowest, fmt.max_code)
    if numerics.mx_nan_block:
        nan = exponent.max(axis=-1) == MX_NAN_EXPONENT
        codes = np.where(nan[..., np.newaxis], 0, codes)
        shift = np.where(nan, 0, shift)
    return MxBlocks(fmt, shared.astype(np.uint8), shift.astype(np.uint8), codes.astype(np.int8))


def _round(
    fmt: MxFormat, significand: np.ndarray, exponent: np.ndarray, pairs: np.ndarray, code: RoundingCode
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return codes before saturation, shared exponents and shift bytes, for given exponents of the pairs."""
    shared = pairs.max(axis=-1)
    shifted = (pairs < shared[..., np.newaxis]).astype(np.int64)
    # From the last place of a significand to that of the element, whose magnitude bits start at the shared exponent.
    distance = FP32.precision - fmt.magnitude_bits - shifted.repeat(2, axis=-1)
    distance += shared[..., np.newaxis] - np.maximum(exponent, 1)
    rounded = shift_round(significand, np.minimum(distance, LARGEST_SHIFT), code.mode)
    return rounded, shared, (shifted << np.arange(MX_PAIRS)).sum(axis=-1)
