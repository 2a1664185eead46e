"""``bitpath run``: the next machine is built while one simulates, and each result is shown and kept at once."""

import io
import json
import os
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from bitpath.sim.engine import process
from bitpath.sim.engine.errors import SimulationError
from bitpath.sim.flows import builds, matmul
from bitpath.sim.flows.machines import RECORDS

WAIT = 60
SECONDS = builds.FIRST_SECONDS, builds.NEXT_SECONDS
"""Of the first line and of each further one."""
LINE = ("run", "--slice", "2x128x2")


@pytest.fixture
def engines(monkeypatch):
    """Replace builds and simulations; return the events, and what each build or simulation does besides.

    A simulation gives golden's result, of two cycles.
    """
    events, hooks, zeros = [], {}, np.zeros((2, 2), np.float32)

    def act(what, name):
        events.append((what, name))
        hooks.get((what, name), lambda: None)()

    def build(unit, *_, **__):
        act("build", unit)
        return SimpleNamespace(top=unit, unit=unit, digest="0" * 8, seconds=0)

    def simulate(console, built, *_):
        act("simulate", built.top)
        return {"output": None, "times": zeros, "cycles": 2}

    monkeypatch.setattr(builds, "build", build)
    monkeypatch.setattr(matmul, "play", simulate)
    for machine in RECORDS.values():
        monkeypatch.setattr(machine.matmul.Run, "matrix", lambda *_: zeros)
        monkeypatch.setattr(machine.matmul.Run, "golden", lambda *_: zeros)
        monkeypatch.setattr(machine.matmul.Run, "placed", lambda *_: zeros)
    return SimpleNamespace(events=events, hooks=hooks)


def test_the_next_machine_is_built_while_one_simulates(bitpath, engines):
    """The first simulation waits for the begin of the second and of the third build."""
    began = {name: threading.Event() for name in ("tensix_engine", "aie_engine")}
    for name, event in began.items():
        engines.hooks["build", name] = event.set
    overlapped = []
    engines.hooks["simulate", "tensor_engine"] = lambda: overlapped.extend(each.wait(WAIT) for each in began.values())
    assert bitpath(*LINE)[0] == 0
    assert overlapped
    assert all(overlapped)
    built = [name for what, name in engines.events if what == "build"]
    assert built == ["tensor_engine", "tensix_engine", "aie_engine"], "once each, in the order of the runs"
    simulated = [name for what, name in engines.events if what == "simulate"]
    assert simulated == ["tensor_engine"] * 3 + ["tensix_engine"] * 3 + ["aie_engine"] * 4


@pytest.mark.parametrize("option", [None, "--json"])
def test_a_failed_build_does_not_lose_earlier_results(bitpath, engines, option):
    failed = threading.Event()

    def fail():
        failed.set()
        raise SimulationError("the compiler ended")

    engines.hooks["build", "tensix_engine"] = fail
    engines.hooks["simulate", "tensor_engine"] = lambda: failed.wait(WAIT)
    status, out, err = bitpath(*LINE, *([option] if option else []))
    assert (status, err) == (1, "bitpath: the compiler ended\n")
    kept = json.loads(Path("build/reports/run.json").read_text())
    assert [record["machine"] for record in kept] == ["trainium3"] * 3
    assert json.loads(out) == kept if option else out.count("\ntrainium3 ") == 3


def test_a_failure_ends_the_compiler_of_the_next_machine(bitpath, engines, tmp_path):
    ended = threading.Event()

    def compile_slowly():
        process.run_logged(["sleep", "300"], env=os.environ, log=tmp_path / "log", timeout=300)
        ended.set()

    def fail():
        while not process._running:
            time.sleep(0.01)
        raise SimulationError("a test failed")

    engines.hooks["build", "tensix_engine"] = compile_slowly
    engines.hooks["simulate", "tensor_engine"] = fail
    assert bitpath(*LINE)[::2] == (1, "bitpath: a test failed\n")
    assert ended.wait(WAIT)


def test_a_row_is_printed_when_its_format_is_done(bitpath, engines, capsys):
    shown = []
    engines.hooks["simulate", "tensix_engine"] = lambda: shown.append(capsys.readouterr().out)
    _, rest, _ = bitpath(*LINE)
    first, *more = shown
    assert [line.split()[:2] for line in first.splitlines()] == [
        ["machine", "format"],
        *(["trainium3", name] for name in ("mxfp8_e4m3", "mxfp8_e5m2", "mxfp4")),
    ]
    rows = [first, *more, rest]
    assert [text.count("machine") for text in rows] == [1, 0, 0, 0]
    assert len({len(line) for text in rows for line in text.splitlines()}) == 1, "the columns do not move"


def lines(seconds, title, share=None, **given):
    """Return what a stage without a terminal prints."""
    file = io.StringIO()
    console = Console(file=file, **given)
    with builds.stage(console, title) if share is None else builds.shown_progress(console, title, share):
        time.sleep(seconds)
    return file.getvalue()


def test_a_long_stage_prints_lines_without_a_terminal(monkeypatch, tmp_path):
    monkeypatch.setattr(builds, "FIRST_SECONDS", 0.05)
    monkeypatch.setattr(builds, "NEXT_SECONDS", 0.1)
    shown = lines(0.5, "building [x]").splitlines()
    assert shown
    assert set(shown) <= {"building [x]: 0 s", "building [x]: 1 s"}
    (tmp_path / "share").write_text("0.25")
    assert lines(0.5, "mx9", tmp_path / "share").startswith("mx9: 25%, 0 s\n")
    assert lines(0.5, "building", quiet=True) == ""


def test_a_short_stage_prints_nothing_without_a_terminal():
    assert lines(0, "building") == ""
    assert SECONDS == (3, 10)
