"""Constraints of nc_matmul_mx: each documented one is an error.

Ref: ``nki.isa.nc_matmul_mx`` reference page, NKI 0.3 (AWS Neuron documentation, 2025-12-01).
"""

from itertools import product

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_choice, dtype_of, numerics_of, one_of
from bitpath.golden.arrays.codec import DTYPES, decode_array, encode_array
from bitpath.golden.formats.catalogue import BF16, FP32, Rounding
from bitpath.golden.formats.dot import DotNumerics
from bitpath.golden.trainium3.declarations.quad_mx import (
    ACCUMULATES,
    MAX_MOVING_BF16,
    MAX_MOVING_FP32,
    MAX_STATIONARY,
    PARTITIONS,
    PSUM_BANKS,
    SCALE_PARTITIONS,
    TILE_SIZES,
    TRAINIUM3_QUAD_MX,
    X4,
)
from bitpath.golden.trainium3.operands.layout import MX_DTYPES, check_partitions

# PSUM's write port, which receives the array's results.
#
# Results are bit-identical to `bitpath.golden.exact.psum_write`.
#
# Ref: "Trainium3 Architecture Guide for NKI", AWS Neuron documentation, 2025-12-01, BF16 Matmul Results in PSUM.


def psum_write(
    incoming: np.ndarray,
    present: np.ndarray | None,
    dtype: np.dtype,
    rounding: Rounding = Rounding.RNE,
    random_bits: np.ndarray | None = None,
) -> np.ndarray:
    """Return the contents of PSUM after a write: `incoming`, or its FP32 sum with `present`, in `dtype`.

    Parameters
    ----------
    incoming : FP32 codes from the array, uint32 [M, N].
    present : [M, N] of `dtype` to accumulate onto, or None to overwrite.
    dtype : float32 or bfloat16, which is a second rounding after that of the sum to FP32.
    rounding : RNE or SR, for the second rounding.
    random_bits : uint16 [M, N] for SR: added below the BF16 fraction before truncation. Infinity and NaN bypass it.

    Returns
    -------
    [M, N] of `dtype`. NaNs are 0x7FC00000 or 0x7FC0.
    """
    total = incoming.view(np.float32)
    if present is not None:
        # numpy adds float32 as IEEE 754 has it: one rounding to nearest even, with subnormals, zeros' signs and specials.
        with np.errstate(invalid="ignore", over="ignore"):
            total = total + present.astype(np.float32)
    codes = np.where(np.isnan(total), np.uint32(FP32.nan_code), total.view(np.uint32))
    if np.dtype(dtype) == DTYPES[FP32]:
        return codes.view(np.float32)
    if rounding is Rounding.RNE:
        return encode_array(BF16, decode_array(FP32, codes)).astype(np.uint16).view(DTYPES[BF16])
    # Infinity and the one NaN have zeros where the random bits are added, so they pass unchanged.
    return (codes + random_bits >> 16).astype(np.uint16).view(DTYPES[BF16])


