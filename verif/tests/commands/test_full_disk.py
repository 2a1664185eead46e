"""A full disk and users' files: one sentence, complete results stay, and outputs replace regular files alone."""

import contextlib
import errno
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bitpath.rtl.common.files import replacing, write_whole
from bitpath.sim import __main__
from bitpath.sim.engine import cache, paths, process, tools
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.flows import matmul, operands, outcome
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


# Users' files: outputs replace regular files alone and whole, and matrices are read in every form that .npy has.


@pytest.fixture
def saved_to(bitpath, monkeypatch):
    """Return a function that runs a matmul without simulating it and gives status and errors; its results are zeros."""
    zeros = np.zeros((2, 2), np.float32)
    record = dict.fromkeys(outcome.COLUMNS, 0)
    monkeypatch.setattr(matmul.MatmulRun, "compare", lambda *_: outcome.Outcome(zeros, zeros, record))

    def save(output):
        status, _, err = bitpath(*f"run --slice 2x128x2 --format mxfp4 -o {output}".split())
        return status, err

    return save


@covers("robustness.outputs", "A command must not destroy or half write a file that it was not told to replace")
def test_an_output_replaces_no_other_file(saved_to, tmp_path):
    """Outputs to links, devices, pipes, beside a user's files, interrupted or with a closed reader; matrices in every
    form of .npy."""
    (tmp_path / "out.npz.partial").write_text("the user's")
    assert saved_to("out.npz") == (0, "")
    assert (tmp_path / "out.npz.partial").read_text() == "the user's"
    assert np.load(tmp_path / "out.npz")["golden"].shape == (2, 2)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["build", "out.npz", "out.npz.partial"]


@covers("robustness.outputs")
@pytest.mark.parametrize("present", [True, False])
def test_an_output_goes_to_the_target_of_a_link(saved_to, tmp_path, present):
    (tmp_path / "folder").mkdir()
    target, link = tmp_path / "folder" / "target", tmp_path / "out.npz"
    link.symlink_to("folder/target")
    if present:
        target.write_text("old")
    assert saved_to("out.npz") == (0, "")
    assert link.is_symlink()
    assert np.load(target)["result"].shape == (2, 2)


@covers("robustness.outputs")
@pytest.mark.parametrize("output", ["fifo", "device", "loop"])
def test_an_output_that_is_no_regular_file_is_refused(saved_to, tmp_path, output):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "device").symlink_to("/dev/full")
    (tmp_path / "loop").symlink_to("loop")
    before = [(file.name, file.lstat().st_ino) for file in tmp_path.iterdir()]
    assert saved_to(output) == (2, f"bitpath: -o: {output} is not a regular file; only such a file is replaced\n")
    assert [(file.name, file.lstat().st_ino) for file in tmp_path.iterdir()] == before


@covers("robustness.outputs")
def test_an_output_has_the_permissions_of_the_replaced_file_or_of_the_umask(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("old")
    old.chmod(0o640)
    before = os.umask(0o027)
    try:
        for file in (old, new):
            write_whole(file, "text")
    finally:
        os.umask(before)
    assert [stat.S_IMODE(file.stat().st_mode) for file in (old, new)] == [0o640, 0o640]
    old.chmod(0o604)
    write_whole(old, "text")
    assert stat.S_IMODE(old.stat().st_mode) == 0o604


@covers("robustness.outputs")
def test_an_interrupted_output_leaves_the_old_file_alone(tmp_path):
    (tmp_path / "file").write_text("old")
    with contextlib.suppress(KeyboardInterrupt), replacing(tmp_path / "file") as file:
        file.write(b"new")
        raise KeyboardInterrupt
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("file", "old")]


@covers("robustness.outputs")
@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f2", ">f2"])
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_a_matrix_is_read_in_every_form(tmp_path, dtype, order, version):
    matrix = np.arange(15).reshape(3, 5)
    with (tmp_path / "a.npy").open("wb") as file:
        np.lib.format.write_array(file, matrix.astype(dtype, order=order), version)
    found = operands.load("--a", tmp_path / "a.npy")
    assert (found.dtype, found.flags.c_contiguous) == (np.dtype("=f4"), True)
    assert np.array_equal(found, matrix)


def test_too_little_memory_is_one_sentence(bitpath, monkeypatch):
    monkeypatch.setattr(__main__, "cli", lambda **_: np.empty(1 << 62, np.uint8))
    status, _, err = bitpath()
    assert status == 2
    assert err.startswith("bitpath: Unable to allocate 4.00 EiB for an array")
    assert err.count("\n") == 1


@covers("robustness.outputs")
def test_an_output_that_nobody_reads_ends_the_command_quietly(tmp_path):
    script = (
        "import click; from bitpath.sim import __main__; "
        "__main__.cli = lambda **_: [click.echo('line' * 1000) for _ in range(1000)]; __main__.main()"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.read(1)
        process.stdout.close()
        errors = process.stderr.read()
    assert (process.returncode, errors) == (141, b"")
