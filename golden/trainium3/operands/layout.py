"""Layout of elements and scales: x4 words, the quadrants of the scale tile, and K on partitions.

Ref: "Trainium3 Architecture Guide for NKI" and "MXFP matmul" deep dive (section Packing), AWS Neuron documentation,
2025-12-01.
"""

from typing import Literal, get_args

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_choice, check_shape, checked, dtype_of, integer, one_of
from bitpath.golden.arrays.codec import DTYPES, codes_of, format_of
from bitpath.golden.formats.catalogue import E2M1, E4M3FN, E5M2, FloatFormat
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS, QUADRANT, SCALE_OFFSETS, SCALE_PARTITIONS, X4

MX_DTYPES = (DTYPES[E4M3FN], DTYPES[E5M2], DTYPES[E2M1])
"""Dtypes of MX elements."""
KOrder = Literal["interleaved", "adjacent"]
"""How k goes to partition p and position i of the x4 word, with P partitions: k = i * P + p, or k = 4 * p + i."""


@checked
def pack_x4(data: np.ndarray) -> np.ndarray:
    """Pack four neighbouring elements of the free dimension into one word, element 0 lowest.

    Parameters
    ----------
    data : [P, F] float8_e4m3fn, float8_e5m2 or float4_e2m1fn; F is a multiple of 4.

    Returns
    -------
    words [P, F/4]: uint32 for FP8, uint16 for FP4.

    Raises
    ------
    TypeError, ValueError : another dtype or shape.
    """
    check_array("data", data, *MX_DTYPES)
    check_shape("data", data, "P", "F")
    if data.shape[1] % X4:
        raise ValueError(f"data must have a multiple of {X4} columns, not {data.shape[1]}")
    fmt = format_of(data.dtype)
    codes = codes_of(data, "data").astype(np.uint32).reshape(data.shape[0], -1, X4)
    words = np.bitwise_or.reduce(codes << fmt.width * np.arange(X4, dtype=np.uint32), axis=-1)
    return words.astype(_word_dtype(fmt))


@checked
def unpack_x4(words: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Take x4 words [P, F] apart into elements [P, 4F] of `dtype`; the inverse of `pack_x4`.

    Raises
    ------
    TypeError, ValueError : words other than uint32 for FP8 or uint16 for FP4, another dtype or shape.
    """
    fmt = format_of(dtype_of("dtype", dtype, *MX_DTYPES))
    check_array("words", words, _word_dtype(fmt))
    check_shape("words", words, "P", "F")
    codes = words[..., np.newaxis] >> (fmt.width * np.arange(X4)).astype(words.dtype) & (1 << fmt.width) - 1
    return codes.astype(np.uint8).reshape(words.shape[0], -1).view(DTYPES[fmt])


@checked
def scatter_scale(scale: np.ndarray, offset: int = 0) -> np.ndarray:
    """Lay scales [P/8, F] out as SBUF holds them: uint8 [P, F], four rows in each quadrant from `offset`, else 0.

    Row g of `scale` goes to partition ``32 * (g // 4) + g % 4 + offset``.

    Raises
    ------
    TypeError, ValueError : not uint8, P not 32, 64, 96 or 128, or an offset other than the integers 0, 4, 8 and 12.
    """
    check_array("scale", scale, np.uint8)
    check_shape("scale", scale, "P/8", "F")
    partitions = scale.shape[0] * SCALE_PARTITIONS
    check_partitions("scale", partitions)
    tile = np.zeros((partitions, scale.shape[1]), np.uint8)
    tile[_scale_partitions(partitions, offset)] = scale
    return tile


@checked
def gather_scale(tile: np.ndarray, offset: int = 0) -> np.ndarray:
    """Take scales [P/8, F] out of the quadrant layout [P, F]; rows that hold none are ignored.

    Raises
    ------
    TypeError, ValueError : as `scatter_scale`.
    """
    check_array("tile", tile, np.uint8)
    check_shape("tile", tile, "P", "F")
    check_partitions("tile", tile.shape[0])
    return tile[_scale_partitions(tile.shape[0], offset)]


@checked
def to_partitions(x: np.ndarray, k_order: KOrder = "interleaved") -> np.ndarray:
    """Lay a matrix [K, F] of any dtype out as a tile [P, F, 4], P = K/4.

    Raises
    ------
    TypeError, ValueError : no array, another shape, P not 32, 64, 96 or 128, or an unknown order.
    """
    check_array("x", x)
    check_shape("x", x, "K", "F")
    check_k_order(k_order)
    if x.shape[0] % X4:
        raise ValueError(f"x must have a multiple of {X4 * QUADRANT} rows up to {X4 * PARTITIONS}, not {x.shape[0]}")
    partitions = x.shape[0] // X4
    check_partitions("x", partitions)
    if k_order == "interleaved":
        return np.ascontiguousarray(x.reshape(X4, partitions, -1).transpose(1, 2, 0))
    return np.ascontiguousarray(x.reshape(partitions, X4, -1).transpose(0, 2, 1))


@checked
def from_partitions(tile: np.ndarray, k_order: KOrder = "interleaved") -> np.ndarray:
    """Return the matrix [4P, F] of a tile [P, F, 4]; the inverse of `to_partitions`.

    Raises
    ------
    TypeError, ValueError : as `to_partitions`.
    """
    check_array("tile", tile)
    check_shape("tile", tile, "P", "F", X4)
    check_k_order(k_order)
    check_partitions("tile", tile.shape[0])
    axes = (2, 0, 1) if k_order == "interleaved" else (0, 2, 1)
    return tile.transpose(axes).reshape(X4 * tile.shape[0], tile.shape[1])


def check_partitions(name: str, partitions: int) -> None:
    """Raise ValueError unless a tile spans 32, 64, 96 or 128 partitions."""
    if partitions % QUADRANT or not 0 < partitions <= PARTITIONS:
        raise ValueError(f"{name} must span 32, 64, 96 or 128 partitions, not {partitions}")


def check_scale_offset(name: str, offset: int) -> int:
    """Return the first partition of the scales in a quadrant; raise TypeError or ValueError for a wrong one."""
    if integer(name, offset) not in SCALE_OFFSETS:
        raise ValueError(f"{name} must be {one_of(SCALE_OFFSETS)}, not {offset}")
    return offset


def check_k_order(k_order: str) -> None:
    """Raise TypeError or ValueError for an unknown order of K."""
    check_choice("k_order", k_order, get_args(KOrder))


def _scale_partitions(partitions: int, offset: int) -> np.ndarray:
    check_scale_offset("offset", offset)
    groups = np.arange(partitions // SCALE_PARTITIONS)
    per_quadrant = QUADRANT // SCALE_PARTITIONS
    return QUADRANT * (groups // per_quadrant) + groups % per_quadrant + offset


def _word_dtype(fmt: FloatFormat) -> np.dtype:
    return np.dtype(f"u{X4 * fmt.width // 8}")
