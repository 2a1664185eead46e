"""Conversions between FP32 and the MX blocks MX9, MX6, MX4 and bfp16ebs8."""

import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import MX_BIAS, MX_NAN_EXPONENT, MxFormat, RoundingCode
from bitpath.golden.aie_ml_v2.declarations.numerics import AieNumerics
from bitpath.golden.aie_ml_v2.operands.arguments import in_groups, joined, mx_format, numerics_or_default
from bitpath.golden.aie_ml_v2.operands.layout import MxBlocks
from bitpath.golden.arrays.arguments import check_array, checked, member
from bitpath.golden.formats.catalogue import FP32

# FP32 to MX9, MX6, MX4 and bfp16ebs8.
#
# Results are bit-identical to `bitpath.golden.exact.aie_ml_v2.to_mx` on every block.
#
# Ref: amd-quark 0.13; llvm-aie: the conversion reads crRnd and no saturation code; XDNA2 for bfp16ebs8.


@checked
def to_mx(
    x: np.ndarray,
    format: MxFormat | str,
    *,
    rounding: RoundingCode | int = RoundingCode.CONV_EVEN,
    numerics: AieNumerics | None = None,
) -> MxBlocks:
    """Convert along the last axis, 16 elements a block, in bfp16ebs8 8.

    A block's exponent is the largest of its elements'; in MX a pair whose two elements lie below it has its shift bit set
    and one more bit of precision. Codes are rounded. Those of MX saturate to plus and minus 2**m - 1, and an infinity or a
    NaN makes the block NaN: exponent 255, codes 0. A block of bfp16ebs8 with a code above 2**m - 1 is converted again with
    the next higher exponent, and exponent 255 is an ordinary one.

    Parameters
    ----------
    x : float32 [..., 16 * B], or [..., 8 * B].
    format : "mx9", "mx6", "mx4" or "bfp16ebs8".
    rounding : crRnd code. The machine's own default after reset is 0, floor, which is biased.
    numerics : None is `AIE_ML_V2`'s, for bfp16ebs8 `XDNA2_BFP16EBS8`'s.

    Raises
    ------
    TypeError, ValueError : another dtype, shape, format or code.
    """
    fmt = mx_format(format)
    code = member("rounding", rounding, RoundingCode)
    numerics = numerics_or_default(numerics, fmt)
    check_array("x", x, np.float32)
    if x.ndim < 1 or x.shape[-1] == 0 or x.shape[-1] % fmt.elements:
        raise ValueError(f"x must have shape [..., {fmt.elements} * B] with B of at least 1, not {x.shape}")
    words = in_groups(np.ascontiguousarray(x).view(np.uint32), fmt.elements)
    # The compiler is loaded with the first call.
    from bitpath.golden.aie_ml_v2.convert import to_mx_loop

    shared, shift, codes = to_mx_loop.to_mx(words.reshape(-1, fmt.elements), fmt, code, numerics)
    shape = words.shape[:-1]
    return MxBlocks(fmt, shared.reshape(shape), shift.reshape(shape), codes.reshape(words.shape))


# MX9, MX6, MX4 and bfp16ebs8 to FP32.
#
# Ref: the AIE API, which multiplies by an identity block; UG1639 for the value of an element.


@checked
def from_mx(blocks: MxBlocks, *, numerics: AieNumerics | None = None) -> np.ndarray:
    """Return the elements as float32 [..., 16 * B], of bfp16ebs8 [..., 8 * B], exactly.

    What is below the normal numbers becomes a zero of its sign, what is from 2**128 on infinity, a NaN block 0x7FC00000.
    `numerics` None is the default that `to_mx` has for the format.

    Raises
    ------
    TypeError : `blocks` are no MxBlocks.
    """
    numerics = numerics_or_default(numerics, blocks.fmt)
    weight = blocks.exponent.astype(np.int64)[..., np.newaxis] - MX_BIAS - blocks.element_shifts
    # Codes have at most 8 bits: exact in float64.
    values = np.ldexp(blocks.codes.astype(np.float64), weight + 1 - blocks.fmt.magnitude_bits)
    values = np.where(np.abs(values) < float(FP32.min_normal), np.copysign(0.0, values), values)
    values = np.where(np.abs(values) > float(FP32.max), np.copysign(np.inf, values), values)
    bits = values.astype(np.float32).view(np.uint32)
    if numerics.mx_nan_block:
        nan = blocks.exponent == MX_NAN_EXPONENT
        bits = np.where(nan[..., np.newaxis], np.uint32(FP32.nan_code), bits)
    return joined(bits).view(np.float32)
