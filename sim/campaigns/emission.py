"""Emits a property as RTLIL in a separate process, since a sabotage must be in place before the RTL is imported.

Run as ``python -m bitpath.sim.campaigns.emission JOB``, a JSON file with ``name``, ``sabotage`` or null, and ``design``, the
file to write.
"""

import json
import sys
from pathlib import Path
from typing import Any

from bitpath.sim.engine.imports import Replaced, module_file

# Replaces one piece of the RTL's source text before the RTL is imported.


PACKAGE = "bitpath.rtl"


def changed_source(file: str, old: str, new: str) -> str:
    """Return the text of a file below ``rtl/`` with one piece replaced; raise ValueError unless it occurs once."""
    text = (_folder() / file).read_text()
    count = text.count(old)
    if count != 1 or old == new:
        raise ValueError(
            f"sabotage: rtl/{file} has {old!r} {count} times; it is to be replaced once, by something else"
        )
    return text.replace(old, new)


def _folder() -> Path:
    return module_file(PACKAGE).parent


def install(file: str, old: str, new: str) -> None:
    """Have this process import the changed file; nothing may have imported it before."""
    name = ".".join((PACKAGE, *Path(file).with_suffix("").parts))
    if name in sys.modules:
        raise RuntimeError(f"{name} is there already")
    sys.meta_path.insert(0, Replaced(name, changed_source(file, old, new)))


TOP = "property"


def emit(job: dict[str, Any]) -> None:
    """Write the design of a job."""
    if job["sabotage"] is not None:
        install(**job["sabotage"])

    from amaranth.back import rtlil

    from bitpath.verif.formal.claim import Claim
    from bitpath.verif.formal.property import Engine
    from bitpath.verif.properties import PROPERTIES

    found = PROPERTIES[job["name"]]
    claim = Claim()
    found.state(claim)
    module, ports = claim.finish(asserted=found.engine is Engine.INDUCTION)
    text = rtlil.convert(module, name=TOP, ports={name: (value, None) for name, value in ports.items()}, emit_src=False)
    Path(job["design"]).write_text(text)


if __name__ == "__main__":
    emit(json.loads(Path(sys.argv[1]).read_text()))
