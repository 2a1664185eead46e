"""Emits a property as RTLIL in a separate process, since a sabotage must be in place before the RTL is imported.

Run as ``python -m bitpath.sim.campaigns.formal.emission JOB``, a JSON file with ``name``, ``sabotage`` or null, and ``design``, the
file to write.
"""

import json
import sys
from pathlib import Path
from typing import Any

from bitpath.sim.campaigns.formal.sabotage import install

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
