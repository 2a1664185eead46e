"""Files between a flow's process and the simulator's: programs round-trip, and progress is written."""

import json

import numpy as np
import pytest

from bitpath.golden import aie_ml_v2, tensix, trainium3
from bitpath.verif.kit.exchange import EVERY_SECONDS, read_input, write_input, write_share


@pytest.mark.parametrize(
    ("machine", "options"),
    [
        (trainium3, {"b_format": "mxfp4"}),
        (tensix, {"fmt": "bfp8"}),
        (aie_ml_v2, {"fmt": "mx4"}),
        (aie_ml_v2, {"fmt": "fp8_e5m2fnuz"}),
    ],
)
def test_golden_executes_the_program_that_the_bench_reads(machine, options, tmp_path, monkeypatch):
    rng = np.random.default_rng(3)
    matrices = (rng.standard_normal(shape, dtype=np.float32) for shape in ((40, 70), (70, 33)))
    program = machine.matmul_program(*matrices, **options)
    monkeypatch.setenv("BITPATH_INPUT", str(write_input(tmp_path, program)["BITPATH_INPUT"]))
    assert np.array_equal(machine.run_program(read_input()), machine.run_plan(program))


def test_the_last_share_is_always_written(tmp_path, monkeypatch):
    now = 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    path, shown = tmp_path / "share.json", []
    for share, later in ((0.25, 0.0), (0.5, EVERY_SECONDS / 2), (0.75, EVERY_SECONDS), (1.0, 0.0), (1.5, 0.0)):
        now += later
        write_share(path, share)
        shown.append(json.loads(path.read_text()))
    assert shown == [0.25, 0.25, 0.75, 1.0, 1.0]
