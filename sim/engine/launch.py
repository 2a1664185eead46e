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


def _build(runner: Any, job: dict[str, Any]) -> None:
    runner.build(
        sources=job["sources"],
        hdl_toplevel=job["top"],
        build_dir=job["folder"],
        build_args=job["build_args"],
        timescale=("1ns", "1ps"),
        waves=job["waves"],
        always=True,
    )


def _test(runner: Any, job: dict[str, Any]) -> None:
    runner.test(
        hdl_toplevel=job["top"],
        hdl_toplevel_lang="verilog",
        test_module=job["bench"],
        build_dir=job["folder"],
        test_dir=job["run_folder"],
        results_xml=job["results"],
        seed=job["seed"],
        test_filter=job["filter"],
        plusargs=job["plusargs"],
        waves=job["waves"],
    )


def main() -> None:
    """Run the job in the file named on the command line."""
    job = json.loads(Path(sys.argv[1]).read_text())
    cocotb_tools.runner.MAX_PARALLEL_BUILD_JOBS = BUILD_JOBS
    runner = get_runner(job["simulator"])
    {"build": _build, "test": _test}[job["action"]](runner, job)


if __name__ == "__main__":
    main()