def check_operands(
    stationary: np.ndarray, moving: np.ndarray, stationary_scale: np.ndarray, moving_scale: np.ndarray
) -> None:
    """Check dtypes and shapes of the four inputs against each other; N's limit is the destination's.

    Raises
    ------
    TypeError : no array; an element dtype other than float8_e4m3fn, float8_e5m2, float4_e2m1fn; scales other than uint8.
    ValueError : shapes other than [P, M, 4], [P, N, 4], [P/8, M], [P/8, N]; P not 32, 64, 96 or 128; M odd or over 128.
    """
    for name, data, scale in (("stationary", stationary, stationary_scale), ("moving", moving, moving_scale)):
        check_array(name, data, *MX_DTYPES)
        check_array(f"{name}_scale", scale, np.uint8)
        if data.ndim != 3 or data.shape[2] != X4:
            free = "M" if name == "stationary" else "N"
            raise ValueError(f"{name} must have shape [P, {free}, {X4}], not {data.shape}")
        check_partitions(name, data.shape[0])
        expected = (data.shape[0] // SCALE_PARTITIONS, data.shape[1])
        if scale.shape != expected:
            raise ValueError(f"{name}_scale must have shape {expected} for {name} {data.shape}, not {scale.shape}")
    if stationary.shape[0] != moving.shape[0]:
        raise ValueError(f"moving must span stationary's {stationary.shape[0]} partitions, not {moving.shape[0]}")
    columns = stationary.shape[1]
    if columns % 2 or not 0 < columns <= MAX_STATIONARY:
        raise ValueError(f"stationary must have an even free size M from 2 to {MAX_STATIONARY}, not {columns}")


def check_tiling(
    partitions: int,
    tile_position: tuple[int, int] | None,
    tile_size: tuple[int, int] | None,
    columns: int | None = None,
) -> None:
    """Check the tile of the array that an instruction names.

    Parameters
    ----------
    columns : stationary free size; None where only rows can be tiled, so that the column size is 128.

    Raises
    ------
    ValueError : one of the two without the other, a size other than (128 | 64 | 32, 128) or, with `columns`, the same
        choice of columns; more partitions or columns than the tile has; or a position that is not a multiple of the size
        inside the array.
    """
    if (tile_position is None) != (tile_size is None):
        missing, given = ("tile_position", "tile_size") if tile_position is None else ("tile_size", "tile_position")
        raise ValueError(f"{missing} must be given with {given}, not None")
    if tile_position is None:
        return
    tile_size, tile_position = (*tile_size,), (*tile_position,)
    sizes = tuple(product(TILE_SIZES, (PARTITIONS,) if columns is None else TILE_SIZES))
    if tile_size not in sizes:
        raise ValueError(f"tile_size must be {one_of(sizes)}, not {tile_size}")
    for name, used, size in (("partitions", partitions, tile_size[0]), ("columns", columns or 0, tile_size[1])):
        if used > size:
            where = f"{size} {'rows' if name == 'partitions' else name}"
            raise ValueError(f"stationary must span up to {size} {name} in a tile of {where}, not {used}")
    positions = tuple(product(*(range(0, PARTITIONS, size) for size in tile_size)))
    if tile_position not in positions:
        raise ValueError(f"tile_position must be {one_of(positions)} with tile_size {tile_size}, not {tile_position}")


def accumulates(psum_accumulate_flag: int) -> bool:
    """Return whether an instruction adds onto PSUM's content (True) or overwrites it.

    Bit 0 (first, overwrite) overwrites. Without it the instruction accumulates: middle (0), last (bit 1), or first onto
    existing content (bit 2). Bit 1 closes the group and has no effect on values, so 3, the default, overwrites.

    Raises
    ------
    TypeError : no integer.
    ValueError : a value that `ACCUMULATES` lacks: unknown bits, or bit 0 with bit 2, which contradict each other.
    """
    return ACCUMULATES[check_choice("psum_accumulate_flag", psum_accumulate_flag, ACCUMULATES)]


def check_destination(
    shape: tuple[int, int],
    dst: np.ndarray | None,
    dst_dtype: np.dtype | type,
    accumulate: bool,
    multi_bank: bool = False,
) -> np.dtype:
    """Check the destination of an M x N result and return its dtype: that of `dst` where given, else `dst_dtype`.

    With `multi_bank` the destination may take all banks of PSUM, else one.

    Raises
    ------
    TypeError : `dst` is no array, or a dtype other than float32 and bfloat16.
    ValueError : accumulating without `dst`, another shape, or N over one PSUM bank or, with
        `multi_bank`, over all of them.
    """
    banks = PSUM_BANKS if multi_bank else 1
    limits = {DTYPES[FP32]: banks * MAX_MOVING_FP32, DTYPES[BF16]: banks * MAX_MOVING_BF16}
    if dst is None:
        dtype = dtype_of("dst_dtype", dst_dtype, *limits)
    else:
        check_array("dst", dst, *limits)
        dtype = dst.dtype
    if accumulate and dst is None:
        raise ValueError("dst is None; an accumulating psum_accumulate_flag needs PSUM's present content")
    if dst is not None and dst.shape != shape:
        raise ValueError(f"dst must have shape {shape}, not {dst.shape}")
    if not 0 < shape[1] <= limits[dtype]:
        raise ValueError(f"moving must have a free size N from 1 to {limits[dtype]} with a {dtype} dst, not {shape[1]}")
    return dtype


def check_rounding(rounding: str, random_bits: np.ndarray | None, dtype: np.dtype, shape: tuple[int, ...]) -> Rounding:
    """Check the rounding of the PSUM write and return it.

    Raises
    ------
    TypeError : `rounding` is no string, or `random_bits` no array of uint16.
    ValueError : a rounding other than "rne" and "sr", "sr" with a float32 destination, `random_bits` missing with "sr",
        given with "rne", or of another shape.
    """
    check_choice("rounding", rounding, ("rne", "sr"))
    if rounding == "rne":
        if random_bits is not None:
            raise ValueError("random_bits must be None with rounding 'rne', not given")
        return Rounding.RNE
    if dtype != DTYPES[BF16]:
        raise ValueError(f"dst must be bfloat16 with rounding 'sr', not {dtype}")
    if random_bits is None:
        raise ValueError(f"random_bits is None; rounding 'sr' needs uint16 of shape {shape}")
    check_array("random_bits", random_bits, np.uint16)
    if random_bits.shape != shape:
        raise ValueError(f"random_bits must have shape {shape}, not {random_bits.shape}")
    return Rounding.SR


def check_numerics(numerics: DotNumerics | None) -> DotNumerics:
    """Return the numerics of the array, `TRAINIUM3_QUAD_MX`'s for None.

    Raises
    ------
    TypeError : not a `DotNumerics`.
    ValueError : other than four products per step.
    """
    numerics = numerics_of(numerics, TRAINIUM3_QUAD_MX)
    if numerics.terms != X4:
        raise ValueError(f"numerics must have {X4} terms, not {numerics.terms}")
    return numerics
