"""``python -m bitpath.sim.engine.launch JOB.json``: one call of cocotb's runner in a separate process.

A separate process lets a time limit kill it together with its simulator. cocotb's runner also takes its settings from the
process environment and exits through ``sys.exit``.
"""

import json
import sys
from pathlib import Path
from typing import Any

import cocotb_tools.runner
from cocotb_tools.runner import get_runner

BUILD_JOBS = 2
"""Concurrent compiler processes, for two cores and less than 4 GiB of memory."""


ALWAYS: dict[str, dict[str, Any]] = {
    "build": {"timescale": ("1ns", "1ps"), "always": True},
    "test": {"hdl_toplevel_lang": "verilog"},
}
"""Arguments that every call has, by the runner's method."""


def main() -> None:
    """Run the job in the file named on the command line: a simulator, a method of cocotb's runner, and its arguments."""
    job = json.loads(Path(sys.argv[1]).read_text())
    cocotb_tools.runner.MAX_PARALLEL_BUILD_JOBS = BUILD_JOBS
    getattr(get_runner(job["simulator"]), job["action"])(**job["arguments"], **ALWAYS[job["action"]])


if __name__ == "__main__":
    main()
