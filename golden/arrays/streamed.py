"""Products of many rows, a block of rows at a time, so that memory does not grow with converted operands and sums."""

from collections.abc import Callable

import numpy as np

from bitpath.golden.arrays.parallel import Progress, cuts

ROWS = 2048
"""Most rows of a block: a multiple of every machine's tile."""
Multiply = Callable[[slice, Progress | None], np.ndarray]
"""Multiplies some rows of the left operand; a slice of the rows, and what is told of the progress."""


def streamed(multiply: Multiply, rows: int, most: int, progress: Progress | None = None) -> np.ndarray:
    """Return the results of all rows, one block below the other; up to `most` rows are one block.

    `progress` is told what `multiply` tells of a single block; of several, the rows done and all of them.
    """
    if rows <= most:
        return multiply(slice(0, rows), progress)
    first, *others = cuts(rows, most)
    block = multiply(first, _within(first, rows, progress))
    result = np.empty((rows, *block.shape[1:]), block.dtype)
    result[first] = block
    # Other blocks need its memory.
    del block
    for part in others:
        result[part] = multiply(part, _within(part, rows, progress))
    return result


def _within(part: slice, rows: int, progress: Progress | None) -> Progress | None:
    """What is told of the progress of one block."""
    if progress is None:
        return None
    return lambda done, total: progress(part.start + (part.stop - part.start) * done // total, rows)
