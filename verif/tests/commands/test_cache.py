"""Builds are reused if and only if no dependency has changed."""

import importlib.util
import json
import shutil
import sys
from pathlib import Path

import pytest

from bitpath.sim.engine import build as building
from bitpath.sim.engine import cache, paths, tools
from bitpath.sim.engine.runner import Emitter, SimulationError, build, run
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
