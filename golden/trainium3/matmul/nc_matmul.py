"""nc_matmul: one matmul instruction without scales, from operands in SBUF to a result in PSUM.

Bit-identical to chaining `bitpath.golden.trainium3.exact.multiply_add` from +0.

Ref: ``nki.isa.nc_matmul`` reference page, NKI 0.3 to 0.5, and "Trainium3 Architecture Guide for NKI" (AWS Neuron
documentation, 2025-12-01). `MatmulNumerics` has a field for each point that they leave open.
"""

from typing import Literal

import numpy as np

from bitpath.golden.arrays.arguments import check_array, checked, numerics_of
from bitpath.golden.arrays.codec import DTYPES, codes_of, decode_array, encode_array, format_of
from bitpath.golden.formats.catalogue import BF16, E3M4, E4M3, E4M3FN, E5M2, FP16, FP32, TF32, FloatFormat
from bitpath.golden.trainium3.declarations.quad_mx import MAX_STATIONARY, PARTITIONS
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_MATMUL, MatmulNumerics
from bitpath.golden.trainium3.exact import check_formats
from bitpath.golden.trainium3.matmul.instruction import accumulates, check_destination, check_rounding, check_tiling
from bitpath.golden.trainium3.matmul.psum import psum_write

MATMUL_DTYPES = tuple(DTYPES[fmt] for fmt in (BF16, FP16, FP32, E4M3, E4M3FN, E5M2, E3M4))
"""Dtypes of elements; TF32 travels as float32."""


@checked
def nc_matmul(
    stationary: np.ndarray,
    moving: np.ndarray,
    *,
    dst: np.ndarray | None = None,
    dst_dtype: np.dtype | type = np.float32,
    tile_position: tuple[int, int] | None = None,
    tile_size: tuple[int, int] | None = None,
    psum_accumulate_flag: int = 3,
    rounding: Literal["rne", "sr"] = "rne",
    random_bits: np.ndarray | None = None,
    stationary_tf32: bool = False,
    moving_tf32: bool = False,
    numerics: MatmulNumerics | None = None,
) -> np.ndarray:
    """Compute ``dst[m, n] (+)= sum over k of stationary[k, m] * moving[k, n]``.

    Rows k are added in order from +0, each step as `numerics` says; the result is written to PSUM as FP32 or BF16.

    Parameters
    ----------
    stationary, moving : [K, M] and [K, N]; K and M are 1 to 128, N at most 512 with a float32 destination, 1024 with
        bfloat16. Each is bfloat16, float16, float8_e4m3, float8_e4m3fn, float8_e5m2, float8_e3m4 or float32 by itself,
        but float32 meets only float32, and float8_e4m3 does not meet float8_e4m3fn.
    tile_position, tile_size : the tile of the array, (row, column) and (128 | 64 | 32, 128 | 64 | 32); both or neither.
        No effect on values.
    dst, dst_dtype, psum_accumulate_flag, rounding, random_bits : as `nc_matmul_mx`.
    stationary_tf32, moving_tf32 : True if that operand, float32, is rounded to TF32 on its way in.
    numerics : default `TRAINIUM3_MATMUL`: exact product and partial sum, one RNE rounding to FP32. A hypothesis about
        Trainium2 is `TRAINIUM2_BF16_PRODUCTS`, with products rounded to BF16.

    Returns
    -------
    A new [M, N] array of `dst`'s dtype.

    Raises
    ------
    TypeError, ValueError : anything outside these limits.
    """
    check_matrices(stationary, moving)
    check_tiling(stationary.shape[0], tile_position, tile_size, stationary.shape[1])
    accumulate = accumulates(psum_accumulate_flag)
    shape = (stationary.shape[1], moving.shape[1])
    dtype = check_destination(shape, dst, dst_dtype, accumulate)
    mode = check_rounding(rounding, random_bits, dtype, shape)
    numerics = numerics_of(numerics, TRAINIUM3_MATMUL)
    x, x_format = _read("stationary", stationary, stationary_tf32, numerics)
    y, y_format = _read("moving", moving, moving_tf32, numerics)
    said = (f"{name} is {each.dtype}" for name, each in (("stationary", stationary), ("moving", moving)))
    check_formats(numerics, x_format, y_format, *said)
    # The compiler is loaded with the first call.
    from bitpath.golden.trainium3.matmul import nc_matmul_loop

    result = nc_matmul_loop.chain_rows(numerics, x, y)
    return psum_write(result, dst if accumulate else None, dtype, mode, random_bits)


def check_matrices(stationary: np.ndarray, moving: np.ndarray) -> None:
    """Check dtypes and shapes of the operands against each other; N's limit is the destination's.

    Raises
    ------
    TypeError : no array, or another dtype than `MATMUL_DTYPES`.
    ValueError : shapes other than [K, M] and [K, N], K or M not 1 to 128.
    """
    for name, matrix, free in (("stationary", stationary, "M"), ("moving", moving, "N")):
        check_array(name, matrix, *MATMUL_DTYPES)
        if matrix.ndim != 2 or not 0 < matrix.shape[0] <= PARTITIONS:
            raise ValueError(f"{name} must have shape [K, {free}] with K from 1 to {PARTITIONS}, not {matrix.shape}")
    if stationary.shape[0] != moving.shape[0]:
        raise ValueError(f"moving must have stationary's K = {stationary.shape[0]}, not {moving.shape[0]}")
    if not 0 < stationary.shape[1] <= MAX_STATIONARY:
        raise ValueError(f"stationary must have a free size M from 1 to {MAX_STATIONARY}, not {stationary.shape[1]}")


def _read(name: str, matrix: np.ndarray, tf32: bool, numerics: MatmulNumerics) -> tuple[np.ndarray, FloatFormat]:
    """Return the exact values of an operand, float64, and its format at the array."""
    fmt = format_of(matrix.dtype)
    values = decode_array(fmt, codes_of(matrix, name))
    if not tf32:
        return values, fmt
    if fmt is not FP32:
        raise ValueError(f"{name} must be float32 with {name}_tf32, not {matrix.dtype}")
    return decode_array(TF32, encode_array(TF32, values, rounding=numerics.tf32_rounding)), TF32
