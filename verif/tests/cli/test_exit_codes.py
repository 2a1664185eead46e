"""Exit codes of the commands, and what they print with --json and --quiet."""

import gc
import json
import re
from types import SimpleNamespace

import pytest

from bitpath.rtl.units import UNITS
from bitpath.sim.engine import runner, tools
from bitpath.sim.engine.options import EXIT_CODES, MissingToolError, SimulationError
from bitpath.sim.flows import builds, matmul
from bitpath.sim.flows.outcome import COLUMNS, Outcome
from bitpath.sim.study import waves

pytestmark = pytest.mark.filterwarnings("ignore::amaranth.hdl.UnusedElaboratable")
WORDS = {"machine": "tensix", "format": "bf16_lofi", "sim": "verilator"}
SMALL = ["run", "--machine", "tensix", "--format", "bf16_lofi", "--slice", "2x32x2"]


@pytest.fixture
def fake_run(monkeypatch):
    """Return a function that replaces simulation and golden by results with some mismatches."""

    def install(mismatches):
        def compare(self, *_):
            golden = self.golden()[:2, :2]
            rtl = golden.copy()
            rtl.view("u4").ravel()[:mismatches] ^= 1
            return Outcome(rtl, golden, dict.fromkeys(COLUMNS, 0) | WORDS | {"mismatches": mismatches})

        monkeypatch.setattr(matmul.MatmulRun, "compare", compare)

    return install


def outputs(bitpath, *line):
    """Return status, stdout and stderr without an option, with --json, --quiet and both."""
    return [bitpath(*line, *options) for options in ((), ("--json",), ("--quiet",), ("--json", "--quiet"))]


def test_run_without_a_mismatch(bitpath, fake_run):
    fake_run(0)
    text, as_json, quiet, both = outputs(bitpath, *SMALL)
    assert [each[0] for each in (text, as_json, quiet, both)] == [0] * 4
    assert re.search(r"machine +format .*\ntensix +bf16_lofi +verilator", text[1])
    assert json.loads(as_json[1])[0]["mismatches"] == 0
    assert both[1] == as_json[1]
    assert quiet[1:] == ("", "")


def test_run_with_a_mismatch(bitpath, fake_run):
    fake_run(2)
    text, as_json, quiet, both = outputs(bitpath, *SMALL)
    assert [each[0] for each in (text, as_json, quiet, both)] == [1] * 4
    assert json.loads(as_json[1])[0]["mismatches"] == 2
    assert json.loads(both[1])[0]["mismatches"] == 2
    assert text[1].endswith(quiet[1])
    for failure in (quiet[1], as_json[2], both[2]):
        assert "tensix bf16_lofi on verilator, [0, 0]\n" in failure


def test_run_of_a_build_that_fails(bitpath, monkeypatch):
    def build(*_, **__):
        raise SimulationError("no compiler likes it")

    monkeypatch.setattr(builds, "build", build)
    assert bitpath(*SMALL) == (1, "", "bitpath: no compiler likes it\n")


@pytest.fixture
def fake_bench(monkeypatch, tmp_path):
    """Return a function that replaces build and bench of `bitpath self test-sim`; an error is raised in the bench's place."""
    built = SimpleNamespace(top="dot16_0", seconds=1.5)

    def install(error=None):
        def run(*_, seed, folder, **__):
            (folder / "run.json").write_text(json.dumps({"unit": "dot16", "seed": seed}))
            if error:
                raise error
            return runner.SimResult(tmp_path, seed, ("a",), 7, (), None, 0.5)

        monkeypatch.setattr(runner, "build", lambda unit, config, simulator, waves: built)
        monkeypatch.setattr(runner, "new_folder", lambda _: tmp_path)
        monkeypatch.setattr(runner, "run", run)

    return install


def test_test_sim_of_a_bench_that_passes(bitpath, fake_bench):
    fake_bench()
    text, as_json, quiet, both = outputs(bitpath, "test-sim", "dot16", "--seed", "3")
    assert text[:2] == (
        0,
        "dot16_0 on verilator: built in 1.5 s\n1 tests passed, 7 values compared, seed 3, 0.5 s\nlog: run.log\n",
    )
    assert (as_json[0], as_json[2], both) == (0, "", as_json)
    assert json.loads(as_json[1]).items() > {"unit": "dot16", "seed": 3, "wave": None}.items()
    assert quiet == (0, "", "")


def test_test_sim_of_a_bench_that_fails(bitpath, fake_bench):
    fake_bench(SimulationError("1 of 1 tests failed"))
    text, as_json, quiet, both = outputs(bitpath, "test-sim", "dot16", "--seed", "3")
    assert text[0] == 1
    assert [each[::2] for each in (as_json, quiet, both)] == [(1, "bitpath: 1 of 1 tests failed\n")] * 3
    assert (quiet[1], both[1]) == ("", as_json[1])
    assert json.loads(as_json[1]).items() > {"unit": "dot16", "seed": 3, "wave": None}.items()


