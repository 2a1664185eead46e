"""Records of synthesis runs, several designs at once, and their changes over time."""

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bitpath.golden.arrays.parallel import threads
from bitpath.sim.engine import journal, paths
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.engine.pool import workers
from bitpath.sim.engine.tools import require_extra
from bitpath.sim.study.synth.configurations import Design
from bitpath.sim.study.synth.flow import Flow

MEASURED = ("ge_area", "ge_fast", "ns_fast", "flip_flops")


def synth_records(designs: Sequence[Design], flow: Flow) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the index of a design in the list and its record, as each becomes known.

    Raises MissingToolError without Yosys, and SimulationError at the end if some designs failed.
    """
    require_extra("synth")
    failures = []
    with workers(threads(), "synthesis") as pool:
        futures = {pool.submit(_record, design, flow): index for index, design in enumerate(designs)}
        for future in as_completed(futures):
            try:
                yield futures[future], future.result()
            except SimulationError as error:
                failures.append(f"{designs[futures[future]].name}: {error}")
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
