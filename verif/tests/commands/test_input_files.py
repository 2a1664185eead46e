"""Files that a user names: each command refuses what it cannot read in one sentence, within bounded time and memory."""

import io
import json
import os
import resource
import signal
import socket
import zipfile
from pathlib import Path

import numpy as np
import pytest

from bitpath.golden.arrays import files
from bitpath.golden.nki import language as nl
from bitpath.golden.tensix.llk import Case

CASE = {
    "op": "matmul",
    "in_a": "Float16_b",
    "in_b": "Float16_b",
    "register_format": "Float16_b",
    "mid_format": "Float16_b",
    "out_format": "Float16_b",
}
MATRICES = ["run --slice 1x1x1 --b b.npy --a", "run --slice 1x1x1 --a b.npy --b"]
MATRICES += ["explain tensix --output 0,0 --b b.npy --a", "explain tensix --output 0,0 --a b.npy --b"]
NORM = "run --flow rmsnorm_quant --hidden b.npy"
MATRICES += ["run --flow rmsnorm_quant --hidden"]
MATRICES += [f"{NORM} {option}" for option in ("--gamma", "--residual", "--pre-norm-gamma", "--in-scale")]
ARCHIVES = ["identify", "nki kernels.py:scaled --args"]
JSON = ["emit unpacker --out out --config", "test-sim unpacker --config", "oracle --device b.npy"]
TOML = ["check b.npy --unit dot16 --map"]
TEXTS = ["asm tensix", "asm tensix --disassemble", "explore --liberty", "synth --liberty"]
DESIGNS = ["check --unit dot16", "check b.npy --unit dot16"]
KERNELS = ["nki {}:scaled"]
BYTES = ["oracle case.json --device", "oracle case_a.json --device b.npy", "oracle case_b.json --device b.npy"]
BYTES += ["oracle case_before.json --device b.npy"]
LINES = [*MATRICES, *ARCHIVES, *JSON, *TOML, *TEXTS, *DESIGNS, *KERNELS, *BYTES]
"""Commands of which the file is the last word, or stands at the braces."""

SECONDS = 30
MEMORY = 1 << 30


def npz(*members, method=zipfile.ZIP_STORED):
    """Return an archive of names and contents, of which two may have one name."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return file.getvalue()


def npy(array):
    """Return the bytes of an .npy file."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def claiming(size):
    """Return an archive whose only array claims a size."""
    whole = npz(("x.npy", npy(np.zeros(3))))
    return whole.replace((128 + 24).to_bytes(4, "little"), size.to_bytes(4, "little"))


CONTENTS = {
    "empty": b"",
    "binary": bytes(range(256)) * 9,
    "text": b"\xc3\xa4 = ] [ 7",
    "deep": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "a key of many parts": b".".join([b"a"] * 300_000) + b" = 1",
    "tables in tables": b"a = " + b"{a=" * 100_000,
    "deep expression": b"x = " + b"(" * 100_000,
    "a key twice": b'{"op": "matmul", "op": "matmul"}',
    "a table twice": b"a = 1\na = 2",
    "an array twice": npz(("x.npy", npy(np.zeros(3))), ("x.npy", npy(np.ones(3)))),
    "an array by two names": npz(("x.npy", npy(np.zeros(3))), ("x", npy(np.ones(3)))),
    "a large array": npz(("x.npy", npy(np.zeros(1 << 26, np.uint8))[: 1 << 20]), method=zipfile.ZIP_DEFLATED),
    "an array that claims more": claiming(3 << 30),
    "a nested header": b"\x93NUMPY\x01\x00" + (9000).to_bytes(2, "little") + b"(" * 9000,
    "a long header": b"\x93NUMPY\x02\x00" + b"\xff" * 4 + b"x" * 100_000,
    "many lines": b"\n" * (1 << 20),
}
"""Contents that no command takes: damaged, deep, ambiguous, or of another kind."""
TAKEN = {("asm", "empty"), ("asm", "many lines"), ("nki", "an array twice")}
"""Commands of which a content is an input: no instruction at all."""


@pytest.fixture
def folder(tmp_path):
    """Write the other files of the commands."""
    np.save(tmp_path / "b.npy", np.ones((2, 2), np.float32))
    (tmp_path / "kernels.py").write_text("import nki\n@nki.jit\ndef scaled(x):\n    return x\n")
    whole = CASE | {"l1_a": "b.npy", "l1_b": "b.npy"}
    for name, case in {
        "case": whole,
        "case_a": whole | {"l1_a": "bad"},
        "case_b": whole | {"l1_b": "bad"},
        "case_before": whole | {"l1_accumulate": True, "l1_before": "bad"},
    }.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(case))
    return tmp_path


@pytest.fixture
def bounded():
    """End what takes more than half a minute, and refuse memory beyond one more GiB."""

    def late(*_):
        raise AssertionError(f"no end after {SECONDS} s")

    limits = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, limits)
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def refused(bitpath, line, says=""):
    """Check that a command refuses the file ``bad`` in a sentence."""
    words = (line if "{}" in line else f"{line} {{}}").format("bad").split()
    status, out, err = bitpath(*words)
    assert (status, out) == (2, ""), err
    assert err.startswith("bitpath: ")
    assert "bad" in err
    assert says in err
    assert err.count("\n") == 1
    assert 20 < len(err) < 500


def fifo(file):
    os.mkfifo(file)


def endless(file):
    file.symlink_to("/dev/zero")


def a_socket(file):
    before = Path.cwd()
    os.chdir(file.parent)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(file.name)
    os.chdir(before)


def loop(file):
    file.symlink_to(file.name)


def too_large(file):
    with file.open("wb") as content:
        content.truncate(files.ARRAY_BYTES + 1)


NO_FILES = {
    fifo: "bad must be a regular file, not a pipe",
    endless: "bad must be a regular file, not a device",
    a_socket: "bad must be a regular file, not a socket",
    loop: "bad cannot be read: Too many levels of symbolic links",
    too_large: "bad must have at most ",
    Path.mkdir: "",  # Some commands leave this sentence to click.
}


@pytest.mark.parametrize("make", NO_FILES, ids=lambda make: make.__name__)
@pytest.mark.parametrize("line", LINES)
def test_what_is_no_file_of_bounded_size_is_refused(bitpath, folder, bounded, line, make):
    make(folder / "bad")
    refused(bitpath, line, NO_FILES[make])


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("line", [each for each in LINES if each not in (*DESIGNS, *KERNELS)])
def test_what_is_no_such_file_is_refused(bitpath, folder, bounded, line, content):
    if (line.split()[0], content) in TAKEN:
        pytest.skip("an input of this command")
    (folder / "bad").write_bytes(CONTENTS[content])
    refused(bitpath, line)
