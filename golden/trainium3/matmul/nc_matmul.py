"""nc_matmul: one matmul instruction without scales, from operands in SBUF to a result in PSUM.

Results are bit-identical to chaining `bitpath.golden.trainium3.exact.multiply_add` from +0.

Ref: ``nki.isa.nc_matmul`` reference page, NKI 0.3 to 0.6, and "Trainium3 Architecture Guide for NKI" (AWS Neuron
documentation, 2025-12-01). `MatmulNumerics` has a field for each point that they leave open; modes have entries in
`bitpath.golden.trainium3.declarations.tensor.CHOICES`.
"""

from typing import Literal, get_args

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_choice, check_shape, checked, numerics_of
from bitpath.golden.arrays.codec import DTYPES, codes_of, decode_array, encode_array, format_of
from bitpath.golden.formats.catalogue import BF16, E3M4, E4M3, E4M3FN, E5M2, FP16, FP32, TF32, FloatFormat
from bitpath.golden.formats.dot import DotNumerics
from bitpath.golden.trainium3.declarations.quad_mx import (
    MAX_MOVING_BF16,
    MAX_MOVING_FP32,
    MAX_STATIONARY,
    PARTITIONS,
    X4,
)
from bitpath.golden.trainium3.declarations.tensor import DOUBLE_ROW, LOW_BITS, TRAINIUM3_DOUBLE_ROW, VECTOR_BLOCK
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_MATMUL, MatmulNumerics
from bitpath.golden.trainium3.exact import check_formats
from bitpath.golden.trainium3.matmul.array import chain_rows
from bitpath.golden.trainium3.matmul.instruction import (
    accumulates,
    check_destination,
    check_rounding,
    check_tiling,
    psum_write,
)
from bitpath.golden.trainium3.operands import fp32

# FP8 double row: two elements of K in each PE, added in one step.
#
# Results are bit-identical to chaining `bitpath.golden.exact.dot_step` with two terms and scales of 1 from +0.
#
# Ref: "Trainium2 Architecture Guide for NKI", double FP8 performance mode; ``nki.isa.nc_matmul`` reference page, NKI 0.6.


def check_double_row(
    stationary: np.ndarray, moving: np.ndarray, numerics: DotNumerics | None
) -> tuple[tuple[int, int], DotNumerics]:
    """Check the operands of double row; return M and N, and the numerics, `TRAINIUM3_DOUBLE_ROW`'s for None.

    Raises
    ------
    TypeError : no array, another dtype than the numerics' FP8 formats, numerics of another unit.
    ValueError : shapes other than [P, 2, M] and [P, 2, N], P or M not 1 to 128, E4M3 with E4M3FN, other than two terms.
    """
    numerics = double_row_numerics(numerics)
    for name, data, free in (("stationary", stationary, "M"), ("moving", moving, "N")):
        check_array(name, data, *(DTYPES[fmt] for fmt in numerics.element_formats))
        if data.ndim != 3 or data.shape[1] != DOUBLE_ROW or not 0 < data.shape[0] <= PARTITIONS:
            raise ValueError(
                f"{name} must have shape [P, {DOUBLE_ROW}, {free}] with P from 1 to {PARTITIONS} in double row, "
                f"not {data.shape}"
            )
    if stationary.shape[0] != moving.shape[0]:
        raise ValueError(f"moving must span stationary's {stationary.shape[0]} partitions, not {moving.shape[0]}")
    columns = stationary.shape[2]
    if not 0 < columns <= MAX_STATIONARY:
        raise ValueError(f"stationary must have a free size M from 1 to {MAX_STATIONARY}, not {columns}")
    if {format_of(stationary.dtype), format_of(moving.dtype)} == {E4M3, E4M3FN}:
        raise ValueError(
            f"a matmul must not mix E4M3 and E4M3FN, but stationary is {stationary.dtype} and moving is {moving.dtype}"
        )
    return (columns, moving.shape[2]), numerics


def double_row_numerics(numerics: DotNumerics | None, fmt: FloatFormat | None = None) -> DotNumerics:
    """Return the numerics of double row, `TRAINIUM3_DOUBLE_ROW`'s for None; raise as `check_double_row`.

    With a format, raise ValueError for numerics that do not have it.
    """
    numerics = numerics_of(numerics, TRAINIUM3_DOUBLE_ROW)
    if numerics.terms != DOUBLE_ROW:
        raise ValueError(f"numerics must have {DOUBLE_ROW} terms in double row, not {numerics.terms}")
    if fmt is not None and fmt not in numerics.element_formats:
        known = ", ".join(each.name for each in numerics.element_formats)
        raise ValueError(f"numerics must have {fmt.name} in double row, not {known}")
    return numerics


