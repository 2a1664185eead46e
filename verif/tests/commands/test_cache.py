"""Builds are reused if and only if no dependency has changed; files of a flow, configurations, and missing tools."""

import importlib.util
import json
import re
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bitpath.golden import aie_ml_v2, tensix, trainium3
from bitpath.golden.arrays.arguments import one_of
from bitpath.golden.formats.records import to_dict
from bitpath.golden.trainium3.declarations.vector import TRAINIUM3_EXPONENTIAL, TRAINIUM3_MATMUL
from bitpath.rtl.emit import rtlil_text
from bitpath.rtl.units import UNITS, find_unit
from bitpath.sim.engine import build as building
from bitpath.sim.engine import cache, paths, tools
from bitpath.sim.engine.build import build
from bitpath.sim.engine.check import configuration
from bitpath.sim.engine.configure import PRESETS, chosen
from bitpath.sim.engine.design import PortMap
from bitpath.sim.engine.options import MissingToolError
from bitpath.sim.engine.runner import Emitter, SimulationError, run
from bitpath.verif.kit.exchange import EVERY_SECONDS, read_input, write_input, write_share
from bitpath.verif.kit.testplan import covers

TOY = Path(__file__).parent / "toy"


def test_ensure_makes_once_for_each_key(tmp_path):
    calls = []

    def make(folder):
        assert list(folder.iterdir()) == []
        (folder / "content").write_text("whole")
        calls.append(folder)
        return {"count": len(calls)}

    for key, count in (("a", 1), ("a", 1), ("b", 2), ("a", 3), ("a", 3)):
        assert cache.ensure(tmp_path / "made", {"key": key}, make) == {"count": count}


