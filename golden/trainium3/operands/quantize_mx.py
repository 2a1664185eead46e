"""quantize_mx: BF16 or FP16 tiles to MX elements and scales, and back.

Results are bit-identical to `bitpath.golden.exact.quantize_block` on every block of 8 partitions by 4 columns.

Ref: ``nki.isa.quantize_mx`` reference page, NKI 0.3 (rule "ocp") and 0.5 (rule "nki05"); OCP Microscaling Formats (MX)
1.0, section 6.3.
"""

from typing import Literal

import numpy as np

from bitpath.golden.arrays.arguments import check_array, checked, dtype_of, member
from bitpath.golden.arrays.codec import DTYPES, codes_of, decode_array, format_of
from bitpath.golden.formats.catalogue import BF16, E2M1, E8M0, FP16, FP32, FloatFormat
from bitpath.golden.trainium3.declarations.quad_mx import SCALE_PARTITIONS, X4, ScaleRule
from bitpath.golden.trainium3.operands.layout import MX_DTYPES, check_partitions

ScaleRuleName = Literal["ocp", "nki05"]


@checked
def quantize_mx(
    src: np.ndarray, dtype: np.dtype, *, scale_rule: ScaleRuleName = "ocp"
) -> tuple[np.ndarray, np.ndarray]:
    """Quantise a tile as VectorE's QuantizeMX does.

    A block is 8 consecutive partitions by 4 columns (one x4 word). Its scale code is max(E - offset, 0), with E the
    largest biased FP32 exponent in the block. The offset is the element's emax under "ocp"; under "nki05" it is one less,
    except for E2M1, whose offset is 2 under both. Elements are divided by the scale that is stored, rounded RNE and
    saturated, infinity too; NaN becomes +NaN, or +6 in E2M1, which has no NaN.

    Parameters
    ----------
    src : [P, F] bfloat16 or float16; P is 32, 64, 96 or 128 and F a multiple of 4.
    dtype : float8_e4m3fn, float8_e5m2 or float4_e2m1fn.
    scale_rule : "ocp", for programs compiled before NKI 0.5; or "nki05", the compiler's default from NKI 0.5 on.

    Returns
    -------
    data [P, F] of `dtype`, element i of the x4 word f at column 4f + i (`pack_x4` makes the words); scale [P/8, F/4] uint8, E8M0.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or rule.
    """
    check_array("src", src, DTYPES[BF16], DTYPES[FP16])
    _check_tile("src", src)
    fmt = format_of(dtype_of("dtype", dtype, *MX_DTYPES))
    codes, scale = quantize_blocks(src, fmt, member("scale_rule", scale_rule, ScaleRule))
    return codes.view(DTYPES[fmt]), scale


@checked
def quantize_offline(
    x: np.ndarray, dtype: np.dtype, *, scale_rule: ScaleRuleName = "ocp"
) -> tuple[np.ndarray, np.ndarray]:
    """Quantise on the host, with `quantize_mx`'s arithmetic: for weights, and for MXFP4.

    Parameters
    ----------
    x : [P, F] bfloat16, float16, float32 or float64, else as `quantize_mx`. It is rounded once, to the element: not to
        bfloat16 first. A float64 beyond FP32's range counts as E = 254, and saturates.
    dtype : float8_e4m3fn, float8_e5m2 or float4_e2m1fn. For the last NaN is an error, which a host can report.
    scale_rule : as `quantize_mx`.

    Returns
    -------
    data and scale as `quantize_mx`.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or rule; NaN for float4_e2m1fn.
    """
    check_array("x", x, DTYPES[BF16], DTYPES[FP16], DTYPES[FP32], np.float64)
    _check_tile("x", x)
    fmt = format_of(dtype_of("dtype", dtype, *MX_DTYPES))
    with np.errstate(invalid="ignore"):  # a signalling NaN raises the flag
        if fmt.nan_code is None and np.isnan(x).any():
            raise ValueError(f"x holds NaN, which {DTYPES[fmt]} cannot express")
    codes, scale = quantize_blocks(x, fmt, member("scale_rule", scale_rule, ScaleRule))
    return codes.view(DTYPES[fmt]), scale


@checked
def dequantize(data: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return the exact values of an MX tile: data [P, F], scale [P/8, F/4] uint8 -> float64 [P, F].

    Scale code 255 makes its block NaN.

    Raises
    ------
    TypeError, ValueError : another dtype or shape.
    """
    check_array("data", data, *MX_DTYPES)
    check_array("scale", scale, np.uint8)
    _check_tile("data", data)
    expected = (data.shape[0] // SCALE_PARTITIONS, data.shape[1] // X4)
    if scale.shape != expected:
        raise ValueError(f"scale must have shape {expected} for data of shape {data.shape}, not {scale.shape}")
    factors = _spread(decode_array(E8M0, scale))  # powers of two: exact in float64
    return decode_array(format_of(data.dtype), codes_of(data, "data")) * factors


def quantize_blocks(x: np.ndarray, fmt: FloatFormat, rule: ScaleRule) -> tuple[np.ndarray, np.ndarray]:
    """Return the codes [P, F] and scales [P/8, F/4], uint8, of any number of partitions that is a multiple of 8."""
    offset = fmt.emax - (rule is ScaleRule.NKI05 and fmt is not E2M1)
    # The compiler is loaded with the first call.
    from bitpath.golden.trainium3.operands import quantize_mx_loop

    return quantize_mx_loop.quantize(x, fmt, offset)


def _spread(scale: np.ndarray) -> np.ndarray:
    """Repeat each block's scale over its elements: [P/8, F/4] -> [P, F]."""
    return scale.repeat(SCALE_PARTITIONS, axis=0).repeat(X4, axis=1)


def _check_tile(name: str, tile: np.ndarray) -> None:
    if tile.ndim != 2 or tile.shape[1] == 0 or tile.shape[1] % X4:
        raise ValueError(f"{name} must have shape [P, F] with F a positive multiple of {X4}, not {tile.shape}")
    check_partitions(name, tile.shape[0])
