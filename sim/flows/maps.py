"""Maps of a result: a matrix reduced to at most 64 x 64 cells, small enough to keep with every run."""

from typing import Any

import numpy as np

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
            distance = np.where(different, _distance(rtl, golden), np.nan)
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


def _distance(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the steps between float32 numbers on the number line as float64; NaN where either is NaN."""
    first, second = (_position(each.view(np.uint32).astype(np.int64)) for each in (x, y))
    return np.where(np.isnan(x) | np.isnan(y), np.nan, np.abs(first - second))


def _position(codes: np.ndarray) -> np.ndarray:
    magnitude = codes & 0x7FFFFFFF
    return np.where(codes >> 31, -magnitude, magnitude)


def _listed(cells: np.ndarray, number: Any) -> list[list[Any]]:
    return [[number(each) if np.isfinite(each) else None for each in row] for row in cells]
