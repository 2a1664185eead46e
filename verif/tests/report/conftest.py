"""Runs as ``bitpath run`` keeps them, written without a simulation."""

import json

import numpy as np
import pytest

from bitpath.sim.flows import history
from bitpath.sim.flows.outcome import result_map


@pytest.fixture
def record():
    """Return a function that makes the record of a format: a result [80, 40] with the given outputs a few ulp off."""

    def make(format_name="bf16_lofi", wrong=(), **fields):
        golden = np.random.default_rng(1).standard_normal((80, 40)).astype(np.float32)
        rtl = golden.copy()
        for place in wrong:
            rtl.view(np.uint32)[place] += 3
        return {
            "machine": "tensix",
            "flow": "matmul",
            "format": format_name,
            "config": {"shape": [80, 16, 40]},
            "sim": "icarus",
            "outputs_compared": rtl.size,
            "mismatches": len(wrong),
            "cycles": 1000,
            "mac_per_cycle": 51.2,
            "peak_mac_per_cycle": 128.0,
            "wall_seconds": 1.5,
            "sqnr_db": 30.25,
            "map": result_map(rtl, golden, rtl, golden.astype(np.float64) * 1.01),
            "report": "first mismatch: tensix <bf16_lofi>" if wrong else "",
        } | fields

    return make


@pytest.fixture
def keep(elsewhere):
    """Return a function that writes a kept run of a day in November 2100, after every source and returns its file."""

    def write(day, records, **fields):
        run = {
            "began": f"2100-11-{day:02}T10:20:30.000001+00:00",
            "command": f"bitpath run --day {day}",
            "commit": "0123456789ab",
            "formats": len(records),
            "wall_seconds": 2.5,
            "records": records,
        }
        history.folder().mkdir(parents=True, exist_ok=True)
        file = history.folder() / f"210011{day:02}T102030.000001Z.json"
        file.write_text(json.dumps(run | fields))
        return file

    return write