@covers("robustness.interruption")
def test_an_interrupted_making_is_thrown_away(tmp_path):
    def interrupted(folder):
        (folder / "half").write_text("")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.ensure(tmp_path / "made", {}, interrupted)
    assert (tmp_path / "made" / "half").exists()
    assert cache.ensure(tmp_path / "made", {}, lambda folder: {"left": len(list(folder.iterdir()))}) == {"left": 0}


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """Copy the toy design to a temporary folder for edits."""
    folder = tmp_path / "toy"
    shutil.copytree(TOY, folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    return folder


def build_copy(folder):
    spec = importlib.util.spec_from_file_location("toy_copy", folder / "toy_design.py")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look up their module by name.
    sys.modules["toy_copy"] = module
    spec.loader.exec_module(module)
    return build("toy", module.ToyConfig(), "icarus", emitter=Emitter(module.emit, (folder,)))


@covers("robustness.stale")
@pytest.mark.simulator
def test_a_changed_source_is_rebuilt(copy):
    assert build_copy(copy).seconds > 0
    assert build_copy(copy).seconds == 0
    design = copy / "toy_design.py"
    design.write_text(design.read_text().replace("BIAS = 0", "BIAS = 1"))
    built = build_copy(copy)
    assert built.seconds > 0
    # The edited design adds one too many, which the bench of the original detects.
    with pytest.raises(SimulationError, match="tests failed"):
        run(built, "toy_bench", tests="good", env={"PYTHONPATH": str(TOY)})


def test_an_edit_during_emission_is_not_cached(copy):
    """An edit during emission: the imported design runs, and is not cached under the edited source's key."""

    import toy_design

    def emit(unit, config, folder):
        (copy / "toy_design.py").write_text("# edited\n")
        return toy_design.emit(unit, config, folder)

    emitter = Emitter(emit, (copy,))
    for _ in range(2):
        with pytest.raises(SimulationError, match="the sources of toy have changed since the command began"):
            build("toy", toy_design.ToyConfig(), "icarus", emitter=emitter)
    assert not list(paths.simulations().glob("toy-*/verilog/stamp.json"))


@pytest.mark.simulator
def test_an_edit_that_changes_no_verilog_recompiles_nothing(copy):
    build_copy(copy)
    stamp = next(paths.simulations().glob("toy-*/icarus/stamp.json"))
    before = stamp.stat().st_mtime_ns
    design = copy / "toy_design.py"
    design.write_text(design.read_text() + "# a comment\n")
    assert build_copy(copy).seconds > 0
    assert stamp.stat().st_mtime_ns == before


@covers("robustness.stale")
@pytest.mark.simulator
def test_a_broken_build_is_never_reused(copy, monkeypatch):
    good = build_copy(copy)
    (good.folder / cache.STAMP).unlink()
    (good.folder / "sim.vvp").write_text("garbage")
    assert build_copy(copy).seconds > 0
    versions = tools.simulator_versions("icarus")
    monkeypatch.setattr(tools, "simulator_versions", lambda simulator: versions | {"iverilog": "another"})
    assert build_copy(copy).seconds > 0


@pytest.mark.simulator
def test_a_build_of_another_script_is_rebuilt(copy, monkeypatch):
    script = copy / "script.py"
    script.write_text("first")
    monkeypatch.setattr(building, "SCRIPTS", (script,))
    build_copy(copy)
    assert build_copy(copy).seconds == 0
    script.write_text("second")
    assert build_copy(copy).seconds > 0


@pytest.mark.simulator
def test_refused_verilog_is_one_clear_error(copy):
    design = copy / "toy_design.py"
    design.write_text(design.read_text().replace("file.write_text(", "file.write_text('garbage' + "))
    for _ in range(2):
        with pytest.raises(SimulationError, match=r"building toy_\w+ for icarus failed; log: build/sim/"):
            build_copy(copy)
    assert not list(paths.simulations().glob("toy-*/icarus/stamp.json"))


def test_stamps_record_what_the_build_depends_on(tmp_path):
    cache.ensure(tmp_path / "made", {"versions": {"iverilog": "11"}}, lambda folder: {})
    key = json.loads((tmp_path / "made" / cache.STAMP).read_text())["key"]
    assert key == {"versions": {"iverilog": "11"}, "folder": str(tmp_path / "made")}


# Files between a flow's process and the simulator's: programs round-trip, and progress is written.


@pytest.mark.parametrize(
    ("machine", "options"),
    [
        (trainium3, {"b_format": "mxfp4"}),
        (tensix, {"format": "bfp8"}),
        (aie_ml_v2, {"format": "mx4"}),
        (aie_ml_v2, {"format": "fp8_e5m2fnuz"}),
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


# Configuration of a unit from the command line: sizes, presets, files, and errors.


@pytest.mark.parametrize(
    ("unit", "settings"),
    [
        ("rmsnorm_quant", {"lanes": 3, "max_row_length": 384}),
        ("tensor_engine", {"rows": 8, "cols": 4}),
        ("quantize_mx", {"stages": 4}),
        ("aie_engine", {"lanes": 8}),
    ],
)
def test_sizes_are_set_wherever_they_stand(unit, settings):
    before, after = (json.dumps(to_dict(chosen(unit, **given))) for given in ({}, settings))
    assert before != after
    assert all(f'"{name}": {value}' in after for name, value in settings.items())


@pytest.mark.parametrize("unit", [name for name, unit in UNITS.items() if hasattr(unit.config_type(), "pipeline")])
def test_a_pipeline_has_a_clock_by_default(unit):
    """Without settings a command takes a datapath with registers, which has an Fmax; --stages 0 makes it combinational."""
    assert re.search(r"^ *wire .*\\clk$", rtlil_text(UNITS[unit].build(chosen(unit)), "unit")[0], re.MULTILINE)
    assert chosen(unit, stages=0).pipeline.stages == 0


@pytest.mark.parametrize(("clocked", "stages"), [(True, 2), (False, 0)])
def test_a_checked_design_without_a_clock_is_combinational(clocked, stages):
    design = SimpleNamespace(ports={"clk": None} if clocked else {})
    assert configuration("quad_mx_dot", design, PortMap(), {}).pipeline.stages == stages
    assert configuration("quad_mx_dot", design, PortMap(), {"stages": 1}).pipeline.stages == 1
    assert configuration("quad_mx_pe", design, PortMap(), {}).pipeline.stages == 0


@pytest.mark.parametrize(
    ("unit", "preset"), [("bf16_pe", TRAINIUM3_MATMUL), ("exponential", TRAINIUM3_EXPONENTIAL)], ids=["matmul", "exp"]
)
def test_a_preset_of_the_vector_side(unit, preset):
    assert chosen(unit, preset=preset.name).numerics == preset.numerics


def test_a_file_gives_the_same_as_the_settings(tmp_path):
    config = chosen("rmsnorm_quant", lanes=5, max_row_length=100)
    file = tmp_path / "config.json"
    file.write_text(json.dumps(to_dict(config)))
    assert chosen("rmsnorm_quant", config=file, lanes=None) == config
    assert config != find_unit("rmsnorm_quant").config_type()


@covers("robustness.configurations")
@pytest.mark.parametrize(
    ("unit", "settings", "says"),
    [
        ("exponential", {"preset": "x"}, f"preset must be {one_of(map(repr, PRESETS))}, not 'x'"),
        ("exponential", {"preset": "trainium3_matmul"}, "preset 'trainium3_matmul' is not one for unit 'exponential'"),
        ("rmsnorm_quant", {"preset": "trainium3_matmul"}, "unit 'rmsnorm_quant' has no preset"),
        ("xorwow", {"rows": 2}, "unit 'xorwow' has no rows"),
        ("rmsnorm_quant", {"max_row_length": 16385}, "max_row_length must be 1 to 16384, not 16385"),
        ("xorwow", {"config": "file.json", "lanes": 2}, "--config holds the whole configuration"),
    ],
)
def test_a_mistake_is_a_sentence(unit, settings, says):
    with pytest.raises(ValueError, match=says):
        chosen(unit, **settings)


# A missing tool gives a one-sentence error with the command that installs it.


@pytest.mark.parametrize(
    ("simulator", "missing", "says"),
    [
        ("icarus", {"iverilog", "vvp"}, "iverilog, vvp not found; run: sudo apt-get install iverilog"),
        ("verilator", {"g++", "make", "perl"}, "g++, make, perl not found; run: sudo apt-get install g++ make perl"),
    ],
)
def test_missing_programs_are_one_line_with_their_packages(monkeypatch, simulator, missing, says):
    monkeypatch.setattr(tools, "find", lambda name: None if name in missing else name)
    with pytest.raises(MissingToolError, match=f"^{re.escape(says)}$"):
        tools.require_simulator(simulator)


def test_a_python_without_shared_library_says_so(monkeypatch):
    monkeypatch.setattr(tools, "find", lambda name: name)
    monkeypatch.setattr(tools, "libpython", lambda: None)
    with pytest.raises(MissingToolError, match=r"sudo apt-get install libpython3\.11"):
        tools.require_simulator("icarus")


def test_an_unknown_simulator_is_named():
    with pytest.raises(ValueError, match="simulator must be 'icarus' or 'verilator', not 'vcs'"):
        tools.require_simulator("vcs")


@covers("robustness.paths", "The build fails after minutes, in words of make or the shell")
@pytest.mark.parametrize("character", ['"', "\n", "\t", " ", "#", ";", ":"])
def test_a_folder_where_a_build_would_fail_is_refused_at_once(tmp_path, monkeypatch, character):
    """Working folders and environments whose paths hold characters with which a build fails."""
    folder = tmp_path / f"a{character}b"
    folder.mkdir()
    monkeypatch.chdir(folder)
    says = (
        f"^the path .* has {re.escape(repr(character))}, where a build by verilator fails; use a path of ASCII letters"
    )
    with pytest.raises(ValueError, match=says):
        build("element_map", None, "verilator")


@covers("robustness.paths")
@pytest.mark.parametrize("character", "$'%(&*`|\\é #")
def test_an_environment_where_verilator_would_fail_is_refused(character):
    tools.require_plain("icarus", Path("build"), Path(f"a{character}b"))
    with pytest.raises(ValueError, match=f"has {re.escape(repr(character))}, where a build by verilator fails"):
        tools.require_plain("verilator", Path("build"), Path(f"a{character}b"))


@covers("robustness.paths")
def test_a_path_where_builds_do_not_fail_is_taken():
    tools.require_plain("icarus", Path("a #;:b"), Path("a"))
    tools.require_plain("verilator", Path("a$%'&()é`|\\b"), Path("a+,=@~-_.9"))
    with pytest.raises(ValueError, match=r"has '\"', where a build by icarus fails"):
        tools.require_plain("icarus", Path('a"b'), Path("a"))


def test_the_versions_are_those_of_the_tools_that_run():
    assert "rev" in tools.version("verilator") or "Verilator" in tools.version("verilator")
    assert set(tools.simulator_versions("verilator")) == {"verilator", "g++", "cocotb", "python", "prefix"}
