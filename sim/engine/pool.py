"""Worker processes that exit when their parent does, even if it is killed."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import Thread
from typing import Any

from bitpath.golden.arrays.parallel import THREADS
from bitpath.sim.engine.errors import SimulationError

QUIET = {signal.SIGINT, signal.SIGHUP}
"""Signals that a terminal also sends to workers; only the parent handles them."""


class Workers(ProcessPoolExecutor):
    """Fresh interpreters without the threads and locks of this process, each on one core.

    ``alive`` is the read end of a pipe; this process alone holds the write end.
    """

    def __init__(self, count: int, alive: Connection):
        super().__init__(count, mp_context=get_context("spawn"), initializer=_begin, initargs=(alive,))

    def submit(self, *call: Any, **arguments: Any) -> Future:
        # Workers inherit the signal mask from their first instruction on.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, QUIET)
        try:
            return super().submit(*call, **arguments)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


@contextmanager
def workers(count: int, what: str) -> Iterator[Workers]:
    """Provide worker processes for the duration of a block.

    If the block fails or is interrupted, or this process is killed, they exit at once with all their children. Raises
    SimulationError if one died.

    Parameters
    ----------
    count : number of processes.
    what : name of their task in error messages.
    """
    alive, held = get_context("spawn").Pipe(duplex=False)
    with alive, held:
        pool = Workers(count, alive)
        try:
            yield pool
        except BaseException as error:
            held.close()
            if isinstance(error, BrokenProcessPool):
                raise SimulationError(
                    f"{what}: a process died, perhaps for want of memory; what is complete is kept, run it again"
                ) from None
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def _begin(alive: Connection) -> None:
    os.environ[THREADS] = "1"
    Thread(target=_end_with, args=(alive,), daemon=True).start()


def _end_with(alive: Connection) -> None:
    """Exit when the pipe closes; children of this process wait on a pipe of their own."""
    try:
        alive.recv()
    except (EOFError, OSError):
        os._exit(1)
