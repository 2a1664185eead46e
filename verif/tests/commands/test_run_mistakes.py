"""``bitpath run``: the jobs that a command selects, and a one-sentence error for every mistake."""

import errno
import subprocess
import sys

import numpy as np
import pytest

from bitpath.sim.flows import matmul, outcome, results


@pytest.mark.parametrize(
    ("arguments", "machines"),
    [
        (("--format", "bfp4_hifi2"), ["tensix"]),
        (("--format", "mxfp4"), ["trainium3"]),
        (("--format", "mx6"), ["aie_ml_v2"]),
        (("--format", "fp8_e4m3fnuz"), ["aie_ml_v2"]),
        (("--machine", "tensix"), ["tensix"] * 3),
        ((), ["trainium3"] * 3 + ["tensix"] * 3 + ["aie_ml_v2"] * 4),
        (("--lanes", "16", "--rows", "8"), ["trainium3"] * 3 + ["tensix"] * 3 + ["aie_ml_v2"] * 4),
    ],
)
def test_a_format_is_found_on_its_machine(bitpath, monkeypatch, arguments, machines):
    """Return the selected jobs without simulating them."""
    ran = []

    def run(self, _):
        ran.append(self.machine)
        zeros = np.zeros((2, 2), np.float32)
        return outcome.Outcome(zeros, zeros, dict.fromkeys(results.COLUMNS, 0) | {"machine": self.machine})

    monkeypatch.setattr(matmul.MatmulRun, "compare", run)
    assert bitpath("run", "--slice", "2x128x2", *arguments)[0] == 0
    assert ran == machines


def own(*more, a="a.npy", b="b.npy"):
    return ("run", "--a", a, "--b", b, *more)


