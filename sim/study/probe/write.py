"""Writes a probe's folder: operands, predictions of every variant, and the script that runs on the device."""

import json
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

from bitpath.rtl.common.files import write_whole
from bitpath.sim.study.probe.identify import as_hex, predict
from bitpath.sim.study.probe.machines import operations_of
from bitpath.sim.study.probe.probe import RESULT, Probe, save
from bitpath.sim.study.probe.unit import count

SCRIPTS = {
    "trainium3": {"device.py": "trainium3.py.jinja"},
    "tensix": {"device.cpp": "tensix.cpp.jinja", "collect.py": "collect.py.jinja"},
    "aie_ml_v2": {"device.cpp": "aie_ml_v2.cpp.jinja", "collect.py": "collect.py.jinja"},
}
"""Files of each machine, and the templates that they are filled in from."""


def write(probe: Probe, folder: Path) -> list[Path]:
    """Write probe.npz, predictions.json and the scripts; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    save(probe, folder / "probe.npz")
    write_whole(folder / "predictions.json", json.dumps(predicted(probe), indent=1) + "\n")
    scripts = [folder / name for name in SCRIPTS[probe.machine]]
    for script in scripts:
        write_whole(script, text(probe, SCRIPTS[probe.machine][script.name]))
    return [folder / "probe.npz", folder / "predictions.json", *scripts]


def predicted(probe: Probe) -> dict[str, Any]:
    """Return the raw words of every variant in hexadecimal, by unit, variant, operation and dot."""
    units = {
        each.unit.name: {
            variant.name: {name: [as_hex(dot) for dot in own] for name, own in words.items()}
            for group, words in each.classes
            for variant in group
        }
        for each in predict(probe, list(probe.dots))
    }
    return {"machine": probe.machine, "digest": probe.digest, "units": units}


def text(probe: Probe, template: str) -> str:
    """Return a filled-in template of this folder."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["c_array"] = c_array
    operations = {name: each for name, each in operations_of(probe.machine).items() if name in probe.dots}
    return environment.get_template(template).render(probe=probe, operations=operations, count=count, result=RESULT)


def c_array(array: np.ndarray) -> str:
    """Return the braces of a C array of any shape."""
    if array.ndim == 0:
        return hex(int(array)) if array.dtype.kind == "u" else str(int(array))
    return "{" + ", ".join(c_array(each) for each in array) + "}"
