"""A run's schedule as Chrome's trace events, which Perfetto shows: a lane for each engine of a core.

Ref: "Trace Event Format", Google, 2016. Times are microseconds.
"""

import json
from pathlib import Path
from typing import Any

from bitpath.golden.nki import Run
from bitpath.golden.nki.machine.timeline import CYCLE, ENGINES
from bitpath.rtl.common.files import write_whole

MICROSECONDS = CYCLE * 1e6
"""Microseconds of a cycle of 1.2 GHz."""


def events(run: Run) -> list[dict[str, Any]]:
    """Return the trace events of a run: names of cores and lanes, and one complete event for each instruction."""
    lanes = sorted({(span.instruction.core, ENGINES.index(span.instruction.engine)) for span in run.cycles.spans})
    found: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": core, "args": {"name": f"core {core}"}}
        for core in sorted({core for core, _ in lanes})
    ]
    for core, lane in lanes:
        found.append({"ph": "M", "name": "thread_name", "pid": core, "tid": lane, "args": {"name": ENGINES[lane]}})
        found.append({"ph": "M", "name": "thread_sort_index", "pid": core, "tid": lane, "args": {"sort_index": lane}})
    for span in run.cycles.spans:
        each = span.instruction
        found.append(
            {
                "ph": "X",
                "name": each.opcode,
                "cat": each.engine,
                "pid": each.core,
                "tid": ENGINES.index(each.engine),
                "ts": span.start * MICROSECONDS,
                "dur": (span.end - span.start) * MICROSECONDS,
                "args": {
                    "line": each.line,
                    "name": each.name,
                    "cycles": each.cycles,
                    "choices": sorted(each.keys),
                    **each.operands,
                },
            }
        )
    return found


def write(path: Path, run: Run) -> None:
    """Write a run's trace whole."""
    write_whole(path, json.dumps({"traceEvents": events(run), "displayTimeUnit": "ns"}))
