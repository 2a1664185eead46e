"""Measurement of an engine's simulation speed: the bare loop does the same work, and nothing is built twice."""

import json

import numpy as np
import pytest

from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.engine.runner import build
from bitpath.sim.flows import trainium3_matmul
from bitpath.sim.study import bench_simulation

SMALL = trainium3_matmul.engine_for("verilator", rows=4, cols=4)
"""Configuration that shares a build with verif/trainium3/engine/test_tensor_engine.py."""
RECORD = {"name": str, "machine": str, "value": int, "unit": str, "cores": int, "config": dict}


@pytest.mark.simulator
def test_the_bare_loop_gives_the_answers_of_the_recorded_run(monkeypatch):
    folders = []
    compiled = bench_simulation._compile
    monkeypatch.setattr(
        bench_simulation, "_compile", lambda built, folder: folders.append(folder) or compiled(built, folder)
    )
    records = list(bench_simulation.simulation_records("tensor_engine", engine=SMALL, slice_="2x128x8", rounds=1))
    assert len(records) == 3
    for record in records:
        assert {name: type(record[name]) for name in RECORD} == RECORD
        assert record["value"] > 0
        assert set(record) == {*RECORD, "ratio", "ratio_to", "target"}
    cocotb, whole, bare = records
    assert cocotb["ratio"] == pytest.approx(cocotb["value"] / bare["value"], abs=0.01)
    assert whole["value"] < cocotb["value"]
    assert bare["ratio"] is None
    # The next run reuses the build.
    assert build("tensor_engine", SMALL, "verilator").seconds == 0.0
    assert not folders[0].exists()


@pytest.mark.deep
@pytest.mark.simulator
def test_another_answer_is_noticed(monkeypatch):
    """A changed answer in the recording must be detected by the loop."""
    compiled = bench_simulation._compile

    def spoil(built, folder):
        with np.load(folder / "stimulus.npz") as file:
            content = dict(file)
        content["answers"] = content["answers"] ^ np.uint32(1)
        np.savez(folder / "stimulus.npz", **content)
        return compiled(built, folder)

    monkeypatch.setattr(bench_simulation, "_compile", spoil)
    with pytest.raises(SimulationError, match=r'other answers than the run that was recorded: \{"seconds"'):
        list(bench_simulation.simulation_records("tensor_engine", engine=SMALL, slice_="2x128x2", rounds=1))


def test_only_engines_run_layers():
    with pytest.raises(
        ValueError, match=r"'psum' has no whole layer to run; those that have are tensor_engine, tensix_"
    ):
        next(bench_simulation.simulation_records("psum", rounds=1))


def test_the_table_of_ports_names_verilators_variables():
    meta = {"ports": [{"name": "rst", "bits": 1}, {"name": "write__payload", "bits": 65}], "answer_bits": 33}
    table = bench_simulation._port_table(json.loads(json.dumps(meta)))
    assert "{&top->rst, sizeof top->rst, 1}," in table
    assert "{&top->write___05Fpayload, sizeof top->write___05Fpayload, 3}," in table
    assert "ANSWER_WORDS = 2," in table
