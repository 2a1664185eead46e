"""The outcome of a run and its record, and the player of its bench, on arrays and simulations that are made up."""

from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from bitpath.sim.engine import paths
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.flows import outcome
from bitpath.sim.flows.outcome import FlowRun, Outcome, result_map
from bitpath.verif.kit.exchange import read_input
from bitpath.verif.kit.scoreboard import FIRST_MISMATCH


@dataclass(frozen=True)
class Engine:
    rows: int = 4


class Run(FlowRun):
    machine, flow, format_name, engine, simulator = "tensix", "matmul", "bf16", Engine(), "icarus"

    def settings(self):
        return {"fidelity": "HiFi2"}

    def values(self, rtl):
        return rtl.view(np.float32)

    def reference(self):
        return np.ones((2, 3))


BUILT = SimpleNamespace(unit="dot16", top="dot16_x", digest="0123", seconds=1.2345)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv(paths.VARIABLE, str(tmp_path / "new" / "build"))


@pytest.fixture
def folder():
    made = paths.build_root() / "runs" / "dot16" / "now"
    made.mkdir(parents=True)
    return made


def compared(monkeypatch, folder, wrong=(), times=None):
    golden = np.ones((2, 3), np.float32).view(np.uint32)
    rtl = golden.copy()
    for place in wrong:
        rtl[place] ^= 1 << 22
    monkeypatch.setattr(outcome.time, "monotonic", lambda: 17.5061)
    found = outcome.compared(Run(), BUILT, rtl, golden, 10.0, (2, 8, 3), folder, times=times, cycles=7)
    return found, rtl, golden


@pytest.mark.parametrize("wrong", [(), ((0, 0),), ((1, 2),), ((0, 2), (1, 0))])
def test_the_record_of_a_run(monkeypatch, folder, wrong):
    found, rtl, golden = compared(monkeypatch, folder, wrong)
    numbers = rtl.view(np.float32)
    sqnr = round(float(10 * np.log10(6 / np.square(numbers - 1.0).sum())), 2) if wrong else None
    assert found.record == {
        "machine": "tensix",
        "flow": "matmul",
        "format": "bf16",
        "config": {"rows": 4, "fidelity": "HiFi2", "shape": [2, 8, 3]},
        "digest": "0123",
        "sim": "icarus",
        "outputs_compared": 6,
        "mismatches": len(wrong),
        "cycles": 7,
        "wall_seconds": 7.51,
        "build_seconds": 1.23,
        "sqnr_db": sqnr,
        "max_rel_error": 0.5 if wrong else 0.0,
    }
    assert list(found.record)[-4:-2] == ["wall_seconds", "build_seconds"]
    assert found.kept == {"map": result_map(rtl, golden, numbers, np.ones((2, 3))), "folder": "runs/dot16/now"}
    assert found.first == (wrong[0] if wrong else None)
    assert (found.rtl is rtl, found.golden is golden, found.times) == (True, True, None)
    assert not list(folder.iterdir())


def test_the_time_of_the_first_mismatch_is_kept_for_its_wave(monkeypatch, folder):
    times = 1000 * np.arange(6).reshape(2, 3)
    compared(monkeypatch, folder, (), times)
    assert not list(folder.iterdir())
    found, _, _ = compared(monkeypatch, folder, ((1, 0), (1, 2)), times)
    assert (folder / FIRST_MISMATCH).read_text() == "3000\n"
    assert found.times is times
    (folder / FIRST_MISMATCH).unlink()
    found, _, _ = compared(monkeypatch, None, ((1, 0),), times)
    assert list(found.kept) == ["map"]
    assert not list(folder.iterdir())


def test_bits_are_compared_and_not_numbers():
    zeros = np.zeros(3, np.float16)
    assert outcome.differences(-zeros, zeros) == 3
    assert outcome.differences(zeros * np.nan, zeros * np.nan) == 0
    assert outcome.codes(-zeros).tolist() == [0x8000] * 3
    assert Outcome(-zeros, zeros, {}).first == (0,)
    assert Outcome(zeros, zeros, {}).kept == {}


@pytest.fixture
def played(monkeypatch):
    """Play on a made-up simulation, which leaves these cycles and this wave."""
    calls = []

    def play(cycles, wave=None):
        def run(built, bench, **settings):
            env = settings.pop("env")
            monkeypatch.setenv("BITPATH_INPUT", env["BITPATH_INPUT"])
            calls.append((built, bench, settings, read_input(), Path(env["BITPATH_INPUT"]).parent))
            assert set(env) == {"BITPATH_INPUT", "BITPATH_RESULT", "BITPATH_PROGRESS"}
            np.savez(env["BITPATH_RESULT"], cycles=cycles, words=np.arange(3))
            return SimpleNamespace(wave=wave, folder=Path("there"))

        monkeypatch.setattr(outcome, "run", run)
        console = Console(file=StringIO(), width=40)
        return outcome.play(console, BUILT, "tb_x_run", "bf16", {"a": 1}), console.file.getvalue()

    return play, calls


def test_a_bench_plays_its_content(played):
    play, calls = played
    left, said = play(5)
    assert (int(left["cycles"]), left["words"].tolist(), left["folder"]) == (5, [0, 1, 2], Path("there"))
    ((built, bench, settings, content, folder),) = calls
    assert (built, bench, content) == (BUILT, "tb_x_run", {"a": 1})
    assert settings == {"seed": 0, "min_compared": 0, "timeout": outcome.RUN_SECONDS}
    assert outcome.RUN_SECONDS == 3600
    assert folder.parent == paths.runs()
    assert folder.name.startswith("play-")
    assert not folder.exists()
    assert "wave" not in said
    # The folder of all runs is there now.
    assert int(play(6)[0]["cycles"]) == 6


def test_a_wave_is_named_with_its_viewer_on_one_line(played):
    wave = paths.build_root() / "runs" / "dot16" / "wave.fst"
    _, said = played[0](5, wave)
    assert f"wave: {paths.shown(wave)}; bitpath waves dot16 opens it\n" in said


def test_a_unit_that_was_never_busy_is_an_error(played):
    with pytest.raises(SimulationError, match="dot16_x was never busy: it did not take the instructions"):
        played[0](0)


@pytest.mark.parametrize(("rule", "given"), [(None, ""), ("ocp", ""), ("floor", " --scale-rule floor")])
def test_the_line_that_repeats_a_run(rule, given):
    run = Run()
    run.scale_rule, run.matrices, run.sizes = rule, ("--a", "x y"), ("--rows", "4")
    assert run.replay == (
        f"bitpath run matmul --machine tensix --format bf16 --sim icarus{given} --a 'x y' --rows 4 --waves"
    )
    assert (run.waves, run.before, FlowRun.scale_rule, FlowRun.matrices, FlowRun.sizes) == (
        False, "quantised", None, (), (),
    )  # fmt: skip
    for missing in (lambda: run.parts, lambda: run.compare(None, None), run.shown, run.shown_before):
        with pytest.raises(NotImplementedError):
            missing()
