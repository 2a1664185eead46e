"""DMA transposes: the first and the last axis change places, bit for bit.

Results are bit-identical to `bitpath.golden.trainium3.exact.dma_transpose` and `dma_gather_transpose`.

    cycles = ceil(tiles * bytes of a tile / (440 * e)),  e = 9/10 from HBM, 1/2 from SBUF

Ref: ``nki.isa.dma_transpose``, NKI 0.6, and the architecture guides of Trainium2 and Trainium3, AWS Neuron documentation.
Points that they leave open are in `bitpath.golden.trainium3.declarations.memory`.
"""

from math import ceil, prod
from typing import Literal, get_args

import numpy as np

from bitpath.golden.arrays.arguments import (
    check_array,
    check_choice,
    check_shape,
    checked,
    integer,
    numerics_of,
    one_of,
)
from bitpath.golden.trainium3.declarations.memory import TRAINIUM3_TRANSPOSE, TransposeRates
from bitpath.golden.trainium3.declarations.quad_mx import PARTITIONS
from bitpath.golden.trainium3.dma.compute import OutOfBounds
from bitpath.golden.trainium3.dma.descriptors import DgeMode, check_mode
from bitpath.golden.trainium3.memory.access_pattern import ELEMENT_DTYPES

AXES = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}
"""Axes of the result by the number of axes."""
WIDE, NARROW = 4, 2
"""Bytes of elements that a DMA transpose takes; hwdge takes 2 alone."""
HWDGE_LAST, HWDGE_ROWS = 128, 16
"""Largest last axis with hwdge; rows that it transposes together."""


@checked
def dma_transpose(src: np.ndarray, axes: tuple[int, ...] | None = None, *, dge_mode: DgeMode = "unknown") -> np.ndarray:
    """Return the source with its first and last axis exchanged, bits unchanged.

    Parameters
    ----------
    src : 2 to 4 axes of 2-byte or 4-byte elements.
    axes : (1, 0), (2, 1, 0) or (3, 1, 2, 0); None takes that of the source.
    dge_mode : "hwdge" needs 2-byte elements, a last axis of at most 128 and, with 2 axes, 16 rows; with more, a first axis of
        1, 2, 4, 8 or 16 that makes a multiple of 16 with the axis before the last. Others take every shape.

    Raises
    ------
    TypeError, ValueError : anything else.
    """
    check_array("src", src, *ELEMENT_DTYPES)
    check_mode(dge_mode)
    if src.dtype.itemsize not in (WIDE, NARROW):
        raise TypeError(f"src must have elements of {NARROW} or {WIDE} bytes, not {src.dtype}")
    if src.ndim not in AXES or not src.size:
        raise ValueError(f"src must have 2 to 4 axes and elements, not shape {src.shape}")
    expected = AXES[src.ndim]
    if axes is not None and (*axes,) != expected:
        raise ValueError(f"axes must be {expected} with {src.ndim} axes, not {(*axes,)}")
    if dge_mode == "hwdge":
        _check_hwdge(src)
    return np.ascontiguousarray(src.transpose(expected))


@checked
def dma_gather_transpose(
    src: np.ndarray,
    indices: np.ndarray,
    count: int,
    *,
    dst: np.ndarray | None = None,
    oob: OutOfBounds = "error",
) -> np.ndarray:
    """Return ``src[flat]`` with its first and last axis exchanged, ``flat = indices.T.flatten()[:count]``.

    Parameters
    ----------
    src : [R, C], [R, B, C] or [R, A, B, C] with A or B of 1, of 2-byte elements in HBM, C at most 128.
    indices : uint32 [16 to 128 and a multiple of 16, K] in SBUF; 128 rows if K is over 1.
    count : a multiple of 16, at most the number of indices.
    dst : of the result's shape and dtype: present content, needed with "skip" alone.
    oob : index of R or more: "error" raises, "skip" leaves the elements of that row as they are in `dst`.

    Returns
    -------
    [C, count], [C, B, count] or [C, A, B, count] of src's dtype. swdge generates the descriptors.

    Raises
    ------
    TypeError, ValueError : anything else, or such an index with "error".
    """
    _check_gathered(src)
    check_choice("oob", oob, get_args(OutOfBounds))
    flat = _flat_indices(indices, count)
    inside = flat < len(src)
    if oob == "error" and not inside.all():
        raise ValueError(f"indices must be below the source's {len(src)} rows, not {flat[~inside][0]}")
    result = np.ascontiguousarray(src[np.where(inside, flat, 0)].transpose(AXES[src.ndim]))
    if oob == "skip":
        if dst is None:
            raise TypeError("dst must be an array with oob 'skip', not None")
        check_array("dst", dst, src.dtype)
        check_shape("dst", dst, *result.shape, why=", that of the result")
        result[..., ~inside] = dst[..., ~inside]
    return result


