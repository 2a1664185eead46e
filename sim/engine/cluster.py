"""Runs the pieces of a campaign side by side on Dask: on workers of this machine, or on those of any scheduler.

The scheduler and the workers of this machine listen on its loopback addresses, which every local user reaches. They talk TLS
alone, with a key that the campaign makes and keeps in memory, and refuse whoever has another or none; their HTTP servers have
no page. Who may use a scheduler that the user names is decided where it was started.
"""

import gc
import signal
import warnings
from asyncio import gather
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache as once
from functools import partial
from logging import CRITICAL, getLogger
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any
from uuid import uuid4

import bitpath.golden
import bitpath.rtl
import bitpath.sim
import bitpath.verif
from bitpath.golden.arrays.parallel import THREADS, threads
from bitpath.sim.engine import cache, paths
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.engine.tools import require_extra

QUIET = {signal.SIGINT, signal.SIGHUP}
"""Signals that a terminal also sends to workers; only the parent handles them."""
WORKER_SECONDS = 60
"""Time limit for a scheduler without a worker."""
END_SECONDS = 0.5
"""Time limit for a worker to end, after which it is killed."""
LOCAL: dict[str, Any] = {
    "threads_per_worker": 1,
    "dashboard_address": "127.0.0.1:0",
    "scheduler_kwargs": {"dashboard": False},
    "silence_logs": CRITICAL,
    "memory_limit": 0,
}
"""Settings of the workers of this machine. Dask measures the memory of workers alone, and pieces start processes."""
SCHEDULING: dict[str, Any] = {
    # A piece that kills a second worker is given up.
    "distributed.scheduler.allowed-failures": 1,
    # A piece may hold the interpreter's lock for minutes.
    "distributed.scheduler.worker-ttl": None,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
"""Dask's configuration of the scheduler and the workers of this machine."""


@dataclass(frozen=True)
class Cluster:
    """Workers that run a campaign.

    Attributes
    ----------
    scheduler : address of a Dask scheduler; None starts workers on this machine for the campaign.
    workers : largest number of workers on this machine; None is one for each core.
    """

    scheduler: str | None = None
    workers: int | None = None


HERE = Cluster()


@dataclass(frozen=True)
class Piece:
    """A part of a campaign: the caller's key for it, its name in messages, and the call that a worker makes."""

    key: Any
    name: str
    call: Callable[..., Any]
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Finished:
    """A piece that has ended: the result of its call, or its exception; SimulationError where its workers died."""

    piece: Piece
    value: Any
    error: Exception | None

    def result(self) -> Any:
        """Return the result, or raise the exception."""
        if self.error is not None:
            raise self.error
        return self.value


def finished(
    pieces: Sequence[Piece], cluster: Cluster = HERE, told: Callable[[str], None] = lambda text: None
) -> Iterator[Finished]:
    """Yield each piece as soon as it has ended, in any order. A piece whose worker died is begun again on another.

    If the caller stops early or is killed, workers of this machine exit within seconds with all their child processes, and
    a scheduler drops the pieces that have not begun.

    Parameters
    ----------
    told : called with the texts that pieces `tell`.

    Raises
    ------
    SimulationError : the scheduler does not answer, or has no worker.
    """
    if not pieces:
        return
    with _client(cluster, len(pieces)) as client:
        from distributed import as_completed

        topic = f"bitpath-{uuid4()}"
        client.subscribe_topic(topic, lambda event: told(event[1]))
        with warnings.catch_warnings():
            # The operands of a piece are its own.
            warnings.filterwarnings("ignore", "Sending large graph")
            futures = {
                client.submit(_work, sources(), topic, each.call, *each.arguments, pure=False): each for each in pieces
            }
        try:
            for future in as_completed(futures):
                yield _ended(futures[future], future)
        finally:
            client.unsubscribe_topic(topic)
            client.cancel(list(futures))


def _ended(piece: Piece, future: Any) -> Finished:
    from distributed import CancelledError
    from distributed.scheduler import KilledWorker

    try:
        return Finished(piece, future.result(), None)
    except CancelledError:
        lost = "the scheduler has ended"
    except KilledWorker:
        lost = "a worker died twice, perhaps for want of memory"
    except Exception as error:
        return Finished(piece, None, error)
    return Finished(piece, None, SimulationError(f"{piece.name}: {lost}; what is complete is kept, run it again"))


def tell(text: str) -> None:
    """Tell the campaign what this piece does; without effect outside of a piece."""
    _tell.get()(text)


_tell: ContextVar[Callable[[str], None]] = ContextVar("tell", default=lambda text: None)


def _work(expected: str, topic: str, call: Callable[..., Any], *arguments: Any) -> Any:
    """Make a call in a worker, after checking that its bitpath has the same sources."""
    from distributed import get_worker

    if sources() != expected:
        raise SimulationError("the sources have changed, or this worker has another version of bitpath; run it again")
    _tell.set(partial(get_worker().log_event, topic))
    return call(*arguments)


@once
def sources() -> str:
    """Return the digest of golden, RTL, benches, campaigns and their data, without the tests, which wheels lack."""
    folders = [Path(str(each.__file__)).parent for each in (bitpath.golden, bitpath.rtl, bitpath.verif, bitpath.sim)]
    suffixes = (".py", ".c", ".cpp", ".h", ".toml", ".npz")
    files = (file for folder in folders for file in sorted(folder.rglob("*")) if file.suffix in suffixes)
    tests = folders[2] / "tests"
    return cache.hash_files(file for file in files if tests not in file.parents)[:16]


@contextmanager
def _client(cluster: Cluster, pieces: int) -> Iterator[Any]:
    require_extra("campaigns")
    import dask
    from distributed import Client, LocalCluster, Nanny, Security

    getLogger("distributed").setLevel(CRITICAL)
    if cluster.scheduler is not None:
        with _connected(cluster.scheduler) as client:
            yield client
        return
    count = min(cluster.workers or threads(), pieces)
    environment = {"distributed.nanny.environ": {THREADS: str(max(threads() // count, 1))}}
    with dask.config.set(SCHEDULING | environment):
        # Workers inherit the signal mask from their first instruction on. The tracker's start would take it back.
        resource_tracker.ensure_running()
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, QUIET)
        try:
            folder = str(paths.build_root() / "dask")
            local = LocalCluster(n_workers=count, local_directory=folder, security=Security.temporary(), **LOCAL)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        with local, Client(local) as client:
            try:
                yield client
            except BaseException:
                # Otherwise Dask waits seconds for pieces that nobody wants.
                local.sync(_kill, [each for each in local.workers.values() if isinstance(each, Nanny)])
                raise


def _connected(address: str) -> Any:
    from distributed import Client

    client: Client | None = None
    failure: Exception | None = None
    try:
        client = Client(address, timeout=WORKER_SECONDS)
        client.wait_for_workers(1, timeout=WORKER_SECONDS)
    except OSError:
        # Dask's timeouts are OSErrors too.
        failure = SimulationError(f"--scheduler: {address} does not answer, or has no worker")
    except ValueError as error:
        failure = ValueError(*error.args)
    if failure is None:
        return client
    if client is not None:
        client.close()
    # A client whose constructor fails is closed when it is collected. If that happens while another one starts, both wait forever.
    gc.collect()
    raise failure


async def _kill(nannies: Sequence[Any]) -> None:
    # A busy machine may need longer; closing the cluster waits for it.
    await gather(*(each.kill(timeout=END_SECONDS) for each in nannies), return_exceptions=True)
