"""W8A8: a linear layer of FP8 activations and FP8 weights, with a scale for each row and each output channel.

::

    x [M, K] -> RMSNorm-Quant -> FP8 [M, K], row scales [M] ---.
                                                               +-> nc_matmul -> PSUM -> * channel scale -> * row scale
    w [K, N] -> host ----------> FP8 [K, N], channel scales [N] '    TensorE     FP32     VectorE           ScalarE

E4M3 reaches 240 (``dtype_mode`` "non_ocp"), E4M3FN 448 ("ocp"). Weights are converted once and take 4 bytes an element; the
array's kernel computes the rows that there are.

Ref: "RMSNorm-Quant Kernel Design Specification", AWS Neuron documentation, 2025-12-02; nki-library, ``mlp_cte_projection.py``,
`perform_quantized_down_projection`. Standing of each choice: `bitpath.golden.trainium3.declarations.vector.CHOICES`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bitpath.golden.arrays.arguments import (
    check_array,
    check_matrix,
    check_shape,
    checked,
    dtype_of,
    member,
    numerics_of,
)
from bitpath.golden.arrays.codec import DTYPES, format_of
from bitpath.golden.arrays.parallel import ROWS, Progress, cuts, in_parallel, in_row_blocks
from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.formats.dot import DotNumerics
from bitpath.golden.trainium3.core.rmsnorm import (
    NUMERICS,
    DtypeModeName,
    EpsPlacementName,
    check_gamma,
    rmsnorm_quant,
    unpack_rows,
)
from bitpath.golden.trainium3.declarations.vector import (
    ROW_TILE,
    TRAINIUM3_MATMUL,
    TRAINIUM3_RMSNORM_QUANT,
    DtypeMode,
    MatmulNumerics,
)
from bitpath.golden.trainium3.exact import check_formats
from bitpath.golden.trainium3.matmul.matmul import packed_in_parts
from bitpath.golden.trainium3.matmul.nc_matmul import double_row_numerics
from bitpath.golden.trainium3.operands import fp32
from bitpath.golden.trainium3.tensor.mode_matmul import add_products, pack_numbers, pack_pairs
from bitpath.golden.trainium3.vector.activation import activation
from bitpath.golden.trainium3.vector.elementwise import tensor_tensor
from bitpath.golden.trainium3.vector.engine import SumOrderName

BFLOAT16 = DTYPES[BF16]


@dataclass(frozen=True, kw_only=True, eq=False)
class PreparedW8A8:
    """Weights that `prepare_w8a8` has converted.

    Attributes
    ----------
    shape : K and N.
    packed : FP8 numbers as the array's kernels take them.
    scales : float32 [N], of the output channels.
    dtype_mode, numerics : arguments of `prepare_w8a8`; numerics of double row where that was asked for.
    """

    shape: tuple[int, int]
    packed: tuple[np.ndarray, ...]
    scales: np.ndarray
    dtype_mode: DtypeModeName
    numerics: MatmulNumerics | DotNumerics


@checked
def linear_w8a8(
    x: np.ndarray,
    w: np.ndarray | PreparedW8A8,
    *,
    gamma: np.ndarray | None = None,
    eps: float = float(TRAINIUM3_RMSNORM_QUANT.numerics.eps),
    eps_placement: EpsPlacementName = "kernel",
    lower_bound: float = 0.0,
    sum_order: SumOrderName = "serial",
    dtype: np.dtype | type = BFLOAT16,
    progress: Progress | None = None,
    **options: Any,
) -> np.ndarray:
    """Quantise rows, multiply them by weights in FP8, and dequantise.

    Parameters
    ----------
    x : [..., K], bfloat16, float16 or float32, which RMSNorm-Quant rounds to bfloat16.
    w : weights, float32 [K, N], or what `prepare_w8a8` returns of them.
    gamma : [K], bfloat16, float16, or float32, which is rounded to bfloat16; None leaves the normalisation out.
    eps, eps_placement, lower_bound, sum_order : as `rmsnorm_quant`.
    dtype : bfloat16, or float32 to keep the dequantisation apart from that rounding.
    progress : as `matmul_mode`'s.
    options : of `prepare_w8a8`, for weights that are not prepared.

    Returns
    -------
    [..., N] of `dtype`.

    Raises
    ------
    TypeError, ValueError : as `rmsnorm_quant` and `prepare_w8a8`; options with weights that are prepared.
    """
    if isinstance(w, PreparedW8A8):
        for name in options:
            raise ValueError(f"{name} must not be given with prepared weights, which have their own")
    right = w if isinstance(w, PreparedW8A8) else prepare_w8a8(w, **options)
    check_array("x", x, *(DTYPES[fmt] for fmt in (BF16, FP16, FP32)))
    check_shape("x", x, "...", right.shape[0], why=" for these weights")
    if gamma is not None:
        if isinstance(gamma, np.ndarray) and gamma.dtype == DTYPES[FP32]:
            gamma = fp32.write(gamma, BFLOAT16)
        check_gamma("gamma", gamma, right.shape[0])
    rows: Any = rmsnorm_quant(
        np.ascontiguousarray(x.reshape(-1, x.shape[-1])),
        gamma,
        eps=eps,
        eps_placement=eps_placement,
        quant_only=gamma is None,
        lower_bound=lower_bound,
        sum_order=sum_order,
        dtype_mode=right.dtype_mode,
    )
    data, scale = unpack_rows(rows, dtype=_dtype(right.dtype_mode))
    result = multiply_w8a8(data, scale, right, dtype=dtype, progress=progress)
    return result.reshape(*x.shape[:-1], right.shape[1])


@checked
def prepare_w8a8(
    w: np.ndarray,
    *,
    dtype_mode: DtypeModeName = "non_ocp",
    double_row: bool = False,
    numerics: MatmulNumerics | DotNumerics | None = None,
) -> PreparedW8A8:
    """Convert weights to FP8 for any number of `linear_w8a8`.

    Parameters
    ----------
    w : float32 [K, N], finite.
    dtype_mode : "non_ocp" converts to float8_e4m3, up to 240, "ocp" to float8_e4m3fn, up to 448.
    double_row : True to add the products of two rows in one step.
    numerics : `nc_matmul`'s, in double row its `double_row_numerics`.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or mode; numbers that are not finite; numerics without the format.
    """
    # The compiler is loaded with the first call.
    from bitpath.golden.trainium3.matmul.array_loop import COLUMNS

    known = _numerics(dtype_mode, double_row, numerics)
    codes, scales = quantize_channels(w, dtype_mode=dtype_mode)

    def pack(part: np.ndarray) -> tuple[np.ndarray, ...]:
        return _pack(part.swapaxes(1, 2), known, COLUMNS)

    packed = packed_in_parts(pack, codes[np.newaxis], COLUMNS)
    return PreparedW8A8(shape=w.shape, packed=packed, scales=scales, dtype_mode=dtype_mode, numerics=known)


@checked
def quantize_channels(w: np.ndarray, *, dtype_mode: DtypeModeName = "non_ocp") -> tuple[np.ndarray, np.ndarray]:
    """Convert weights as a host does: ``scale[n] = max(max |w[:, n]| / largest, 1e-6)``, codes ``w[k, n] / scale[n]``.

    Quotients are rounded to FP32, codes from there to nearest even.

    Parameters
    ----------
    w, dtype_mode : as `prepare_w8a8`.

    Returns
    -------
    float8_e4m3 or float8_e4m3fn [K, N], and float32 [N].

    Raises
    ------
    TypeError, ValueError : as `prepare_w8a8`.
    """
    numerics = NUMERICS[member("dtype_mode", dtype_mode, DtypeMode)]
    check_matrix("w", w)
    if not np.isfinite(w).all():
        raise ValueError("w must hold finite numbers, not infinity or NaN")
    largest = fp32.divide(np.abs(w).max(axis=0), np.float32(numerics.output_range))
    scales = fp32.maximum(largest, np.float32(numerics.min_dequant_scale))
    return fp32.write(fp32.divide(w, scales), DTYPES[numerics.output]), scales


@checked
def multiply_w8a8(
    data: np.ndarray,
    scale: np.ndarray,
    right: PreparedW8A8,
    *,
    dtype: np.dtype | type = BFLOAT16,
    progress: Progress | None = None,
) -> np.ndarray:
    """Multiply rows that are quantised already by prepared weights, and dequantise.

    Parameters
    ----------
    data, scale : FP8 [M, K] and float32 [M, 1] of `unpack_rows`.
    right, dtype, progress : as `linear_w8a8`.

    Returns
    -------
    [M, N] of `dtype`.

    Raises
    ------
    TypeError, ValueError : another dtype or shape.
    """
    # The compiler is loaded with the first call.
    from bitpath.golden.trainium3.matmul.array_loop import ROWS as WIDTH

    check_array("data", data, _dtype(right.dtype_mode))
    check_shape("data", data, "M", right.shape[0], why=" for these weights")
    check_array("scale", scale, DTYPES[FP32])
    check_shape("scale", scale, len(data), 1)
    dtype = dtype_of("dtype", dtype, BFLOAT16, DTYPES[FP32])
    psum = np.empty((1, len(data), right.shape[1]), np.float32)

    def product(rows: slice, told: Progress | None) -> None:
        left = _pack(data[np.newaxis, rows], right.numerics, WIDTH)
        add_products(left, right.packed, format_of(data.dtype), right.numerics, psum, rows, progress=told)

    in_row_blocks(product, len(data), ROWS, progress)
    result = np.empty(psum.shape[1:], dtype)

    def dequantise(rows: slice) -> None:
        tile = tensor_tensor(psum[0, rows], np.broadcast_to(right.scales, psum[0, rows].shape), "multiply", dtype=dtype)
        result[rows] = activation(tile, "copy", scale=scale[rows], dtype=dtype)

    in_parallel(dequantise, cuts(len(data), ROW_TILE))
    return result


def _pack(rows: np.ndarray, numerics: MatmulNumerics | DotNumerics, width: int) -> tuple[np.ndarray, ...]:
    """Pack FP8 operands [B, F, K] for the array's kernel."""
    return pack_pairs(numerics, rows, width) if isinstance(numerics, DotNumerics) else pack_numbers(rows, width)


def _dtype(dtype_mode: str) -> np.dtype:
    return DTYPES[NUMERICS[DtypeMode(dtype_mode)].output]


def _numerics(dtype_mode: str, double_row: bool, numerics: Any) -> MatmulNumerics | DotNumerics:
    """Return the numerics of the product; raise for those of another unit, or without the format."""
    fmt = NUMERICS[member("dtype_mode", dtype_mode, DtypeMode)].output
    if double_row:
        return double_row_numerics(numerics, fmt)
    single = numerics_of(numerics, TRAINIUM3_MATMUL)
    check_formats(single, fmt, fmt, *(f"{name} is {DTYPES[fmt]}" for name in ("stationary", "moving")))
    return single