BAD_MATRICES = {
    "text.npy": lambda path: path.write_text("1 2 3"),
    "empty.npy": lambda path: path.write_bytes(b""),
    "cut.npy": lambda path: (np.save(path, np.ones((5, 130), np.float32)), path.write_bytes(path.read_bytes()[:-9])),
    "header.npy": lambda path: (
        np.save(path, np.ones((5, 130), np.float32)),
        path.write_bytes(path.read_bytes().replace(b"(5,", b"(5;")),
    ),
    "huge.npy": lambda path: path.write_bytes(
        b"\x93NUMPY\x01\x00\x46\x00{'descr': '<f4', 'fortran_order': False, 'shape': (99999, 9999999)}".ljust(79)
        + b"\n"
    ),
    "pickle.npy": lambda path: np.save(path, np.array([{}], object), allow_pickle=True),
    "several.npz": lambda path: np.savez(path, a=np.ones(3)),
    "damaged.npz": lambda path: path.write_bytes(b"PK\x03\x04 no archive"),
    "double.npy": lambda path: np.save(path, np.ones((5, 130))),
    "integer.npy": lambda path: np.save(path, np.ones((5, 130), np.int8)),
    "vector.npy": lambda path: np.save(path, np.ones(130, np.float32)),
    "stack.npy": lambda path: np.save(path, np.ones((2, 5, 130), np.float32)),
    "none.npy": lambda path: np.save(path, np.ones((5, 0), np.float32)),
    "deep.npy": lambda path: np.save(path, np.ones((5, 131), np.float32)),
    "nan.npy": lambda path: np.save(path, np.full((130, 3), np.nan, np.float32)),
}


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("run", "--machine", "tensix", "--format", "bf16"), "format is 'bf16'; tensix has bf16, tf32, fp16"),
        (
            ("run", "--machine", "tensix", "--rows", "3"),
            "matrix_unit: rows must be a power of two from 1 to 8, not 3",
        ),
        (("run", "--format", "mxfp6"), "format is 'mxfp6'; trainium3 has mxfp8_e4m3, mxfp8_e5m2, mxfp4"),
        (("run", "--format", "bf17"), "aie_ml_v2 has mx9, mx6, mx4, bf16, fp16, fp8_e4m3"),
        (("run", "--machine", "trainium9"), "'trainium9' is not one of 'trainium3', 'tensix', 'aie_ml_v2'"),
        (("run", "--machine", "aie_ml_v2", "--rows", "4"), "--rows is not a size of aie_ml_v2"),
        (("run", "--format", "bf16_lofi", "--lanes", "4"), "--lanes is not a size of tensix"),
        (("run", "--lanes", "48"), "vector_mac: lanes must be a power of two from 1 to 64, not 48"),
        (("run", "--flow", "attention"), "'attention' is not one of 'matmul', 'rmsnorm_quant', 'layer'"),
        (("run", "--flow", "layer", "--machine", "tensix"), "--flow layer is trainium3's; --machine is tensix"),
        (("run", "--flow", "layer", "--a", "a.npy"), "--a and --b go with --flow matmul"),
        (("run", "--flow", "layer", "--format", "row"), "format is 'row'; trainium3 has mxfp8_e4m3"),
        (("run", "--flow", "layer", "--lanes", "2"), "--lanes is not a size of layer"),
        (("run", "--flow", "rmsnorm_quant", "--format", "mx9"), "format is 'mx9'; rmsnorm_quant has row, static"),
        (("run", "--flow", "rmsnorm_quant", "--slice", "8x16x8"), "--slice is '8x16x8'; MxK is allowed"),
        (("run", "--flow", "rmsnorm_quant", "--slice", "8x400"), "--slice is 8x400; up to 128x384 is allowed"),
        (("run", "--flow", "rmsnorm_quant", "--lanes", "200"), "lanes must be 1 to 128, not 200"),
        (
            ("run", "--flow", "rmsnorm_quant", "--sim", "icarus", "--slice", "2x100"),
            "rows have 100 elements; 64 are allowed on icarus",
        ),
        (("run", "--sim", "vcs"), "'vcs' is not one of 'verilator', 'icarus'"),
        (("run", "--nosuch"), "No such option"),
        (("run", "--rows", "many"), "'many' is not a valid integer"),
        (("run", "--rows", "3"), "rows must be a power of two from 2 to 128, not 3"),
        (("run", "--cols", "256"), "cols must be a power of two from 2 to 128, not 256"),
        (("run", "--cols", "0"), "cols must be a power of two from 2 to 128, not 0"),
        (("run", "--rows", "2", "--cols", "2"), "2x2 PEs need 32768 PSUM places"),
        (("run", "--rows", "2", "--cols", "128"), "words of operand memory and have 4096"),
        (("run", "--sim", "icarus", "--slice", "128x384x512"), "4x4 PEs need 16384 PSUM places"),
        (("run", "--slice", "8x128"), "--slice is '8x128'; MxKxN is allowed"),
        (("run", "--slice", "0x128x8"), "--slice is 0x128x8; up to 128x384x512 is allowed"),
        (("run", "--slice", "8x999x8"), "--slice is 8x999x8; up to 128x384x512 is allowed"),
        (("run", "--a", "a.npy"), "--b is missing; --a and --b go together"),
        (("run", "--b", "b.npy"), "--a is missing; --a and --b go together"),
        (("run", "-o", "out.npz"), "-o takes the results of one format"),
        (own("--format", "mxfp4", "-o", "nosuch/out.npz"), "-o: nosuch/out.npz is not a file in a folder that exists"),
        (own("--format", "mxfp4", "-o", "."), "'.' is a directory"),
        (own("--slice", "6x130x3"), "--slice is 6x130x3; up to 5x130x3 is allowed"),
        (own(a="missing.npy"), "--a: missing.npy cannot be read: No such file or directory"),
        (own(a="."), "'.' is a directory"),
        (own(b="b.npy", a="text.npy"), "--a: text.npy is not a whole .npy file"),
        (own(a="empty.npy"), "--a: empty.npy is not a whole .npy file"),
        (own(a="cut.npy"), "--a: cut.npy is not a whole .npy file"),
        (own(a="header.npy"), "--a: header.npy is not a whole .npy file"),
        (own(a="huge.npy"), "--a: huge.npy is not a whole .npy file"),
        (own(a="pickle.npy"), "--a: pickle.npy is not a whole .npy file"),
        (own(b="several.npz"), "--b: several.npz is not a whole .npy file"),
        (own(b="damaged.npz"), "--b: damaged.npz is not a whole .npy file"),
        (own(a="double.npy"), "--a: double.npy holds float64; float32 and float16 are allowed"),
        (own(a="integer.npy"), "--a: integer.npy holds int8; float32 and float16 are allowed"),
        (own(a="vector.npy"), "--a: vector.npy has shape (130,); two dimensions"),
        (own("--slice", "1x1x1", a="vector.npy"), "--a: vector.npy has shape (130,); two dimensions"),
        (own(a="stack.npy"), "--a: stack.npy has shape (2, 5, 130); two dimensions"),
        (own(a="none.npy"), "--a: none.npy has shape (5, 0); two dimensions"),
        (own(a="deep.npy"), "b must have 131 rows, as many as a has columns, not 130"),
        (own(b="nan.npy"), "b holds NaN, which float4_e2m1fn cannot express"),
        (("test-sim", "nosuch"), "unknown unit 'nosuch', known are quad_mx_dot"),
        (("nosuch",), "No such command 'nosuch'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_mistake_is_one_sentence(bitpath, matrices, tmp_path, command, says):
    for name, make in BAD_MATRICES.items():
        make(tmp_path / name)
    before = sorted(tmp_path.iterdir())
    status, out, err = bitpath(*command)
    assert status != 0
    assert out == ""
    assert err.startswith("bitpath: ")
    assert says in err
    assert err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_a_folder_that_cannot_be_written_to(bitpath, matrices, monkeypatch):
    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    # Permissions do not suffice here: root may write to every folder.
    monkeypatch.setattr("pathlib.Path.touch", refuse)
    status, _, err = bitpath(*own("--format", "mxfp4", "-o", "out.npz"))
    assert (status, err) == (1, "bitpath: -o: nothing can be written to the folder .: Permission denied\n")


@pytest.mark.parametrize(
    ("simulator", "says"),
    [
        ("icarus", "iverilog, vvp not found; run: sudo apt-get install iverilog"),
        ("verilator", "g++, make, perl not found"),
    ],
)
def test_a_missing_simulator(tmp_path, simulator, says):
    """Run in a process with an empty PATH."""
    empty = tmp_path / "empty"
    empty.mkdir()
    command = [sys.executable, "-m", "bitpath.sim", "run", "--sim", simulator, "--slice", "2x128x2"]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PATH": str(empty)}, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 1
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty"]