def test_report_strict(bitpath):
    """Without results no item has passed."""
    status, out, err = bitpath("report", "--strict", "--json", "--quiet")
    assert status == 1
    assert {record["status"] for record in json.loads(out)} == {"not run"}
    assert re.fullmatch(r"testplan items: not run\n", err)


@pytest.mark.parametrize(
    "line",
    [
        ("explain", "trainium3", "--stationary", "1,1,1,1", "--moving", "1,1,1,1"),
        ("explain", "trainium3", "--output", "0,0", "--slice", "1x32x1"),
        ("explain", "tensix", "--src-a", "1", "--src-b", "2"),
        ("explain", "aie_ml_v2", "--x", "1", "--y", "2", "--format", "bf16"),
        ("numerics",),
        ("units",),
        ("units", "dot16"),
    ],
    ids=" ".join,
)
def test_commands_that_only_print(bitpath, line):
    text, as_json, quiet, both = outputs(bitpath, *line)
    assert text[0] == as_json[0] == 0
    assert text[1]
    assert json.loads(as_json[1])
    assert both == as_json
    assert quiet == (0, "", "")
    assert {text[2], as_json[2]} == {""}
    gc.collect()  # components that were made for their ports alone


def test_explained_json_has_every_step(bitpath):
    _, out, _ = bitpath("explain", "tensix", "--src-a", "1", "--src-b", "2", "--fidelity", "HiFi2", "--json")
    assert [(each["name"], each["result"]) for each in json.loads(out)] == [
        ("phase 0", 0x40000000),
        ("phase 1", 0x40000000),
    ]


def test_every_unit_has_its_configuration_and_its_ports(bitpath):
    units = {each["name"]: each for each in json.loads(bitpath("units", "--json")[1])}
    assert units.keys() == UNITS.keys()
    fields = {each["field"]: each for each in units["systolic_array"]["configuration"]}
    assert (fields["rows"]["default"], fields["rows"]["meaning"]) == (
        4,
        "PEs down and across; powers of two from 2 to 128.",
    )
    assert "trainium3_quad_mx_aligned" in fields["dot.numerics"]["allowed"]
    ports = json.loads(bitpath("units", "fidelity_multiplier", "--json")[1])["ports"]
    assert {each["direction"] for each in ports} == {"input", "output"}
    assert all(each["meaning"] for unit in units.values() for each in unit["configuration"])
    gc.collect()


@pytest.mark.parametrize(
    "line",
    [
        "run --slice 0x1x1",
        "run --a missing.npy --b missing.npy",
        "test-sim nosuch",
        "test-sim dot16 --preset nosuch",
        "explain tensix",
        "emit nosuch --out out",
        "export-c tensix -o out --preset nosuch",
        "waves dot16 --no-open",
        "waves nosuch",
        "numerics more",
        "units nosuch",
        "report --nosuch",
        "probe nosuch",
        "probe tensix --fields nosuch",
        "identify missing.npz",
        "nki missing.py:kernel",
        "synth nosuch",
        "tools --need nosuch",
    ],
)
@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_usage_and_bad_input(bitpath, tmp_path, line, options):
    status, out, err = bitpath(*line.split(), *options)
    assert (status, out) == (2, "")
    assert re.fullmatch("bitpath: .*\n", err)


@pytest.mark.parametrize(
    "line", ["run --slice 2x128x2", "test-sim dot16", "tools --need verilator", "export-c tensix -o out --shared"]
)
def test_a_missing_tool(bitpath, monkeypatch, line):
    def lacks(*names):
        raise MissingToolError("it is not here; run: install it")

    monkeypatch.setattr(tools, "require", lacks)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    status, _, err = bitpath(*line.split())
    assert status == 3
    assert err.startswith("bitpath: ")


def test_gtkwave_is_missing(bitpath, monkeypatch, tmp_path):
    monkeypatch.setattr(tools, "find", lambda name: None)
    monkeypatch.setattr(waves, "write_save_file", lambda unit, wave: wave)
    wave = tmp_path / "build" / "runs" / "dot16-00000000" / "run" / runner.WAVE
    wave.parent.mkdir(parents=True)
    wave.touch()
    assert bitpath("waves", "dot16")[0] == 3


def test_emit_and_export_succeed(bitpath, tmp_path):
    assert bitpath("emit", "fidelity_multiplier", "--out", "verilog")[0] == 0
    assert bitpath("export-c", "tensix", "-o", "c")[0] == 0


def test_the_help_explains_every_code(bitpath):
    _, out, _ = bitpath("-h")
    shown = " ".join(out.split())
    assert all(f" {code} {meaning}" in shown for code, meaning in EXIT_CODES.items())