def chain_pairs(numerics: DotNumerics, stationary: np.ndarray, moving: np.ndarray) -> np.ndarray:
    """Return the sums of all steps from +0, FP32 codes uint32 [M, N], of operands that `check_double_row` passed."""
    (x, x_format, x_scale), (y, y_format, y_scale) = (_as_words(numerics, data) for data in (stationary, moving))
    return chain_rows(numerics, x, x_format, x_scale, y, y_format, y_scale)


def _as_words(numerics: DotNumerics, data: np.ndarray) -> tuple[np.ndarray, FloatFormat, np.ndarray]:
    """Return codes [P, F, 4] of elements [P, 2, F], their format, and scales of 1 [P, F].

    The array's steps have four products; those of the other two lanes are +0.
    """
    codes = np.zeros((data.shape[0], data.shape[2], X4), np.uint8)
    codes[..., :DOUBLE_ROW] = codes_of(data).swapaxes(1, 2)
    return codes, format_of(data.dtype), np.full(codes.shape[:2], numerics.scale_format.bias, np.uint8)


# FP32 in four passes of 12-bit halves: ``x = hi + lo``.
#
#     FP32 fraction   22         12 11          0
#                    +-------------+-------------+
#     hi keeps       | upper 11    | 0           |
#     lo = x - hi    |             | lower 12    |  normalised, exact
#                    +-------------+-------------+
#
# Results are bit-identical to `bitpath.golden.trainium3.exact.split12`. Choices are in
# `bitpath.golden.trainium3.declarations.tensor.CHOICES`.


