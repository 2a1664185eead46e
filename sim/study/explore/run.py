"""Runs a sweep on Dask. Every result is stored at once and never computed again."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache as once
from pathlib import Path
from typing import Any

import bitpath.golden
from bitpath.golden.arrays.parallel import THREADS, threads
from bitpath.sim.engine import cache, journal, paths
from bitpath.sim.engine.build import rtl_emitter
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.engine.tools import require_extra
from bitpath.sim.flows import operands
from bitpath.sim.flows.machines import RECORDS
from bitpath.sim.study.explore.evaluate import area_of, error_of, matrices
from bitpath.sim.study.explore.front import pareto
from bitpath.sim.study.explore.points import Point
from bitpath.sim.study.synth.flow import Flow

WORKER_SECONDS = 60
"""Time limit for a scheduler without a worker."""


@dataclass(frozen=True)
class Task:
    """A computation: the key of its result, the call, and the description of its point."""

    key: str
    label: str
    call: Callable[..., float]
    arguments: tuple[Any, ...]


def results_file() -> Path:
    """Return the file of results by key; an interrupted sweep resumes with them."""
    return paths.reports() / "explore_points.jsonl"


def explore(
    points: Sequence[Point],
    data: Sequence[str],
    *,
    shape: str,
    flow: Flow | None = None,
    scheduler: str | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[dict[str, Any]]:
    """Return the records of all points on all data.

    Parameters
    ----------
    shape : "MxKxN" of the operands, a slice of the layer.
    flow : synthesis flow of the areas; None omits areas and fronts.
    scheduler : address of a Dask scheduler; by default a local cluster of ``workers`` processes.
    progress : called with the number of tasks done and of all tasks.

    Raises
    ------
    ValueError : unknown data, or a shape that the layer does not have.
    MissingToolError : Yosys or Dask is not installed.
    SimulationError : some points failed (raised at the end), or the scheduler has no worker.
    """
    for each in data:
        matrices(each, shape)
    if flow is not None:
        require_extra("synth")
    sources = sources_digest()
    areas, errors = {}, {}
    for point in points:
        if flow is not None:
            key = cache.hash_json(["area", point.design.full_config, flow.key, sources])
            areas[point.digest] = Task(key, f"area of {point.label}", area_of, (point, flow))
        for each in data:
            key = cache.hash_json(["error", point.machine, point.config, each, shape, sources])
            errors[point.digest, each] = Task(key, f"{point.label}, {each}", error_of, (point, each, shape))
    found = _work([*areas.values(), *errors.values()], sources, scheduler, workers, progress)
    records = []
    for each in data:
        here = []
        for point in points:
            gates = found[areas[point.digest].key] if areas else None
            here.append(
                {
                    "machine": point.machine,
                    "config": point.config,
                    "digest": point.digest,
                    "area_ge": None if gates is None else round(gates / point.rate, 1),
                    "error": found[errors[point.digest, each].key],
                    "error_metric": RECORDS[point.machine].matmul.Run.error_metric,
                    "data": f"{each} {shape}",
                    "pareto": False,
                }
            )
        for machine in {point.machine for point in points} if areas else ():
            own = [record for record in here if record["machine"] == machine]
            for record, on in zip(own, pareto([(r["area_ge"], r["error"]) for r in own]), strict=True):
                record["pareto"] = on
        records += here
    return records


@once
def sources_digest() -> str:
    """Return a digest of all inputs of a result besides the point: golden, RTL, the sweep and the data of the layer."""
    here = Path(__file__).parent
    golden = Path(bitpath.golden.__file__).parent
    flows = Path(operands.__file__).parent
    files = [*rtl_emitter().sources, golden, here, flows, here.parent / "synth", operands.LAYER]
    return cache.hash_files(files)


def _with_sources(sources: str, call: Callable[..., float], *arguments: Any) -> float:
    """Run the call in a worker, after checking that its bitpath has the same sources."""
    if sources_digest() != sources:
        raise RuntimeError("this worker has another version of bitpath, or other data")
    return call(*arguments)


def _work(
    tasks: Sequence[Task],
    sources: str,
    scheduler: str | None,
    workers: int | None,
    progress: Callable[[int, int], None],
) -> dict[str, float]:
    """Return every task's result by its key."""
    found = {result["key"]: result["value"] for result in journal.read(results_file())}
    missing = {task.key: task for task in tasks if task.key not in found}
    total = len({task.key for task in tasks})
    progress(total - len(missing), total)
    if not missing:
        return found
    require_extra("explore")
    failures = []
    with _client(scheduler, workers) as client:
        from distributed import as_completed

        names = {
            client.submit(_with_sources, sources, task.call, *task.arguments, key=task.key, pure=False): task
            for task in missing.values()
        }
        for future in as_completed(names):
            task = names[future]
            if (raised := future.exception()) is not None:
                # Compute and keep the remaining points.
                failures.append(f"{task.label}: {raised}")
                continue
            found[task.key] = future.result()
            # Store each result at once: an interruption loses only running tasks.
            journal.append(results_file(), {"key": task.key, "value": found[task.key]})
            missing.pop(task.key)
            progress(total - len(missing), total)
    if failures:
        raise SimulationError(f"{len(failures)} of {total} results could not be worked out:\n" + "\n".join(failures))
    return found


@contextmanager
def _client(scheduler: str | None, workers: int | None) -> Iterator[Any]:
    from distributed import Client, LocalCluster

    if scheduler is not None:
        try:
            with Client(scheduler, timeout=WORKER_SECONDS) as client:
                client.wait_for_workers(1, timeout=WORKER_SECONDS)
                yield client
        except OSError:
            # Dask's timeouts are OSErrors too.
            raise SimulationError(f"--scheduler: {scheduler} does not answer, or has no worker") from None
        return
    cluster = LocalCluster(
        n_workers=workers or threads(),
        threads_per_worker=1,
        dashboard_address=None,
        local_directory=str(paths.build_root() / "dask"),
        # Each worker uses one core.
        env={THREADS: "1"},
    )
    with cluster, Client(cluster) as client:
        yield client
