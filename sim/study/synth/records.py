"""Records of synthesis runs, several designs at once, and their changes over time."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bitpath.sim.engine import journal, paths
from bitpath.sim.engine.cluster import HERE, Cluster, Piece, finished
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.engine.tools import require_extra
from bitpath.sim.study.synth.configurations import Design
from bitpath.sim.study.synth.flow import Flow

MEASURED = ("ge_area", "ge_fast", "ns_fast", "flip_flops")


def synth_records(
    designs: Sequence[Design], flow: Flow, cluster: Cluster = HERE
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the index of a design in the list and its record, as each becomes known.

    Raises MissingToolError without Yosys, and SimulationError at the end if some designs failed.
    """
    require_extra("synth")
    failures = []
    pieces = [Piece(index, design.name, _record, (design, flow)) for index, design in enumerate(designs)]
    for each in finished(pieces, cluster):
        try:
            yield each.piece.key, each.result()
        except SimulationError as error:
            failures.append(f"{each.piece.name}: {error}")
    if failures:
        raise SimulationError("\n".join(failures))


def _record(design: Design, flow: Flow) -> dict[str, Any]:
    found = flow.synthesize(*design.verilog())
    return {
        "name": design.name,
        "machine": design.machine,
        "config": design.full_config,
        "digest": design.digest,
        "flow": flow.name,
        **asdict(found),
        "macs": design.macs,
    }


def trend_file() -> Path:
    """Return the file of all changed results with their times, which only grows."""
    return paths.reports() / "synth_trend.jsonl"


def last_results(trend: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the newest record of each digest and flow."""
    return {(record["digest"], record["flow"]): record for record in journal.read(trend)}


def append_trend(trend: Path, record: dict[str, Any], before: dict[str, Any] | None) -> None:
    """Append a record if it differs from ``before``, the newest one of its digest and flow."""
    if before is None or any(before[name] != record[name] for name in MEASURED):
        journal.append(trend, {"time": time.strftime("%Y-%m-%dT%H:%M:%S"), **record})
