"""A sweep on Dask: every result on disk as soon as it is there, and none worked out twice."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bitpath.rtl.config import digest
from bitpath.sim import cache, paths
from bitpath.sim.build import rtl_emitter
from bitpath.sim.errors import MissingToolError
from bitpath.sim.explore.evaluate import METRICS, area_of, error_of
from bitpath.sim.explore.front import pareto
from bitpath.sim.explore.points import Point
from bitpath.sim.synth.flow import Flow, require_yosys

Task = tuple[str, Callable[..., float], tuple[Any, ...]]
"""A key that names the result for ever, and the call that gives it."""


def results_file() -> Path:
    """Results by key, a JSON line each: what a sweep that was interrupted goes on from."""
    return paths.reports() / "explore_points.jsonl"


def explore(
    points: Sequence[Point],
    data: Sequence[str],
    *,
    shape: str,
    liberty: Path | None = None,
    area: bool = True,
    scheduler: str | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[dict[str, Any]]:
    """The records of all points on all data.

    Parameters
    ----------
    shape : "MxKxN" of the operands.
    liberty : the cells; the project's own when not given.
    area : False leaves areas out, and with them the fronts.
    scheduler : address of a Dask scheduler; a local cluster when not given, of ``workers`` processes.
    progress : called with the tasks done and all there are.
    """
    if area:
        require_yosys()
    sources = cache.hash_files([*rtl_emitter().sources, Path(_golden_folder())])
    flow = f"{Flow(liberty).name} {digest('liberty', Flow(liberty).text)}"
    areas: dict[str, Task] = {}
    errors: dict[tuple[str, str], Task] = {}
    for point in points:
        key = point.design.digest
        if area:
            areas[key] = (digest("area", (key, flow, sources)), area_of, (point, liberty))
        for each in data:
            name = digest("error", (point.digest, each, shape, sources))
            errors[point.digest, each] = (name, error_of, (point, each, shape))
    found = _work([*areas.values(), *errors.values()], scheduler, workers, progress)
    records = []
    for each in data:
        here = []
        for point in points:
            gates = found[areas[point.design.digest][0]] if area else None
            here.append(
                {
                    "machine": point.machine,
                    "config": point.config,
                    "digest": point.digest,
                    "area_ge": None if gates is None else round(gates / point.rate, 1),
                    "error": found[errors[point.digest, each][0]],
                    "error_metric": METRICS[point.machine],
                    "data": f"{each} {shape}",
                    "pareto": False,
                }
            )
        for machine in {point.machine for point in points} if area else ():
            own = [record for record in here if record["machine"] == machine]
            for record, on in zip(own, pareto([(r["area_ge"], r["error"]) for r in own]), strict=True):
                record["pareto"] = on
        records += here
    return records


def _golden_folder() -> str:
    import bitpath.golden

    return os.path.dirname(str(bitpath.golden.__file__))


def _work(
    tasks: Sequence[Task], scheduler: str | None, workers: int | None, progress: Callable[[int, int], None]
) -> dict[str, float]:
    """Every task's result by its key."""
    file = results_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    found = _read(file)
    missing = {key: (call, arguments) for key, call, arguments in tasks if key not in found}
    total = len({key for key, _, _ in tasks})
    progress(total - len(missing), total)
    if not missing:
        return found
    with _client(scheduler, workers) as client, file.open("a") as results:
        from distributed import as_completed

        if file.stat().st_size and not file.read_bytes().endswith(b"\n"):
            results.write("\n")  # behind the line that an interruption cut
        names = {
            client.submit(call, *arguments, key=f"{call.__name__}-{key}", pure=False): key
            for key, (call, arguments) in missing.items()
        }
        failure = None
        for future in as_completed(names):
            if (raised := future.exception()) is not None:
                # The other points are worked out and kept all the same.
                failure = failure or raised
                continue
            value = future.result()
            found[names[future]] = value
            # At once: what is lost by an interruption is what is being worked out.
            results.write(json.dumps({"key": names[future], "value": value}) + "\n")
            results.flush()
            missing.pop(names[future])
            progress(total - len(missing), total)
        if failure is not None:
            raise failure
    return found


def _read(file: Path) -> dict[str, float]:
    found = {}
    for line in file.read_text().splitlines() if file.is_file() else []:
        try:
            result = json.loads(line)
        except json.JSONDecodeError:
            continue  # the line that an interruption cut
        found[result["key"]] = result["value"]
    return found


@contextmanager
def _client(scheduler: str | None, workers: int | None) -> Iterator[Any]:
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise MissingToolError(
            "Dask is not in this Python environment; run: make explore (or pip install bitpath[explore])"
        ) from None
    if scheduler is not None:
        with Client(scheduler) as client:
            yield client
        return
    cluster = LocalCluster(
        n_workers=workers or os.cpu_count(),
        threads_per_worker=1,
        dashboard_address=None,
        local_directory=str(paths.build_root() / "dask"),
    )
    with cluster, Client(cluster) as client:
        yield client
