"""Blocks of work on several cores: all that the process may use, or ``BITPATH_THREADS``."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from contextlib import suppress
from functools import cache
from itertools import chain
from threading import Lock, local
from typing import TypeVar

import numpy as np

THREADS = "BITPATH_THREADS"

Block = TypeVar("Block")
Result = TypeVar("Result")
Progress = Callable[[int, int], None]
"""Called in the caller's thread after each block with the number of finished blocks and of all blocks."""

_worker = local()
"""`_worker.busy` is True in the threads of `in_parallel`."""


def threads() -> int:
    """Return the number of cores to use.

    Raises
    ------
    ValueError : BITPATH_THREADS is not an integer of at least 1.
    """
    given = os.environ.get(THREADS)
    if given is None:
        # Only some systems can bind a process to a set of cores.
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not given.isdecimal() or not int(given):
        raise ValueError(f"{THREADS} must be an integer of at least 1, not {given!r}")
    return int(given)


def in_parallel(work: Callable[[Block], None], blocks: Iterable[Block], progress: Progress | None = None) -> None:
    """Call `work` with each block, on all cores; the kernels release the interpreter's lock. A nested call runs
    serially. Blocks also run serially if no thread can start: after the main thread has ended, or at the system's
    limit.

    Parameters
    ----------
    work : writes the results of one block. Its exception is raised here, that of the first block if several fail.
    blocks : arguments of `work`.
    progress : called after every block. If it raises, or on an interrupt, blocks that have not started are dropped.
    """
    blocks = list(blocks)
    count = 1 if len(blocks) <= 1 or getattr(_worker, "busy", False) else min(threads(), len(blocks))
    if count <= 1:
        for done, block in enumerate(blocks, 1):
            work(block)
            if progress is not None:
                progress(done, len(blocks))
        return
    pool = _pool(count, os.getpid())
    futures: list[Future[None]] = []
    waiting, locks = set(range(len(blocks))), [Lock() for _ in blocks]

    def take(number: int) -> None:
        # A block that the pool refused may still lie in its queue: it is done once, and waited for.
        with locks[number]:
            if number in waiting:
                work(blocks[number])
                waiting.discard(number)

    try:
        with suppress(RuntimeError):
            futures.extend(pool.submit(take, number) for number in range(len(blocks)))
        refused = range(len(futures), len(blocks))
        for done, future in enumerate(chain(as_completed(futures), map(take, refused)), 1):
            if future is not None and future.exception() is not None:
                break
            if progress is not None:
                progress(done, len(blocks))
    finally:
        waiting.clear()
        for future in futures:
            future.cancel()
        wait(futures)
    for future in futures:
        if not future.cancelled():
            future.result()


@cache
def _pool(count: int, process: int) -> ThreadPoolExecutor:
    """Threads that stay for later calls, since starting them takes as long as a small product; a forked process has its own."""
    return ThreadPoolExecutor(count, initializer=lambda: setattr(_worker, "busy", True))


def mapped(function: Callable[[Block], Result], blocks: Iterable[Block]) -> list[Result]:
    """Return a function's result of each block, in their order, computed as `in_parallel` does."""
    blocks = list(blocks)
    results: dict[int, Result] = {}
    in_parallel(lambda number: results.update({number: function(blocks[number])}), range(len(blocks)))
    return [results[number] for number in range(len(blocks))]


def owned(array: np.ndarray) -> np.ndarray:
    """Return an array contiguous and writable, so that numba compiles one kernel instead of one for each layout."""
    flags = array.flags
    return array if flags.c_contiguous and flags.writeable else np.require(array, requirements=("C", "W"))


def in_blocks(rows: np.ndarray, width: int) -> np.ndarray:
    """Return [B, F, ...] as [B, blocks, ..., width], the last block filled with zeros, so that a kernel's loops are of one length."""
    missing = -rows.shape[1] % width
    filled = np.pad(rows, [(0, missing if axis == 1 else 0) for axis in range(rows.ndim)]) if missing else rows
    return owned(np.moveaxis(filled.reshape(len(rows), -1, width, *rows.shape[2:]), 2, -1))


def cuts(size: int, step: int) -> list[slice]:
    """Cut 0 to size - 1 into blocks of `step`, the last one shorter; a size of 0 gives no blocks for any step."""
    return [slice(start, min(start + step, size)) for start in range(0, size, max(step, 1))]


def shares(size: int, multiple: int) -> list[slice]:
    """Cut 0 to size - 1 into one block for each core; all but the last are multiples of `multiple`."""
    parts = -(-size // multiple)
    if parts <= 1:
        return [slice(0, size)] if size else []
    return cuts(size, -(-parts // threads()) * multiple)


WORTH = 1 << 20
"""Steps of a kernel that are worth a thread: a third of a millisecond, of which handing them over may take a third."""


def spread(size: int, steps: int, parts: int | None = None) -> list[slice]:
    """Cut 0 to size - 1 into one block for each core, fewer where all of it has few steps; or into about `parts` blocks."""
    parts = min(threads(), -(-steps // WORTH)) if parts is None else parts
    return cuts(size, -(-size // max(parts, 1)))


# Products of many rows, a block of rows at a time, so that memory does not grow with converted operands and sums.


ROWS = 2048
"""Most rows of a block: a multiple of every machine's tile."""


def _within(part: slice, rows: int, progress: Progress | None) -> Progress | None:
    """Return the progress function of one block, or None."""
    if progress is None:
        return None
    return lambda done, total: progress(part.start + (part.stop - part.start) * done // total, rows)


def in_row_blocks(
    work: Callable[[slice, Progress | None], None], rows: int, most: int, progress: Progress | None = None
) -> None:
    """Call `work` with each block of up to `most` rows; it writes their results. `progress` is told what a single block tells; of several, the rows done and all of them."""
    for part in cuts(rows, most):
        work(part, progress if rows <= most else _within(part, rows, progress))
