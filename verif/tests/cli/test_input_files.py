"""Files that a user names: each command refuses an unreadable one in one sentence, within bounded time and memory."""

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
from bitpath.golden.nki.language.memory import shared_constant
from bitpath.golden.tensix.llk import Case
from bitpath.sim.engine import design
from bitpath.verif.kit.testplan import covers

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
NORM = "run rmsnorm_quant --hidden b.npy"
MATRICES += ["run rmsnorm_quant --hidden"]
MATRICES += [f"{NORM} {option}" for option in ("--gamma", "--residual", "--pre-norm-gamma", "--in-scale")]
ARCHIVES = ["identify", "nki kernels.py:scaled --args"]
JSON = ["emit unpacker --out out --config", "test-sim unpacker --config", "oracle --device b.npy"]
TOML = ["check b.npy --unit dot16 --map"]
TEXTS = ["asm tensix", "asm tensix --disassemble", "synth dot16 --liberty"]
DESIGNS = ["check --unit dot16", "check b.npy --unit dot16"]
KERNELS = ["nki {}:scaled", "tensix run"]
BYTES = ["oracle case.json --device", *(f"oracle case_{name}.json --device {{}}" for name in ("a", "b", "before"))]
LINES = [*MATRICES, *ARCHIVES, *JSON, *TOML, *TEXTS, *DESIGNS, *KERNELS, *BYTES]
"""Commands of which the file is the last word, or stands at the braces."""

SECONDS = 30
MEMORY = 1 << 30


def npz(*names, size=None):
    """Return an archive of three numbers by these names of one length; each claims a size; two may be equal."""
    array, file = io.BytesIO(), io.BytesIO()
    np.save(array, np.zeros(3))
    content = array.getvalue()
    with zipfile.ZipFile(file, "w") as archive:
        for place, name in enumerate(names):
            archive.writestr(f"{place:0{len(name)}}", content)
    whole = file.getvalue()
    for place, name in enumerate(names):
        whole = whole.replace(f"{place:0{len(name)}}".encode(), name.encode())
    return whole.replace(len(content).to_bytes(4, "little"), (size or len(content)).to_bytes(4, "little"))


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
    "an array twice": npz("x.npy", "x.npy"),
    "an array by two names": npz("array.npy", "array"),
    "arrays that claim more": npz("x.npy", size=3 << 30),
    "arrays that claim too much": npz("x.npy", "y.npy", size=3 << 30),
    "a nested header": b"\x93NUMPY\x01\x00" + (9000).to_bytes(2, "little") + b"(" * 9000,
    "a long header": b"\x93NUMPY\x02\x00" + b"\xff" * 4 + b"x" * 100_000,
    "many lines": b"\n" * (1 << 20),
}
"""Contents that no command takes: damaged, deep, ambiguous, or of another kind."""
TAKEN = {(command, content) for command in ("asm", "check") for content in ("empty", "many lines")}
"""Commands and contents that are inputs: no instruction, and no name of a port."""


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
    assert 20 < len(err) < 2100


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


@covers(
    "robustness.inputs",
    "A file of a stranger must not hang a command, fill the memory, or be read as another one than it says",
)
@pytest.mark.parametrize("make", NO_FILES, ids=lambda make: make.__name__)
@pytest.mark.parametrize("line", LINES)
def test_what_is_no_file_of_bounded_size_is_refused(bitpath, folder, bounded, line, make):
    """Pipes, devices, sockets, folders, loops, too large, deep, ambiguous and damaged files in the place of each input
    of each command."""
    make(folder / "bad")
    refused(bitpath, line, NO_FILES[make])


@covers("robustness.inputs")
@pytest.mark.parametrize(
    ("line", "content"),
    [
        (line, content)
        for line in LINES
        for content in CONTENTS
        if line not in (*DESIGNS, *KERNELS, *BYTES) and (line.split()[0], content) not in TAKEN
    ],
)
def test_what_is_no_such_file_is_refused(bitpath, folder, bounded, line, content):
    (folder / "bad").write_bytes(CONTENTS[content])
    refused(bitpath, line)


