"""Where elements and scales lie: x4 words, the quadrants of the scale tile, and K on partitions.

Ref: "Trainium3 Architecture Guide for NKI" and "MXFP matmul" deep dive (section Packing), AWS Neuron documentation,
2025-12-01.
"""

from typing import Literal

import numpy as np

from bitpath.golden.codec import DTYPES, codes_of, format_of
from bitpath.golden.spec.formats import E2M1, E4M3FN, E5M2, FloatFormat
from bitpath.golden.spec.trainium3 import PARTITIONS, QUADRANT, SCALE_OFFSETS, SCALE_PARTITIONS, X4

MX_ELEMENTS = (E4M3FN, E5M2, E2M1)
"""Formats of MX elements."""
KOrder = Literal["interleaved", "adjacent"]
"""How k goes to partition p and position i of the x4 word, with P partitions: k = i * P + p, or k = 4 * p + i."""


def element_format(name: str, dtype: np.dtype) -> FloatFormat:
    """Return the MX element format that a dtype carries.

    Raises
    ------
    TypeError : the dtype carries none; `name` is the argument that the sentence names.
    """
    dtype = np.dtype(dtype)
    if dtype not in {DTYPES[fmt] for fmt in MX_ELEMENTS}:
        raise TypeError(f"{name} is {dtype}; allowed are {', '.join(str(DTYPES[fmt]) for fmt in MX_ELEMENTS)}")
    return format_of(dtype)


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
    fmt = element_format("data dtype", data.dtype)
    _check_2d("data", data)
    if data.shape[1] % X4:
        raise ValueError(f"data has {data.shape[1]} columns; a multiple of {X4} is allowed")
    codes = codes_of(data).astype(np.uint32).reshape(data.shape[0], -1, X4)
    words = np.bitwise_or.reduce(codes << fmt.width * np.arange(X4, dtype=np.uint32), axis=-1)
    return words.astype(_word_dtype(fmt))


def unpack_x4(words: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Take x4 words [P, F] apart into elements [P, 4F] of `dtype`; the inverse of `pack_x4`.

    Raises
    ------
    TypeError, ValueError : words other than uint32 for FP8 or uint16 for FP4, another dtype or shape.
    """
    fmt = element_format("dtype", dtype)
    _check_2d("words", words)
    if words.dtype != _word_dtype(fmt):
        raise TypeError(f"words are {words.dtype}; {_word_dtype(fmt)} is allowed for {np.dtype(dtype)}")
    codes = words[..., np.newaxis] >> (fmt.width * np.arange(X4)).astype(words.dtype) & (1 << fmt.width) - 1
    return codes.astype(np.uint8).reshape(words.shape[0], -1).view(DTYPES[fmt])


def scatter_scale(scale: np.ndarray, offset: int = 0) -> np.ndarray:
    """Lay scales [P/8, F] out as SBUF holds them: uint8 [P, F], four rows in each quadrant from `offset`, else 0.

    Row g of `scale` goes to partition ``32 * (g // 4) + g % 4 + offset``.

    Raises
    ------
    TypeError, ValueError : not uint8, P not 32, 64, 96 or 128, or an offset other than 0, 4, 8 and 12.
    """
    _check_2d("scale", scale)
    _check_uint8("scale", scale)
    partitions = scale.shape[0] * SCALE_PARTITIONS
    check_partitions("scale", partitions)
    tile = np.zeros((partitions, scale.shape[1]), np.uint8)
    tile[_scale_partitions(partitions, offset)] = scale
    return tile


def gather_scale(tile: np.ndarray, offset: int = 0) -> np.ndarray:
    """Take scales [P/8, F] out of the quadrant layout [P, F]; rows that hold none are ignored.

    Raises
    ------
    TypeError, ValueError : as `scatter_scale`.
    """
    _check_2d("tile", tile)
    _check_uint8("tile", tile)
    check_partitions("tile", tile.shape[0])
    return tile[_scale_partitions(tile.shape[0], offset)]


def to_partitions(x: np.ndarray, k_order: KOrder = "interleaved") -> np.ndarray:
    """Lay a matrix [K, F] of any dtype out as a tile [P, F, 4], P = K/4.

    Raises
    ------
    ValueError : another shape, P not 32, 64, 96 or 128, or an unknown order.
    """
    _check_2d("x", x)
    check_k_order(k_order)
    if x.shape[0] % X4:
        raise ValueError(f"x has {x.shape[0]} rows; a multiple of {X4 * QUADRANT} up to {X4 * PARTITIONS} is allowed")
    partitions = x.shape[0] // X4
    check_partitions("x", partitions)
    if k_order == "interleaved":
        return np.ascontiguousarray(x.reshape(X4, partitions, -1).transpose(1, 2, 0))
    return np.ascontiguousarray(x.reshape(partitions, X4, -1).transpose(0, 2, 1))


def from_partitions(tile: np.ndarray, k_order: KOrder = "interleaved") -> np.ndarray:
    """Return the matrix [4P, F] of a tile [P, F, 4]; the inverse of `to_partitions`.

    Raises
    ------
    ValueError : another shape, P not 32, 64, 96 or 128, or an unknown order.
    """
    if tile.ndim != 3 or tile.shape[2] != X4:
        raise ValueError(f"tile has shape {tile.shape}; [P, F, {X4}] is allowed")
    check_k_order(k_order)
    check_partitions("tile", tile.shape[0])
    axes = (2, 0, 1) if k_order == "interleaved" else (0, 2, 1)
    return tile.transpose(axes).reshape(X4 * tile.shape[0], tile.shape[1])


def check_partitions(name: str, partitions: int) -> None:
    """Raise ValueError unless a tile spans 32, 64, 96 or 128 partitions."""
    if partitions % QUADRANT or not 0 < partitions <= PARTITIONS:
        raise ValueError(f"{name} spans {partitions} partitions; 32, 64, 96 and 128 are allowed")


def check_k_order(k_order: str) -> None:
    """Raise ValueError for an unknown order of K."""
    if k_order not in ("interleaved", "adjacent"):
        raise ValueError(f"k_order is {k_order!r}; 'interleaved' and 'adjacent' are allowed")


def _scale_partitions(partitions: int, offset: int) -> np.ndarray:
    if offset not in SCALE_OFFSETS:
        raise ValueError(f"offset is {offset}; {', '.join(map(str, SCALE_OFFSETS))} are allowed")
    groups = np.arange(partitions // SCALE_PARTITIONS)
    per_quadrant = QUADRANT // SCALE_PARTITIONS
    return QUADRANT * (groups // per_quadrant) + groups % per_quadrant + offset


def _word_dtype(fmt: FloatFormat) -> np.dtype:
    return np.dtype(f"u{X4 * fmt.width // 8}")


def _check_2d(name: str, array: np.ndarray) -> None:
    if array.ndim != 2:
        raise ValueError(f"{name} has shape {array.shape}; two dimensions are allowed")


def _check_uint8(name: str, array: np.ndarray) -> None:
    if array.dtype != np.uint8:
        raise TypeError(f"{name} is {array.dtype}; uint8 is allowed")
