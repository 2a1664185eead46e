"""Where elements and scales lie: x4 words, the quadrants of the scale tile, and K on partitions; checks of arguments.

Ref: "Trainium3 Architecture Guide for NKI" and "MXFP matmul" deep dive (section Packing), AWS Neuron documentation,
2025-12-01.
"""

from collections.abc import Collection, Iterable
from operator import index
from typing import Any, Literal, get_args

import numpy as np

from bitpath.golden.arrays.codec import DTYPES, codes_of, format_of
from bitpath.golden.formats.catalogue import E2M1, E4M3FN, E5M2, FloatFormat
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS, QUADRANT, SCALE_OFFSETS, SCALE_PARTITIONS, X4

MX_DTYPES = (DTYPES[E4M3FN], DTYPES[E5M2], DTYPES[E2M1])
"""Dtypes of MX elements."""
_SHOWN_BITS = 128
"""Integers up to these are shown in digits; Python refuses to write very long ones."""
KOrder = Literal["interleaved", "adjacent"]
"""How k goes to partition p and position i of the x4 word, with P partitions: k = i * P + p, or k = 4 * p + i."""


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
    _check_2d("data", data)
    if data.shape[1] % X4:
        raise ValueError(f"data has {data.shape[1]} columns; a multiple of {X4} is allowed")
    fmt = format_of(data.dtype)
    codes = codes_of(data, "data").astype(np.uint32).reshape(data.shape[0], -1, X4)
    words = np.bitwise_or.reduce(codes << fmt.width * np.arange(X4, dtype=np.uint32), axis=-1)
    return words.astype(_word_dtype(fmt))


def unpack_x4(words: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Take x4 words [P, F] apart into elements [P, 4F] of `dtype`; the inverse of `pack_x4`.

    Raises
    ------
    TypeError, ValueError : words other than uint32 for FP8 or uint16 for FP4, another dtype or shape.
    """
    fmt = format_of(dtype_of("dtype", dtype, *MX_DTYPES))
    check_array("words", words, _word_dtype(fmt))
    _check_2d("words", words)
    codes = words[..., np.newaxis] >> (fmt.width * np.arange(X4)).astype(words.dtype) & (1 << fmt.width) - 1
    return codes.astype(np.uint8).reshape(words.shape[0], -1).view(DTYPES[fmt])


def scatter_scale(scale: np.ndarray, offset: int = 0) -> np.ndarray:
    """Lay scales [P/8, F] out as SBUF holds them: uint8 [P, F], four rows in each quadrant from `offset`, else 0.

    Row g of `scale` goes to partition ``32 * (g // 4) + g % 4 + offset``.

    Raises
    ------
    TypeError, ValueError : not uint8, P not 32, 64, 96 or 128, or an offset other than the integers 0, 4, 8 and 12.
    """
    check_array("scale", scale, np.uint8)
    _check_2d("scale", scale)
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
    check_array("tile", tile, np.uint8)
    _check_2d("tile", tile)
    check_partitions("tile", tile.shape[0])
    return tile[_scale_partitions(tile.shape[0], offset)]


def to_partitions(x: np.ndarray, k_order: KOrder = "interleaved") -> np.ndarray:
    """Lay a matrix [K, F] of any dtype out as a tile [P, F, 4], P = K/4.

    Raises
    ------
    TypeError, ValueError : no array, another shape, P not 32, 64, 96 or 128, or an unknown order.
    """
    check_array("x", x)
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
    TypeError, ValueError : as `to_partitions`.
    """
    check_array("tile", tile)
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
    """Raise TypeError or ValueError for an unknown order of K."""
    check_choice("k_order", k_order, get_args(KOrder))


def check_array(name: str, value: np.ndarray, *dtypes: np.dtype) -> None:
    """Raise TypeError unless an argument is a numpy array, of one of the dtypes where any are given."""
    if not isinstance(value, np.ndarray):
        raise TypeError(f"{name} is {shown(value)}; a numpy array is allowed")
    if dtypes and value.dtype not in dtypes:
        raise TypeError(f"{name} is {value.dtype}; {_allowed(map(np.dtype, dtypes))}")


def dtype_of(name: str, value: np.dtype, *dtypes: np.dtype) -> np.dtype:
    """Return a dtype argument as numpy's object; raise TypeError unless it is one of those given."""
    try:
        dtype = None if value is None else np.dtype(value)  # numpy reads None as float64
    except (TypeError, ValueError):
        dtype = None
    if dtype is None or dtype not in dtypes:
        raise TypeError(f"{name} is {shown(value) if dtype is None else dtype}; {_allowed(dtypes)}")
    return dtype


def check_choice(name: str, value: str, choices: Collection[str]) -> None:
    """Raise TypeError for an argument that is no string, ValueError for one that is not among the choices."""
    if not isinstance(value, str) or value not in choices:
        error = ValueError if isinstance(value, str) else TypeError
        raise error(f"{name} is {shown(value)}; {_allowed(map(repr, choices))}")


def integer(name: str, value: int) -> int:
    """Return an integer argument as Python's; raise TypeError for anything else, bool included."""
    try:
        return index(None if isinstance(value, bool) else value)
    except TypeError:
        raise TypeError(f"{name} is {shown(value)}; an integer is allowed") from None


def shown(value: Any) -> str:
    """Say in a sentence what a value is: itself where that is short, else its type."""
    if isinstance(value, int) and value.bit_length() > _SHOWN_BITS:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, np.integer | np.floating):
        return str(value)
    return repr(value) if value is None or isinstance(value, str | int | float) else f"a {type(value).__name__}"


def _allowed(options: Iterable[Any]) -> str:
    *others, last = map(str, options)
    return f"{', '.join(others)} and {last} are allowed" if others else f"{last} is allowed"


def _scale_partitions(partitions: int, offset: int) -> np.ndarray:
    offset = integer("offset", offset)
    if offset not in SCALE_OFFSETS:
        raise ValueError(f"offset is {offset}; {_allowed(SCALE_OFFSETS)}")
    groups = np.arange(partitions // SCALE_PARTITIONS)
    per_quadrant = QUADRANT // SCALE_PARTITIONS
    return QUADRANT * (groups // per_quadrant) + groups % per_quadrant + offset


def _word_dtype(fmt: FloatFormat) -> np.dtype:
    return np.dtype(f"u{X4 * fmt.width // 8}")


def _check_2d(name: str, array: np.ndarray) -> None:
    if array.ndim != 2:
        raise ValueError(f"{name} has shape {array.shape}; two dimensions are allowed")
