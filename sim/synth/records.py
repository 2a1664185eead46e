"""Records of a synthesis, several designs at once, and how they changed."""

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bitpath.sim import paths
from bitpath.sim.synth.configurations import Design
from bitpath.sim.synth.flow import Flow, require_yosys

MEASURED = ("ge_area", "ge_fast", "ns_fast", "flip_flops")


def synth_records(
    designs: Sequence[Design], flow: Flow, done: Callable[[Design], None] = lambda design: None
) -> Iterator[dict[str, Any]]:
    """A record for each design, in order; ``done`` is called as each becomes known."""
    require_yosys()
    flow_name = flow.name

    def one(design: Design) -> dict[str, Any]:
        found = flow.synthesize(*design.verilog())
        done(design)
        return {
            "name": design.name,
            "machine": design.machine,
            "config": design.full_config,
            "digest": design.digest,
            "flow": flow_name,
            "ge_area": found.ge_area,
            "ge_fast": found.ge_fast,
            "ns_fast": found.ns_fast,
            "flip_flops": found.flip_flops,
            "macs": design.macs,
        }

    # Threads: the work is Yosys's, in processes of their own.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(one, designs)


def trend_file() -> Path:
    """Every result that differed from the one before it, a JSON record a line with its time; grows for ever."""
    return paths.reports() / "synth_trend.jsonl"


def last_results(trend: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """The newest record of each digest and flow."""
    if not trend.is_file():
        return {}
    records = [json.loads(line) for line in trend.read_text().splitlines()]
    return {(record["digest"], record["flow"]): record for record in records}


def append_trend(trend: Path, records: Sequence[dict[str, Any]]) -> None:
    """Add those records that say something new of their digest and flow."""
    known = last_results(trend)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S")
    trend.parent.mkdir(parents=True, exist_ok=True)
    with trend.open("a") as file:
        for record in records:
            before = known.get((record["digest"], record["flow"]))
            if before is None or any(before[name] != record[name] for name in MEASURED):
                file.write(json.dumps({"time": stamp, **record}) + "\n")
