"""Runs a sweep on Dask. Every result is stored at once and never computed again."""

from collections.abc import Callable, Sequence
from functools import cache as once
from pathlib import Path
from typing import Any

import bitpath.golden
from bitpath.sim.engine import cache, journal, paths
from bitpath.sim.engine.build import rtl_emitter
from bitpath.sim.engine.cluster import HERE, Cluster, Piece, finished
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.engine.tools import require_extra
from bitpath.sim.flows import operands
from bitpath.sim.flows.machines import RECORDS
from bitpath.sim.study.explore.evaluate import area_of, error_of, matrices
from bitpath.sim.study.explore.front import pareto
from bitpath.sim.study.explore.points import Point
from bitpath.sim.study.synth.flow import Flow


def results_file() -> Path:
    """Return the file of results by key; an interrupted sweep resumes with them."""
    return paths.reports() / "explore_points.jsonl"


def explore(
    points: Sequence[Point],
    data: Sequence[str],
    *,
    shape: str,
    flow: Flow | None = None,
    cluster: Cluster = HERE,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[dict[str, Any]]:
    """Return the records of all points on all data.

    Parameters
    ----------
    shape : "MxKxN" of the operands, a slice of the layer.
    flow : synthesis flow of the areas; None omits areas and fronts.
    progress : called with the number of tasks done and of all tasks.

    Raises
    ------
    ValueError : unknown data, or a shape that the layer does not have.
    MissingToolError : Yosys is not installed.
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
            areas[point.digest] = Piece(key, f"area of {point.label}", area_of, (point, flow))
        for each in data:
            key = cache.hash_json(["error", point.machine, point.config, each, shape, sources])
            errors[point.digest, each] = Piece(key, f"{point.label}, {each}", error_of, (point, each, shape))
    found = _work([*areas.values(), *errors.values()], cluster, progress)
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


def _work(pieces: Sequence[Piece], cluster: Cluster, progress: Callable[[int, int], None]) -> dict[str, float]:
    """Return the result of every piece by its key."""
    found = {result["key"]: result["value"] for result in journal.read(results_file())}
    missing = {piece.key: piece for piece in pieces if piece.key not in found}
    total, failures = len({piece.key for piece in pieces}), []
    progress(total - len(missing), total)
    for done, each in enumerate(finished(list(missing.values()), cluster), total - len(missing) + 1):
        try:
            found[each.piece.key] = each.result()
        except Exception as error:
            # Compute and keep the remaining points.
            failures.append(f"{each.piece.name}: {error}")
        else:
            # Store each result at once: an interruption loses only running pieces.
            journal.append(results_file(), {"key": each.piece.key, "value": found[each.piece.key]})
        progress(done, total)
    if failures:
        raise SimulationError(f"{len(failures)} of {total} results could not be worked out:\n" + "\n".join(failures))
    return found
