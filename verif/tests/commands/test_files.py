"""Users' files: outputs replace regular files alone and whole, and matrices are read in every form that .npy has."""

import contextlib
import os
import stat
import subprocess
import sys

import numpy as np
import pytest

from bitpath.rtl.common.files import replacing, write_whole
from bitpath.sim import __main__
from bitpath.sim.flows import matmul, operands, outcome
from bitpath.verif.kit.testplan import covers


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
