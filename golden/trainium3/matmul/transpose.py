"""Transposes: TensorE's transpose mode and VectorE's, which move bits.

Ref: ``nki.isa.nc_matmul`` (is_transpose) and ``nki.isa.nc_transpose`` reference pages, NKI 0.6; "Trainium2 Architecture
Guide for NKI", transposes.
"""

from typing import Literal

import numpy as np

from bitpath.golden.arrays.arguments import check_array, check_choice, check_shape, checked
from bitpath.golden.arrays.codec import DTYPES
from bitpath.golden.formats.catalogue import BF16, E3M4, E4M3, E4M3FN, E5M2, FP16, FP32
from bitpath.golden.trainium3.declarations.quad_mx import MAX_STATIONARY, PARTITIONS
from bitpath.golden.trainium3.declarations.tensor import VECTOR_BLOCK

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
