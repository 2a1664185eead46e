"""Full disk: a one-sentence error, complete results stay, and partial files are not used."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from bitpath.sim.engine import cache, paths, process, tools
from bitpath.sim.engine.errors import SimulationError
from bitpath.verif.kit.testplan import covers

FULL = Path("/dev/full")
"""Whatever is written to it finds no space left."""


def full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@covers("robustness.disk", "Complete results must stay, and partial ones must not be used")
def test_a_report_stays_as_it_was(bitpath, monkeypatch):
    """A full disk during a report, a journal entry, a build and a run."""
    paths.reports().mkdir(parents=True)
    file = paths.reports() / "report.json"
    file.write_text('[{"old": 1}]')
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        status, _, err = bitpath("report")
    assert status == 2
    assert err == "bitpath: the disk is full ([Errno 28] No space left on device); what was complete is kept\n"
    assert file.read_text() == '[{"old": 1}]'
    assert list(paths.reports().iterdir()) == [file]
    assert bitpath("report")[0] == 0
    assert "old" not in json.loads(file.read_text())[0]


LIMITED = """
import resource
from pathlib import Path
from bitpath.sim.engine import cache

path, hard = Path("file.jsonl"), resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
refused = []
for index in range(30):
    try:
        cache.append(path, {"index": index, "text": "x" * 50})
    except OSError:
        refused.append(index)
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
cache.append(path, {"index": 30})
print(*refused)
"""
"""Appends to a file that may hold 1000 bytes, and once more when it may hold more."""


@covers("robustness.disk")
def test_a_journal_keeps_what_was_complete(tmp_path):
    done = subprocess.run([sys.executable, "-c", LIMITED], cwd=tmp_path, capture_output=True, text=True, check=True)
    refused = {int(word) for word in done.stdout.split()}
    assert 10 < len(refused) < 25
    kept = [record["index"] for record in cache.read(tmp_path / "file.jsonl")]
    assert kept == [index for index in range(31) if index not in refused]
    # A partial line is removed, too.
    assert len((tmp_path / "file.jsonl").read_text().splitlines()) == len(kept)


@covers("robustness.disk")
@pytest.mark.parametrize("what", ["content", cache.STAMP])
def test_a_build_without_room_is_made_again(tmp_path, monkeypatch, what):
    def make(_):
        if what == "content":
            FULL.write_text("x")
        return {"n": 1}

    folder = tmp_path / "made"
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", full)
        with pytest.raises(OSError, match="No space left"):
            cache.ensure(folder, {}, make)
    assert cache.ensure(folder, {}, lambda _: {"n": 2}) == {"n": 2}


COMPILER = "cc1.s: fatal error: error writing to cc1.s: No space left on device\ncompilation terminated.\n"
FAILURES = {"no room": (1000, ""), "a compiler's message": (1 << 30, COMPILER), "another reason": (1 << 30, "")}


@covers("robustness.disk")
@pytest.mark.parametrize(("free", "says"), FAILURES.values(), ids=FAILURES)
def test_a_run_without_room_says_so(run_unpacker, monkeypatch, free, says):
    monkeypatch.setattr(process, "run_logged", lambda command, *, env, log, timeout: (log.write_text(says) and 1) or 1)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=free))
    kind, sentence = (OSError, "No space left") if free < 1 << 20 or says else (SimulationError, "without results\n")
    with pytest.raises(kind, match=sentence):
        run_unpacker()


@covers("robustness.disk")
@pytest.mark.parametrize(("free", "says"), FAILURES.values(), ids=FAILURES)
def test_a_build_without_room_is_one_sentence(bitpath, tmp_path, monkeypatch, free, says):
    monkeypatch.setattr(paths, "simulations", lambda: tmp_path / "sim")
    monkeypatch.setattr(tools, "require_plain", lambda *_: None)
    monkeypatch.setattr(
        process, "run_logged", lambda command, *, env, log, timeout, folder=None: (log.write_text(says) and 1) or 1
    )
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=free))
    status, _, err = bitpath("test-sim", "element_map", "--sim", "icarus", "--quiet")
    if free < 1 << 20 or says:
        assert status == 2
        assert err.startswith("bitpath: the disk is full ([Errno 28] No space left on device: ")
        assert err.endswith("; what was complete is kept\n")
        assert err.count("\n") == 1
    else:
        assert status == 1
        assert "failed; log: " in err


@covers("robustness.disk")
@pytest.mark.parametrize("line", ["report", "test-sim element_map --sim icarus"])
def test_a_folder_that_nobody_may_write_to_is_one_sentence(tmp_path, line):
    """Permissions do not suffice here: root may write to every folder, but not below /sys."""
    env = os.environ | {"BITPATH_BUILD": "/sys/kernel"}
    command = [sys.executable, "-m", "bitpath", *line.split()]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert re.fullmatch(
        r"bitpath: /sys/kernel/\w+ cannot be written \((Operation not permitted|Read-only file system|Permission denied)\);"
        r" BITPATH_BUILD names another folder\n",
        done.stderr,
    )


@covers("robustness.disk")
def test_a_run_that_cannot_begin_leaves_no_result(run_unpacker, tmp_path, monkeypatch):
    monkeypatch.setattr(process, "run_logged", lambda *_, **__: pytest.fail("a simulation was started"))
    write_text = Path.write_text

    def refuse(path, *arguments, **options):
        if path.name == "job.json":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return write_text(path, *arguments, **options)

    monkeypatch.setattr(Path, "write_text", refuse)
    with pytest.raises(OSError, match=r"No space left on device: .*job\.json"):
        run_unpacker()
    assert not list(tmp_path.rglob("run.json"))
