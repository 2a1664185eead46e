"""nc_matmul_mx: one MX matmul instruction, from operands in SBUF to a result in PSUM.

Ref: ``nki.isa.nc_matmul_mx`` reference page, NKI 0.3, and "Trainium3 Architecture Guide for NKI", AWS Neuron
documentation, 2025-12-01. Points that they leave open are fields of `DotNumerics`, or in
`bitpath.golden.trainium3.declarations.quad_mx.CHOICES`.
"""

from functools import cache
from typing import Literal

import numpy as np

from bitpath.golden.arrays.arguments import check_array, checked, one_of
from bitpath.golden.arrays.codec import codes_of, decode_array, encode_array, format_of
from bitpath.golden.formats.catalogue import E2M1, E4M3FN, FloatFormat
from bitpath.golden.formats.dot import DotNumerics
from bitpath.golden.trainium3.matmul.array import chain_rows
from bitpath.golden.trainium3.matmul.instruction import (
    accumulates,
    check_destination,
    check_numerics,
    check_operands,
    check_rounding,
    check_tiling,
    psum_write,
)
from bitpath.golden.trainium3.operands.layout import check_partitions, check_scale_offset, gather_scale


@checked
def nc_matmul_mx(
    stationary: np.ndarray,
    moving: np.ndarray,
    stationary_scale: np.ndarray,
    moving_scale: np.ndarray,
    *,
    stationary_scale_offset: int = 0,
    moving_scale_offset: int = 0,
    dst: np.ndarray | None = None,
    dst_dtype: np.dtype | type = np.float32,
    tile_position: tuple[int, int] | None = None,
    tile_size: tuple[int, int] | None = None,
    psum_accumulate_flag: int = 3,
    rounding: Literal["rne", "sr"] = "rne",
    random_bits: np.ndarray | None = None,
    multi_bank: bool = False,
    numerics: DotNumerics | None = None,
) -> np.ndarray:
    """Compute ``dst[m, n] (+)= sum over p, i of stationary[p, m, i] * moving[p, n, i]`` with both scales.

    Rows p are added in order from +0, each step as `numerics` says; the result is written to PSUM as FP32 or BF16.

    Parameters
    ----------
    stationary, moving : [P, M, 4] and [P, N, 4] of float8_e4m3fn, float8_e5m2 or float4_e2m1fn, each by itself. P is 32,
        64, 96 or 128; M is even and at most 128; N is at most 512 with a float32 destination, 1024 with bfloat16.
    stationary_scale, moving_scale : uint8 [P/8, M] and [P/8, N], E8M0; or [P, M] and [P, N] as SBUF holds them, four rows in
        each quadrant (`scatter_scale`), of which the other rows are not read. Each by itself.
    stationary_scale_offset, moving_scale_offset : partition in a quadrant from which its four rows lie, 0, 4, 8 or 12; 0 for
        scales [P/8, F].
    dst : PSUM's present content [M, N], float32 or bfloat16; its dtype decides. Needed where the flag accumulates.
    dst_dtype : dtype of the result where `dst` is None.
    tile_position, tile_size : the row tile, (start row, 0) and (128 | 64 | 32, 128); both or neither. No effect on values.
    psum_accumulate_flag : bit 0 first of a group, overwrite; bit 1 last; bit 2 first, but accumulate.
    rounding : rounding of the BF16 write: "rne", or "sr" with `random_bits`.
    random_bits : uint16 [M, N], added below the BF16 fraction before truncation; see `psum_random_bits`.
    multi_bank : whether the result may take several banks of PSUM: N up to 4096 with float32, 8192 with bfloat16.
    numerics : default `TRAINIUM3_QUAD_MX`: exact sum of four products and the partial sum, one RNE rounding to FP32.

    Returns
    -------
    A new [M, N] array of `dst`'s dtype.

    Raises
    ------
    TypeError, ValueError : anything outside these limits, see `instruction`.
    """
    stationary_scale = _compact("stationary", stationary, stationary_scale, stationary_scale_offset)
    moving_scale = _compact("moving", moving, moving_scale, moving_scale_offset)
    check_operands(stationary, moving, stationary_scale, moving_scale)
    check_tiling(stationary.shape[0], tile_position, tile_size)
    accumulate = accumulates(psum_accumulate_flag)
    shape = (stationary.shape[1], moving.shape[1])
    dtype = check_destination(shape, dst, dst_dtype, accumulate, multi_bank)
    mode = check_rounding(rounding, random_bits, dtype, shape)
    numerics = check_numerics(numerics)
    x, x_format = as_fp8(numerics, "stationary", stationary)
    y, y_format = as_fp8(numerics, "moving", moving)
    result = chain_rows(
        numerics,
        x,
        x_format,
        stationary_scale,
        y,
        y_format,
        moving_scale,
    )
    return psum_write(result, dst if accumulate else None, dtype, mode, random_bits)


def _compact(name: str, data: np.ndarray, scale: np.ndarray, offset: int) -> np.ndarray:
    """Return scales [P/8, F]: taken from the quadrants where there are as many rows as data has partitions."""
    check_array(name, data)
    check_array(f"{name}_scale", scale, np.uint8)
    if scale.ndim == 2 and data.ndim == 3 and len(scale) == len(data):
        check_partitions(name, len(data))
        return gather_scale(scale, check_scale_offset(f"{name}_scale_offset", offset))
    if offset:
        raise ValueError(f"{name}_scale_offset must be 0 unless {name}_scale lies in quadrants, not {offset}")
    return scale


def as_fp8(numerics: DotNumerics, name: str, array: np.ndarray) -> tuple[np.ndarray, FloatFormat]:
    """Return FP8 codes and their format; FP4 is mapped to E4M3FN, which holds all its numbers, before the array."""
    return mapped_to_fp8(numerics, name, codes_of(array, name), format_of(array.dtype))


def mapped_to_fp8(
    numerics: DotNumerics, name: str, codes: np.ndarray, fmt: FloatFormat
) -> tuple[np.ndarray, FloatFormat]:
    """Return what `as_fp8` returns of codes of a format."""
    if fmt is E2M1:
        fmt, codes = E4M3FN, _fp4_as_e4m3fn()[codes]
    if fmt not in numerics.element_formats:
        known = one_of(each.name for each in numerics.element_formats)
        raise ValueError(f"{name} must be {known} at the array with these numerics, not {fmt.name}")
    return codes, fmt


@cache
def _fp4_as_e4m3fn() -> np.ndarray:
    """Return the E4M3FN code of every FP4 code."""
    return encode_array(E4M3FN, decode_array(E2M1, np.arange(1 << E2M1.width))).astype(np.uint8)
