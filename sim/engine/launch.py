"""``python -m bitpath.sim.engine.launch JOB.json``: one call of cocotb's runner, in a process of its own.

Of its own, so that a time limit can end it together with the simulator that it started, and because cocotb's runner
takes its settings from the process environment and leaves through ``sys.exit``.
"""

import json
import sys
from pathlib import Path
from typing import Any

import cocotb_tools.runner
from cocotb_tools.runner import get_runner

BUILD_JOBS = 2
"""Compiler processes at once: two cores, and memory below 4 GiB."""


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
    """Do the job that the file named on the command line describes."""
    job = json.loads(Path(sys.argv[1]).read_text())
    cocotb_tools.runner.MAX_PARALLEL_BUILD_JOBS = BUILD_JOBS
    runner = get_runner(job["simulator"])
    {"build": _build, "test": _test}[job["action"]](runner, job)


if __name__ == "__main__":
    main()
