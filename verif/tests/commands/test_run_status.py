"""The exit status of ``bitpath run``, and what it prints and keeps, for runs that nobody simulated."""

import json

import numpy as np
import pytest

from bitpath.sim.commands import run as command
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.flows import aie_ml_v2_matmul
from bitpath.sim.flows.history import kept_runs
from bitpath.sim.flows.machines import RECORDS
from bitpath.sim.flows.outcome import COLUMNS, FlowRun, Outcome
from bitpath.verif.kit.mismatches import Shown

SIZE = 512
FIELDS = {"flow": "matmul", "sim": "icarus", "config": {}}


class Ready(FlowRun):
    """A run whose result is known: its first outputs differ."""

    machine, flow, simulator, parts = "tensix", "matmul", "icarus", ()

    def __init__(self, wrong):
        self.wrong, self.format_name = wrong, f"format{wrong}"

    def compare(self, console, builds):
        if self.wrong is None:
            raise SimulationError("no result came")
        assert console.stderr  # progress is no result
        golden = np.zeros(SIZE, np.uint32)
        rtl = golden.copy()
        rtl[: self.wrong] = 1
        own = {"machine": self.machine, "format": self.format_name, "outputs_compared": SIZE, "mismatches": self.wrong}
        return Outcome(rtl, golden, dict.fromkeys(COLUMNS, 0) | FIELDS | own, kept={"map": {}})

    def shown(self, *place):
        return Shown()


@pytest.fixture
def run(bitpath, monkeypatch):
    """Run formats with these numbers of wrong outputs; a format of None fails. Return status, stdout and stderr."""

    def call(*wrong, options=()):
        monkeypatch.setattr(command, "_runs", lambda **_: [Ready(each) for each in wrong])
        return bitpath("run", *options)

    return call


@pytest.mark.parametrize("wrong", [(0,), (1,), (256,), (0, 0), (0, 1), (1, 0), (128, 128), (0, 512, 0)])
def test_one_wrong_bit_of_any_format_fails(run, wrong, tmp_path):
    status, out, err = run(*wrong, options=["--json"])
    assert status == any(wrong)
    records = json.loads(out)
    assert [each["mismatches"] for each in records] == list(wrong)
    assert json.loads((tmp_path / "build" / "reports" / "run.json").read_text()) == records
    assert err.count("first mismatch: ") == sum(each > 0 for each in wrong)
    (kept,) = kept_runs([])
    assert (kept.mismatches, kept.compared, kept.formats) == (sum(wrong), SIZE * len(wrong), len(wrong))
    assert [bool(each["report"]) for each in kept.records] == [each > 0 for each in wrong]
    assert [each["map"] for each in kept.records] == [{}] * len(wrong)


def test_the_headings_stand_above_the_first_row(run):
    _, out, _ = run(0, 0)
    words = out.split()
    assert (words.count("machine"), words.count("tensix")) == (1, 2)
    assert words.index("machine") < words.index("tensix")


def test_quiet_prints_mismatches_alone(run):
    assert run(0, 0, options=["--quiet"]) == (0, "", "")
    status, out, _ = run(0, 2, options=["--quiet"])
    assert status == 1
    assert out.startswith("first mismatch: tensix format2 on icarus, [0]\n")


def test_results_of_earlier_formats_stay(run):
    status, out, err = run(1, None, 0, options=["--json"])
    assert status == 1
    assert err.endswith("bitpath: no result came\n")
    assert [each["mismatches"] for each in json.loads(out)] == [1]
    (kept,) = kept_runs([])
    assert (kept.mismatches, len(kept.records), kept.formats) == (1, 1, 3)


@pytest.mark.parametrize("wrong", [0, 3])
def test_the_results_of_one_format_are_saved(run, wrong, tmp_path):
    assert run(wrong, options=["-o", "out.npz"])[0] == (wrong > 0)
    with np.load(tmp_path / "out.npz") as saved:
        assert saved["result"].sum() == wrong
        assert not saved["golden"].any()


def test_the_results_of_two_formats_are_not(run, tmp_path):
    status, out, err = run(0, 0, options=["-o", "out.npz"])
    assert (status, out) == (2, "")
    assert err == "bitpath: -o takes the results of one format; name it with --format\n"
    assert not list(tmp_path.iterdir())


def test_every_flow_of_a_machine_is_an_option():
    flows = [name for each in RECORDS.values() for name in each.flows]
    assert sorted(command.FLOWS) == sorted(["matmul", *flows])


def test_the_words_of_options():
    """A switch is a word alone; what was not given is none."""
    given = {"a": None, "quant_only": True, "in_scale": 0.5, "slice": "2x4"}
    assert command._options(given) == ["--quant-only", "--in-scale", "0.5", "--slice", "2x4"]


@pytest.mark.parametrize("simulator", ["icarus", "verilator"])
def test_the_slow_simulator_takes_a_slice_of_the_layer(simulator):
    none = dict.fromkeys(("scale_rule", "slice_", "a", "b"))
    (run,) = command._runs(
        flow="matmul",
        machine="aie_ml_v2",
        format_name="mx9",
        simulator=simulator,
        waves=False,
        rmsnorm={},
        switches={},
        **none,
    )
    wanted = aie_ml_v2_matmul.SLICES.get(simulator)
    assert run.matrices == ([] if wanted is None else ["--slice", wanted])
    assert (simulator == "icarus") is (wanted is not None)
