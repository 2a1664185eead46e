"""Maps of a result: a matrix reduced to at most 64 x 64 cells, small enough to keep with every run."""

from typing import Any

import numpy as np

from bitpath.golden.formats.catalogue import FP32
from bitpath.verif.kit.values import ulp_distance

CELLS, ERROR_CELLS = 64, 32
"""Most cells along a side of a map of mismatches, and of errors, which has a number in every cell."""


def result_map(rtl: np.ndarray, golden: np.ndarray, numbers: np.ndarray, reference: np.ndarray) -> dict[str, Any]:
    """Return the maps of a result [M, N] as plain JSON values.

    A cell covers a block whose sides are powers of two, so its borders are those of tiles. An empty cell is None.

    Parameters
    ----------
    rtl, golden : results, of one shape and dtype.
    numbers, reference : the result's numbers and the same in float64, of one shape.

    Returns
    -------
    block : rows and columns of a cell.
    mismatches : differing outputs of each cell, if any differs.
    ulp : largest distance of two differing float32 outputs; None for a cell without one. NaN has no distance.
    error : if all bits agree, the largest absolute error of each cell over the root mean square of the reference.
    """
    different = rtl.view(f"u{rtl.itemsize}") != golden.view(f"u{golden.itemsize}")
    if different.any():
        block = _block(different.shape, CELLS)
        found: dict[str, Any] = {"block": block, "mismatches": _cells(np.add, different.astype(int), block).tolist()}
        if rtl.dtype == np.float32:
            pairs = zip(
                golden[different].view(np.uint32).tolist(), rtl[different].view(np.uint32).tolist(), strict=True
            )
            distance = np.full(different.shape, np.nan)
            distance[different] = [np.nan if (steps := ulp_distance(FP32, *each)) is None else steps for each in pairs]
            found["ulp"] = _listed(_cells(np.fmax, distance, block), int)
        return found
    with np.errstate(invalid="ignore", over="ignore"):
        scale = np.sqrt(np.square(reference).mean())
        error = np.abs(numbers - reference)
    if not (np.isfinite(scale) and scale > 0):
        return {}
    block = _block(error.shape, ERROR_CELLS)
    return {"block": block, "error": _listed(_cells(np.fmax, error / scale, block), lambda each: float(f"{each:.2g}"))}


def _block(shape: tuple[int, ...], cells: int) -> list[int]:
    """Return the sides of a cell: the least powers of two that leave at most ``cells`` along each side."""
    return [1 << (-(-length // cells) - 1).bit_length() for length in shape]


def _cells(reduction: np.ufunc, values: np.ndarray, block: list[int]) -> np.ndarray:
    for axis, (length, side) in enumerate(zip(values.shape, block, strict=True)):
        values = reduction.reduceat(values, np.arange(0, length, side), axis=axis)
    return values


def _listed(cells: np.ndarray, number: Any) -> list[list[Any]]:
    return [[number(each) if np.isfinite(each) else None for each in row] for row in cells]
