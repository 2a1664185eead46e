"""Runs are kept: one file a run, in order of time, and a file that is not whole is named."""

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import bitpath.sim
from bitpath.sim.flows import builds, history, matmul, tensix_matmul
from bitpath.sim.flows.history import Keeper, kept_runs
from bitpath.sim.flows.outcome import result_map
from bitpath.verif.kit.testplan import covers


def test_runs_that_begin_at_once_have_files_of_their_own(elsewhere, record):
    began = datetime(2026, 11, 25, 10, 20, 30, 999990, UTC)
    keepers = [Keeper(2, began, commit=None) for _ in range(20)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda keeper: keeper.keep([record()]), keepers))
    keepers[0].keep([record(), record("fp16_hifi2")])
    files = sorted(file.name for file in history.folder().iterdir())
    assert len(files) == len({keeper.file for keeper in keepers}) == 20
    assert (files[0], files[-1]) == ("20261125T102030.999990Z.json", "20261125T102031.000009Z.json")
    damaged = []
    assert sorted(len(run.records) for run in kept_runs(damaged)) == [1] * 19 + [2]
    assert not damaged


def test_a_run_keeps_its_seconds_to_hundredths(elsewhere, record, monkeypatch):
    keeper = Keeper(1, datetime(2026, 11, 25, tzinfo=UTC), commit=None)
    monkeypatch.setattr(history.time, "monotonic", lambda: keeper.start + 1.23456)
    keeper.keep([record()])
    (file,) = history.folder().iterdir()
    assert json.loads(file.read_text())["wall_seconds"] == 1.23


def test_a_kept_run_is_small():
    """The largest maps of a format, all cells with mismatches, take less than 64 KiB."""
    rtl = np.random.default_rng(1).standard_normal((512, 512)).astype(np.float32)
    text = json.dumps(matmul_map(rtl, -rtl), separators=(",", ":"))
    assert len(text) < 1 << 16
    assert len(json.dumps(matmul_map(rtl, rtl), separators=(",", ":"))) < 1 << 13


def matmul_map(rtl, golden):
    return result_map(rtl, golden, rtl, rtl.astype(np.float64) * 1.01)


MISTAKES = (
    {"records": []},
    {"records": [{"machine": "tensix"}]},
    {"began": "yesterday"},
    {"began": "2026-11-25"},
    {"commit": 3},
    {"wall_seconds": "2"},
)
MAPS = (
    {"error": [[1.0]]},
    {"block": [1], "error": [[1.0]]},
    {"block": [0, 1], "error": [[1.0]]},
    {"block": [1, 1], "error": [[1.0], [1.0, 2.0]]},
    {"block": [1, 1], "error": [["a"]]},
    {"block": [1, 1], "error": []},
)


@covers("robustness.files")
@pytest.mark.parametrize("text", ["{", "[]", "7", "{}", '"a"', "null", b"\xff"])
def test_a_damaged_run_is_named_and_not_read(keep, record, text):
    keep(1, [record()])
    file = keep(2, [record()])
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    damaged = []
    assert [run.command for run in kept_runs(damaged)] == ["bitpath run --day 1"]
    assert damaged == [file]


@covers("robustness.files")
def test_a_run_of_another_form_is_not_read(keep, record):
    files = [keep(day, **{"records": [record()]} | fields) for day, fields in enumerate(MISTAKES, 1)]
    files += [keep(day, [record(map=found)]) for day, found in enumerate(MAPS, 1 + len(files))]
    damaged = []
    assert kept_runs(damaged) == []
    assert damaged == files


def test_a_run_without_a_record_yet_is_passed_over(keep, record):
    keep(1, [record()]).write_text("")
    damaged = []
    assert kept_runs(damaged) == damaged == []


def test_the_commit_is_git_s(tmp_path, monkeypatch):
    root = Path(bitpath.sim.__file__).resolve().parents[1]
    command = ["git", "rev-parse", "HEAD"]
    head = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout.strip()
    assert (history.commit() or "").removesuffix("-dirty") == head[:12]
    # Sources below another project's checkout have none.
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    monkeypatch.setattr(bitpath.sim, "__file__", str(tmp_path / "site/bitpath/sim/__init__.py"))
    (tmp_path / "site/bitpath").mkdir(parents=True)
    assert history.commit() is None
    monkeypatch.setenv("PATH", os.devnull)
    assert history.commit() is None


@pytest.mark.parametrize("wrong", [False, True])
def test_bitpath_run_keeps_its_run(bitpath, monkeypatch, wrong):
    """Nothing is simulated: RTL's result is golden's, with one bit inverted or none."""
    built = type("Built", (), {"top": "engine", "digest": "0" * 8, "seconds": 0})
    monkeypatch.setattr(builds, "build", lambda *_, **__: built)
    folder = Path.cwd() / "build/runs/a/b"
    folder.mkdir(parents=True)
    left = {"output": None, "times": np.zeros((1, 1, 1, 64, 16), np.uint64), "cycles": 7, "folder": folder}
    monkeypatch.setattr(matmul, "play", lambda *_: left)

    def result(self, output):
        found = np.ascontiguousarray(self.golden())
        found.view(np.uint32)[2, 1] ^= wrong
        return found

    monkeypatch.setattr(tensix_matmul.Run, "matrix", result)
    words = ("--machine", "tensix", "--format", "bf16_lofi", "--slice", "4x16x4")
    for _ in range(2):
        status, out, _ = bitpath("run", *words)
        assert status == int(wrong)
    first, second = kept_runs([])
    assert first.began < second.began
    assert (first.command, first.formats) == (" ".join(["bitpath run", *words]), 1)
    assert (first.compared, first.mismatches) == (16, int(wrong))
    (record,) = first.records
    assert record["folder"] == "runs/a/b"
    assert set(record["map"]) == {"block", *(("mismatches", "ulp") if wrong else ("error",))}
    if wrong:
        assert record["map"]["mismatches"] == [
            [int(place == (2, 1)) for place in ((m, n) for n in range(4))] for m in range(4)
        ]
        assert record["map"]["ulp"][2][1] == 1
        assert record["report"] in out
        assert "[2, 1]" in record["report"]
    kept_only = {"map", "folder", "report"}
    assert json.loads(Path("build/reports/run.json").read_text()) == [
        {name: value for name, value in second.records[0].items() if name not in kept_only}
    ]