def halves(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return hi and lo of FP32 numbers, float32; lo is +0 of a zero difference, of infinity and of NaN."""
    values = values.astype(np.float32)
    codes = values.view(np.uint32)
    finite = np.isfinite(values)
    high = np.where(finite, codes >> LOW_BITS << LOW_BITS, codes).astype(np.uint32).view(np.float32)
    with np.errstate(invalid="ignore"):
        low = np.where(finite, values - high, np.float32(0))
    return high, low


def chain_passes(
    numerics: MatmulNumerics, x: np.ndarray, y: np.ndarray, *, low_x: bool = True, low_y: bool = True
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the sum of the passes, FP32 codes uint32 [M, N], and each pass, of float64 [K, M] and [K, N].

    Parameters
    ----------
    low_x, low_y : False if that operand has no low half, so that its passes are left out.
    """
    # The compiler is loaded with the first call.
    from bitpath.golden.trainium3.matmul import nc_matmul_loop

    (x_high, x_low), (y_high, y_low) = halves(x), halves(y)
    x_part, y_part = (np.where(np.isfinite(each), each, np.float32(0)) for each in (x_high, y_high))
    pairs = [(x_low, y_low)] * (low_x and low_y) + [(x_low, y_part)] * low_x + [(x_part, y_low)] * low_y
    pairs.append((x_high, y_high))
    passes = [nc_matmul_loop.chain_rows(numerics, a.astype(np.float64), b.astype(np.float64)) for a, b in pairs]
    total = passes[0].view(np.float32)
    for each in passes[1:]:
        total = fp32.add(total, each.view(np.float32))
    return total.view(np.uint32), passes


# Transposes: TensorE's transpose mode and VectorE's, which move bits.
#
# Ref: ``nki.isa.nc_matmul`` (is_transpose) and ``nki.isa.nc_transpose`` reference pages, NKI 0.6; "Trainium2 Architecture
# Guide for NKI", transposes.


TRANSPOSE_DTYPES = (
    *(DTYPES[fmt] for fmt in (BF16, FP16, FP32, E4M3, E4M3FN, E5M2, E3M4)),
    *(np.dtype(f"{kind}{size}") for kind in "iu" for size in (1, 2, 4)),
)
"""Dtypes that a transpose moves: floats of 8, 16 and 32 bits, and integers of the same sizes."""


@checked
def nc_transpose(data: np.ndarray, *, engine: Literal["tensor", "vector"] = "tensor") -> np.ndarray:
    """Transpose a tile, ``dst[f, p] = data[p, f]``, all bits as they are.

    Parameters
    ----------
    data : [P, F] of a dtype of `TRANSPOSE_DTYPES`. P and F are 1 to 128 on TensorE, 1 to 32 on VectorE.
    engine : "tensor", whose result is PSUM's image; or "vector".

    Returns
    -------
    A new [F, P] array of `data`'s dtype; on TensorE uint16 for 8-bit data, the code in the low byte.

    Raises
    ------
    TypeError, ValueError : another dtype, shape or engine.
    """
    check_choice("engine", engine, ("tensor", "vector"))
    check_array("data", data, *TRANSPOSE_DTYPES)
    check_shape("data", data, "P", "F")
    largest = (PARTITIONS, MAX_STATIONARY) if engine == "tensor" else (VECTOR_BLOCK, VECTOR_BLOCK)
    if not all(0 < size <= limit for size, limit in zip(data.shape, largest, strict=True)):
        raise ValueError(f"data must have up to {largest[0]} partitions and columns on {engine}, not {data.shape}")
    return psum_image(data) if engine == "tensor" else np.ascontiguousarray(data.T)


def psum_image(data: np.ndarray) -> np.ndarray:
    """Return the transposed tile as it lies in PSUM: 8-bit data as 16-bit elements with zeros above."""
    moved = np.ascontiguousarray(data.T)
    return moved.view(np.uint8).astype(np.uint16) if data.dtype.itemsize == 1 else moved


def pick_partitions(data: np.ndarray, moving: np.ndarray) -> np.ndarray:
    """Return what transpose mode leaves in PSUM, [F, N]: column n is the row of `data` [P, F] that `moving` [P, N] picks.

    Parameters
    ----------
    moving : values, float64; each column holds one 1 and zeros, or zeros only, which give zeros.

    Raises
    ------
    ValueError : another number, or two ones in a column.
    """
    ones = moving == 1
    if not np.all(ones | (moving == 0)):
        raise ValueError("moving must hold only 0 and 1 with is_transpose, not other numbers")
    counts = ones.sum(axis=0)
    if np.any(counts > 1):
        raise ValueError(f"moving must have at most one 1 in a column with is_transpose, not {counts.max()}")
    image = psum_image(data)[:, ones.argmax(axis=0)]
    image.view(f"u{image.dtype.itemsize}")[:, counts == 0] = 0
    return image


MATMUL_DTYPES = tuple(DTYPES[fmt] for fmt in (BF16, FP16, FP32, E4M3, E4M3FN, E5M2, E3M4))
"""Dtypes of elements; TF32 travels as float32."""


PerfMode = Literal["none", "double_row"]
Fp32Mode = Literal["fused", "split12"]


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
    perf_mode: PerfMode = "none",
    is_transpose: bool = False,
    is_stationary_onezero: bool = False,
    is_moving_onezero: bool = False,
    multi_bank: bool = False,
    fp32_mode: Fp32Mode = "fused",
    numerics: MatmulNumerics | None = None,
    double_row_numerics: DotNumerics | None = None,
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
    perf_mode : "double_row" takes float8_e4m3, float8_e4m3fn and float8_e5m2 as [P, 2, M] and [P, 2, N], of K = 2P
        places k = j * P + p, and adds the two products of a partition in one step. Tiles have all columns.
    is_transpose : True to move bits: column n of the result is the row of `stationary` where column n of `moving` holds
        its one 1. `psum_accumulate_flag` must overwrite, and no other mode goes with it.
    is_stationary_onezero, is_moving_onezero : True as a promise that the operand holds only 0 and 1, which saves two of
        FP32's four passes. It changes no bit.
    multi_bank : whether the result may take several banks of PSUM: N up to 4096 with float32, 8192 with bfloat16.
    fp32_mode : "fused" is one step a row; "split12" is four passes of 12-bit halves, see `fp32_passes`, for float32
        operands and a float32 destination. An operand rounded to TF32 has no low half.
    numerics : default `TRAINIUM3_MATMUL`: exact product and partial sum, one RNE rounding to FP32. A hypothesis about
        Trainium2 is `TRAINIUM2_BF16_PRODUCTS`, with products rounded to BF16.
    double_row_numerics : of double row, default `TRAINIUM3_DOUBLE_ROW`: both products and the partial sum exact, one
        rounding.

    Returns
    -------
    A new [M, N] array of `dst`'s dtype. With `is_transpose` [M, N] of `stationary`'s dtype, uint16 codes for 8-bit floats.

    Raises
    ------
    TypeError, ValueError : anything outside these limits.
    """
    check_choice("perf_mode", perf_mode, get_args(PerfMode))
    check_choice("fp32_mode", fp32_mode, get_args(Fp32Mode))
    double_row, split, accumulate = perf_mode != "none", fp32_mode != "fused", accumulates(psum_accumulate_flag)
    tf32 = {"stationary_tf32": stationary_tf32, "moving_tf32": moving_tf32}
    if double_row:
        _refuse("perf_mode 'double_row'", tf32, is_transpose=is_transpose, split12=split, numerics=numerics is not None)
        shape, pair_numerics = check_double_row(stationary, moving, double_row_numerics)
        check_tiling(stationary.shape[0], tile_position, tile_size)
    else:
        _refuse("perf_mode 'none'", double_row_numerics=double_row_numerics is not None)
        check_matrices(stationary, moving)
        check_tiling(stationary.shape[0], tile_position, tile_size, stationary.shape[1])
        shape = stationary.shape[1], moving.shape[1]
    if is_transpose:
        changes = {"dst": dst is not None, "accumulation": accumulate, "rounding": rounding != "rne"}
        _refuse("is_transpose", tf32, changes, split12=split)
        return _transposed(stationary, moving, numerics_of(numerics, TRAINIUM3_MATMUL))
    dtype = check_destination(shape, dst, dst_dtype, accumulate, multi_bank)
    mode = check_rounding(rounding, random_bits, dtype, shape)
    _check_promise("stationary", stationary, is_stationary_onezero)
    _check_promise("moving", moving, is_moving_onezero)
    if double_row:
        result = chain_pairs(pair_numerics, stationary, moving)
        return psum_write(result, dst if accumulate else None, dtype, mode, random_bits)
    numerics = numerics_of(numerics, TRAINIUM3_MATMUL)
    x, x_format = read_operand("stationary", stationary, stationary_tf32, numerics)
    y, y_format = read_operand("moving", moving, moving_tf32, numerics)
    check_pair(numerics, (stationary, x_format), (moving, y_format))
    if split:
        if stationary.dtype != np.float32 or dtype != np.float32:
            given = f"{stationary.dtype} and {dtype}"
            raise ValueError(f"operands and dst must be float32 with fp32_mode 'split12', not {given}")
        lows = {
            "low_x": x_format is FP32 and not is_stationary_onezero,
            "low_y": y_format is FP32 and not is_moving_onezero,
        }
        result, _ = chain_passes(numerics, x, y, **lows)
    else:
        # The compiler is loaded with the first call.
        from bitpath.golden.trainium3.matmul import nc_matmul_loop

        result = nc_matmul_loop.chain_rows(numerics, x, y)
    return psum_write(result, dst if accumulate else None, dtype, mode, random_bits)


def _refuse(mode: str, *options: dict[str, bool], **others: bool) -> None:
    """Raise ValueError for the first option given that does not go with a mode."""
    for name, given in ((name, given) for each in (*options, others) for name, given in each.items()):
        if given:
            raise ValueError(f"{name} must not be given with {mode}")


def _check_promise(name: str, operand: np.ndarray, promised: bool) -> None:
    if promised:
        values = decode_array(format_of(operand.dtype), codes_of(operand, name))
        if not np.all((values == 0) | (values == 1)):
            raise ValueError(f"{name} must hold only 0 and 1 with is_{name}_onezero, not other numbers")


def check_pair(
    numerics: MatmulNumerics, stationary: tuple[np.ndarray, FloatFormat], moving: tuple[np.ndarray, FloatFormat]
) -> None:
    """Check that two operands, each with its format at the array, may meet; errors name their dtypes."""
    said = (f"{name} is {side[0].dtype}" for name, side in (("stationary", stationary), ("moving", moving)))
    check_formats(numerics, stationary[1], moving[1], *said)


def _transposed(stationary: np.ndarray, moving: np.ndarray, numerics: MatmulNumerics) -> np.ndarray:
    """Return PSUM's image of transpose mode, [M, N]; its elements of 16 or 32 bits fill at most one bank."""
    check_pair(numerics, (stationary, format_of(stationary.dtype)), (moving, format_of(moving.dtype)))
    limit = MAX_MOVING_FP32 if stationary.dtype.itemsize == FP32.width // 8 else MAX_MOVING_BF16
    if not 0 < moving.shape[1] <= limit:
        raise ValueError(f"moving must have a free size N from 1 to {limit} with is_transpose, not {moving.shape[1]}")
    return pick_partitions(stationary, decode_array(format_of(moving.dtype), codes_of(moving, "moving")))


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


def read_operand(name: str, matrix: np.ndarray, tf32: bool, numerics: MatmulNumerics) -> tuple[np.ndarray, FloatFormat]:
    """Return the exact values of an operand, float64, and its format at the array."""
    fmt = format_of(matrix.dtype)
    values = decode_array(fmt, codes_of(matrix, name))
    if not tf32:
        return values, fmt
    if fmt is not FP32:
        raise ValueError(f"{name} must be float32 with {name}_tf32, not {matrix.dtype}")
    return decode_array(TF32, encode_array(TF32, values, rounding=numerics.tf32_rounding)), TF32
