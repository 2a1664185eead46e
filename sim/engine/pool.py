"""Worker processes that end with whoever started them, however he ends."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import Thread

from bitpath.golden.arrays.backend import THREADS
from bitpath.sim.engine.errors import SimulationError

QUIET = {signal.SIGINT, signal.SIGHUP}
"""Signals that a terminal sends to workers too: it is the parent who ends them."""


class Workers(ProcessPoolExecutor):
    """Fresh interpreters, with nothing of this one's threads and locks, each on one core.

    Parameters
    ----------
    count : of processes.
    alive : the end of a pipe that no worker has the other end of.
    """

    def __init__(self, count: int, alive: Connection):
        super().__init__(count, mp_context=get_context("spawn"), initializer=_begin, initargs=(alive,))

    def submit(self, *call, **arguments):
        # Workers inherit what is blocked, from their first instruction on.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, QUIET)
        try:
            return super().submit(*call, **arguments)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


@contextmanager
def workers(count: int, what: str) -> Iterator[Workers]:
    """Processes for the length of a block.

    Where the block fails or is interrupted they end at once, with all that they have started; so they do when this process
    is killed.

    Parameters
    ----------
    count : of processes.
    what : they do, for the message when one dies.

    Raises
    ------
    SimulationError : a process died.
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
    """End when the pipe does; what this process has started waits for the end of one of its own."""
    try:
        alive.recv()
    except (EOFError, OSError):
        os._exit(1)
