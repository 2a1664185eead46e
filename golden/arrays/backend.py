"""Choice of backend for large work, numpy or numba, and of the number of cores.

``BITPATH_FAST=numpy`` or ``numba`` forces one. Otherwise numba is used if it is installed and the work is worth the time
of loading it. ``BITPATH_FAST_THREADS`` limits the cores; the default is every core that the process may use.
"""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from threading import local
from types import ModuleType
from typing import TypeVar

import numpy as np

CHOICE = "BITPATH_FAST"
THREADS = "BITPATH_FAST_THREADS"
NUMPY, NUMBA = "numpy", "numba"
WORTH_LOADING = 1 << 14
"""Fewest values for which numba is used: loading it takes 0.5 s once."""

Block = TypeVar("Block")
Progress = Callable[[int, int], None]
"""Called in the caller's thread after each block with the number of finished blocks and of all blocks."""

_worker = local()
"""`_worker.busy` is True in the threads of `in_parallel`."""


def backend() -> str:
    """Return the backend of large work, "numpy" or "numba".

    Raises
    ------
    ValueError : the environment names another backend, or names numba, which is not installed.
    """
    choice = os.environ.get(CHOICE, "")
    if choice not in ("", NUMPY, NUMBA):
        raise ValueError(f"{CHOICE} must be {NUMPY!r} or {NUMBA!r}, not {choice!r}")
    if choice == NUMBA and not _has_numba():
        raise ValueError(f"{CHOICE} is {NUMBA!r}, but numba is not installed; run: pip install numba")
    return choice or (NUMBA if _has_numba() else NUMPY)


def compiled(values: int) -> bool:
    """Return True if compiled kernels do work of this size; with BITPATH_FAST=numba they do work of any size.

    Raises
    ------
    ValueError : as `backend`.
    """
    return backend() == NUMBA and (values >= WORTH_LOADING or os.environ.get(CHOICE) == NUMBA)


def loops(module: str, values: int, *declared: object) -> ModuleType | None:
    """Return an operation's compiled loops, or None where numpy computes.

    Parameters
    ----------
    module : name of the module of loops, which is imported when it is first used: `import bitpath.golden` waits for no
        compiler.
    values : size of the work, as for `compiled`.
    declared : arguments of the module's `supports`, which tells the numerics that its kernels compute.

    Raises
    ------
    ValueError : as `backend`.
    """
    if not compiled(values):
        return None
    found = import_module(module)
    return found if not declared or found.supports(*declared) else None


def threads() -> int:
    """Return the number of cores to use.

    Raises
    ------
    ValueError : BITPATH_FAST_THREADS is not an integer of at least 1.
    """
    given = os.environ.get(THREADS)
    if given is None:
        # Only some systems can bind a process to a set of cores.
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not given.isdecimal() or not int(given):
        raise ValueError(f"{THREADS} must be an integer of at least 1, not {given!r}")
    return int(given)


def in_parallel(work: Callable[[Block], None], blocks: Iterable[Block], progress: Progress | None = None) -> None:
    """Call `work` with each block, on all cores; the kernels release the interpreter's lock. A nested call runs serially.

    Parameters
    ----------
    work : writes the results of one block. Its exception is raised here, that of the first block if several fail.
    blocks : arguments of `work`.
    progress : called after every block. If it raises, or on an interrupt, blocks that have not started are dropped.
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
    """Return an array contiguous and writable, so that numba compiles one kernel instead of one for each layout."""
    return np.require(array, requirements=("C", "W"))


def cuts(size: int, step: int) -> list[slice]:
    """Cut 0 to size - 1 into blocks of `step`, the last one shorter; a size of 0 gives no blocks for any step."""
    return [slice(start, min(start + step, size)) for start in range(0, size, max(step, 1))]


def shares(size: int, multiple: int) -> list[slice]:
    """Cut 0 to size - 1 into one block for each core; all but the last are multiples of `multiple`."""
    parts = -(-size // multiple)
    return cuts(size, -(-parts // threads()) * multiple)


@cache
def _has_numba() -> bool:
    return find_spec("numba") is not None