@covers("robustness.inputs")
@pytest.mark.parametrize("content", ["binary", "text", "deep expression", "many lines"])
def test_what_is_no_kernel_is_refused(bitpath, folder, bounded, content):
    (folder / "bad.py").write_bytes(CONTENTS[content])
    status, out, err = bitpath("nki", "bad.py:scaled")
    assert (status, out) == (2, "")
    assert err.startswith("bitpath: bad.py ")
    assert err.count("\n") == 1


@covers("robustness.inputs")
def test_a_design_is_refused_within_its_time(bitpath, folder, bounded, monkeypatch):
    """A file that the design includes is a pipe, which nobody writes; Verilator reads it."""
    monkeypatch.setattr(design, "SECONDS", 1)
    fifo(folder / "included.v")
    (folder / "top.v").write_text('`include "included.v"\nmodule top(input i); endmodule\n')
    status, out, err = bitpath("check", "top.v", "--unit", "dot16")
    assert (status, out, err) == (2, "", "bitpath: top must be elaborated by Verilator within 1 s\n")


@covers("robustness.inputs")
def test_an_expression_may_be_deep(bitpath, folder, bounded):
    (folder / "top.v").write_text(
        f"module top(input i, output o); assign o = {'i ^ (o & ' * 1500}i{')' * 1500}; endmodule\n"
    )
    status, out, err = bitpath("check", "top.v", "--unit", "dot16")
    assert (status, out) == (2, "")
    assert err.startswith("bitpath: top must not have expressions in each other a thousand deep")


@covers("robustness.inputs")
def test_a_value_has_a_largest_depth():
    whole = "[" * files.DEPTH + "]" * files.DEPTH
    assert files.parse_json(whole) is not None
    with pytest.raises(ValueError, match=r"^must not be nested more than 64 deep$"):
        files.parse_json(f'{{"a": {whole}}}')


@covers("robustness.inputs")
@pytest.mark.parametrize("content", ["deep", "a key twice"])
def test_a_case_of_a_text_is_read_the_same(content):
    with pytest.raises(ValueError, match=r"^case must (not be nested|have each key of an object once)"):
        Case.from_json(CONTENTS[content].decode())


@covers("robustness.inputs")
def test_a_kernel_s_constant_is_read_the_same(tmp_path, bounded):
    fifo(tmp_path / "bad")
    with pytest.raises(files.FileError, match=r"/bad must be a regular file, not a pipe$"):
        shared_constant(str(tmp_path / "bad"))
    np.save(tmp_path / "object.npy", np.array([{}], object))
    with pytest.raises(files.FileError, match=r"/object.npy must be an array without Python objects$"):
        shared_constant(str(tmp_path / "object.npy"))


@covers("robustness.inputs")
def test_an_array_is_read_as_numpy_reads_it(tmp_path):
    rng = np.random.default_rng(5)
    arrays = {
        "fortran": np.asfortranarray(rng.standard_normal((3, 5))),
        "scalar": np.array(7),
        "text": np.array("text"),
        "none": np.zeros((0, 4), np.int8),
        "big": rng.integers(0, 99, 1 << 18).astype(">u8"),
        "void": rng.integers(0, 9, 4, np.uint8).view("V2"),
    }
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", **arrays)
        found = files.read_npz(tmp_path / "a.npz")
        assert found.keys() == arrays.keys()
        for name, array in arrays.items():
            assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
            assert found[name].tobytes() == array.tobytes()
            assert found[name].flags.writeable


@covers("robustness.inputs")
def test_an_array_with_a_flipped_bit_is_refused(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", x=np.arange(100))
    whole = (tmp_path / "a.npz").read_bytes()
    rng, refused, sentences = np.random.default_rng(6), 0, set()
    for place in rng.integers(0, len(whole) * 8, 100):
        content = bytearray(whole)
        content[place // 8] ^= 1 << place % 8
        (tmp_path / "b.npz").write_bytes(content)
        try:
            found = files.read_npz(tmp_path / "b.npz")
        except files.FileError as error:
            refused += 1
            sentences.add(str(error).replace(str(tmp_path), ""))
        else:
            # Names, dates and attributes have no check sum.
            assert [each.tolist() for each in found.values()] == [list(range(100))]
    assert refused > 50
    assert {each for each in sentences if "whole .npz" not in each} <= {
        "/b.npz must be an array without Python objects"
    }