def _check_gathered(src: np.ndarray) -> None:
    """Raise unless rows of the source can be gathered into a transpose."""
    check_array("src", src, *ELEMENT_DTYPES)
    if src.dtype.itemsize != NARROW:
        raise TypeError(f"src must have elements of {NARROW} bytes, not {src.dtype}")
    if src.ndim not in AXES or (src.ndim == 4 and 1 not in src.shape[1:3]):
        raise ValueError(f"src must have 2 to 4 axes, with 4 a middle one of 1, not shape {src.shape}")
    if not src.size or src.shape[-1] > HWDGE_LAST:
        raise ValueError(f"src must have 1 to {HWDGE_LAST} columns and a row, not shape {src.shape}")


def _flat_indices(indices: np.ndarray, count: int) -> np.ndarray:
    """Return the first indices down the columns, int64 [count]."""
    check_array("indices", indices, np.uint32)
    check_shape("indices", indices, "rows", "K")
    rows, columns = indices.shape
    if rows % HWDGE_ROWS or not 0 < rows <= PARTITIONS or not columns or (columns > 1 and rows != PARTITIONS):
        raise ValueError(
            f"indices must have a multiple of {HWDGE_ROWS} rows up to {PARTITIONS}, and {PARTITIONS} with several columns, not "
            f"shape {indices.shape}"
        )
    integer("count", count, range(HWDGE_ROWS, indices.size + 1), " with these indices")
    if count % HWDGE_ROWS:
        raise ValueError(f"count must be a multiple of {HWDGE_ROWS}, not {count}")
    return indices.T.flatten()[:count].astype(np.int64)


@checked
def transpose_cycles(
    shape: tuple[int, ...],
    itemsize: int,
    *,
    source: Literal["hbm", "sbuf"] = "hbm",
    numerics: TransposeRates | None = None,
) -> int:
    """Return the time of a transpose in cycles of 1.2 GHz, after the descriptors' generation and the start.

    Parameters
    ----------
    shape : that of the source; its last axis goes to partitions.
    itemsize : bytes of an element, 2 or 4.
    source : memory of the source.
    numerics : default `TRAINIUM3_TRANSPOSE`.

    Raises
    ------
    TypeError, ValueError : other numbers.
    """
    numerics = numerics_of(numerics, TRAINIUM3_TRANSPOSE)
    check_choice("itemsize", itemsize, (NARROW, WIDE))
    check_choice("source", source, ("hbm", "sbuf"))
    if len(shape) not in AXES or min(shape) < 1:
        raise ValueError(f"shape must have 2 to 4 axes of at least 1, not {(*shape,)}")
    tiles = -(-shape[-1] // PARTITIONS) * -(-prod(shape[:-1]) // numerics.tile_elements)
    tile_bytes = PARTITIONS * numerics.tile_elements * itemsize
    share = numerics.from_hbm if source == "hbm" else numerics.from_sbuf
    return ceil(tiles * tile_bytes / (numerics.bytes_per_cycle * share))


def _check_hwdge(src: np.ndarray) -> None:
    """Raise unless hwdge takes the source."""
    first, last = src.shape[0], src.shape[-1]
    if src.dtype.itemsize != NARROW:
        raise TypeError(f"src must have elements of {NARROW} bytes with dge_mode 'hwdge', not {src.dtype}")
    if last > HWDGE_LAST:
        raise ValueError(f"src must have a last axis of at most {HWDGE_LAST} with dge_mode 'hwdge', not {last}")
    if src.ndim == 2 and first != HWDGE_ROWS:
        raise ValueError(f"src must have {HWDGE_ROWS} rows with dge_mode 'hwdge', not {first}")
    if src.ndim > 2 and (first not in (1, 2, 4, 8, 16) or first * src.shape[-2] % HWDGE_ROWS):
        allowed = one_of((1, 2, 4, 8, 16))
        raise ValueError(
            f"src must have a first axis of {allowed} that makes a multiple of {HWDGE_ROWS} with the one before the last with "
            f"dge_mode 'hwdge', not shape {src.shape}"
        )
