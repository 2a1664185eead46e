"""Which backend runs the hot loops, and on how many cores.

``BITPATH_FAST=numpy`` or ``numba`` forces one; without it numba is used where it is installed and the work is worth
the time of loading it. ``BITPATH_FAST_THREADS`` bounds the cores, all of those allowed to the process by default.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache
from importlib.util import find_spec
from threading import local
from typing import TypeVar

import numpy as np

CHOICE = "BITPATH_FAST"
THREADS = "BITPATH_FAST_THREADS"
NUMPY, NUMBA = "numpy", "numba"
WORTH_LOADING = 1 << 14
"""Values below which numpy is done sooner than numba is loaded, which takes half a second once."""

Block = TypeVar("Block")
Progress = Callable[[int, int], None]
"""Called from the caller's thread with the blocks done and all of them, whenever one is done."""


_worker = local()
"""Whether this thread is one of `in_parallel`'s."""


def backend() -> str:
    """Return the backend of large work, "numpy" or "numba".

    Raises
    ------
    ValueError : the environment names another one, or numba where it is not installed.
    """
    choice = os.environ.get(CHOICE, "")
    if choice not in ("", NUMPY, NUMBA):
        raise ValueError(f"{CHOICE} must be {NUMPY!r} or {NUMBA!r}, not {choice!r}")
    if choice == NUMBA and not _has_numba():
        raise ValueError(f"{CHOICE} is {NUMBA!r} and numba is not installed; pip install bitpath[fast] does it")
    return choice or (NUMBA if _has_numba() else NUMPY)


def compiled(values: int) -> bool:
    """Return whether work on so many values goes to the compiled kernels: any, where the environment says numba.

    Raises
    ------
    ValueError : as `backend`.
    """
    return backend() == NUMBA and (values >= WORTH_LOADING or os.environ.get(CHOICE) == NUMBA)


def threads() -> int:
    """Return how many cores are used.

    Raises
    ------
    ValueError : the environment's number is none, or below 1.
    """
    given = os.environ.get(THREADS)
    if given is None:
        # Not every system can bind a process to some cores, and tell which.
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not given.isdecimal() or not int(given):
        raise ValueError(f"{THREADS} must be an integer of at least 1, not {given!r}")
    return int(given)


def in_parallel(work: Callable[[Block], None], blocks: Iterable[Block], progress: Progress | None = None) -> None:
    """Do independent pieces of work, which release the interpreter's lock, on all cores; one inside another on its own.

    Parameters
    ----------
    work : writes what belongs to one block. What it raises is raised here, of several the first block's.
    blocks : what to call it with.
    progress : told of every finished block. What it raises, and an interrupt, leaves blocks undone that were not begun.
    """
    blocks = list(blocks)
    count = 1 if getattr(_worker, "busy", False) else min(threads(), len(blocks))
    if count <= 1:
        for done, block in enumerate(blocks, 1):
            work(block)
            if progress is not None:
                progress(done, len(blocks))
        return
    pool = ThreadPoolExecutor(count, initializer=lambda: setattr(_worker, "busy", True))
    try:
        futures = [pool.submit(work, block) for block in blocks]
        for done, future in enumerate(as_completed(futures), 1):
            if future.exception() is not None:
                break
            if progress is not None:
                progress(done, len(blocks))
    finally:
        pool.shutdown(cancel_futures=True)
    for future in futures:
        if not future.cancelled():
            future.result()


def owned(array: np.ndarray) -> np.ndarray:
    """Return an array as the kernels take it, contiguous and writable: numba would compile one for each kind of array."""
    return np.require(array, requirements=("C", "W"))


def cuts(size: int, step: int) -> list[slice]:
    """Cut 0 to size - 1 into blocks of `step`, the last one of the rest; a size of 0 into none, whatever the step."""
    return [slice(start, min(start + step, size)) for start in range(0, size, max(step, 1))]


def shares(size: int, multiple: int) -> list[slice]:
    """Cut 0 to size - 1 into one block for each core, of a multiple of `multiple` but for the last."""
    parts = -(-size // multiple)
    return cuts(size, -(-parts // threads()) * multiple)


@cache
def _has_numba() -> bool:
    return find_spec("numba") is not None
