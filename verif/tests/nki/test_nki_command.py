"""``bitpath nki``: what it runs, prints and writes."""

import json
import subprocess
import sys
from itertools import pairwise

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import trainium3

RUN = ("nki", "kernels.py:scaled", "--args", "x.npz")


def test_a_kernel_of_a_file(bitpath, kernels, tmp_path):
    before = list(sys.path), "nki" in sys.modules
    status, out, err = bitpath(*RUN, "-o", "out.npz")
    assert (status, err) == (0, "")
    with np.load(tmp_path / "out.npz") as found:
        assert found.files == ["out_0"]
        assert (found["out_0"] == 2 * kernels).all()
    assert (list(sys.path), "nki" in sys.modules) == before
    assert "kernels" not in sys.modules
    assert "   0   vector             1          64  tensor_scalar 1\n" in out
    assert "SBUF: 32 of 245,752 bytes of a partition at most\n" in out
    assert "standing: documented\nout_0: float32 [4, 8]\n" in out


def test_two_cores_give_the_bits_of_one(bitpath, kernels, tmp_path):
    status, out, _ = bitpath(*RUN, "--cores", "2", "-o", "out.npz")
    assert status == 0
    assert "\n   1   vector " in out
    with np.load(tmp_path / "out.npz") as found:
        assert (found["out_0"] == 2 * kernels).all()


def test_a_plain_function_is_a_kernel(bitpath, kernels):
    assert bitpath("nki", "kernels.py:plain", "--args", "x.npz", "--quiet") == (0, "", "")


def test_scalars_are_arrays_of_no_dimension(bitpath, kernels, tmp_path):
    np.savez(tmp_path / "y.npz", x=kernels, factor=-0.5)
    assert bitpath("nki", "kernels.py:scaled", "--args", "y.npz", "-o", "out.npz", "--quiet") == (0, "", "")
    assert (np.load(tmp_path / "out.npz")["out_0"] == -0.5 * kernels).all()


@pytest.mark.parametrize(
    "name", ["bfloat16", "float8_e4m3", "float8_e4m3fn", "float8_e5m2", "float16", "int32", "uint8", "float32"]
)
def test_every_dtype_goes_in_and_out(bitpath, tmp_path, name, kernels):
    """The output of one run is the input of the next."""
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    key = "x" if dtype.isbuiltin == 1 else f"x:{name}"
    values = np.arange(32).reshape(4, 8).astype(dtype)
    given = values if key == "x" else values.view(f"u{dtype.itemsize}")
    np.savez(tmp_path / "y.npz", dtype=name, **{key: given})
    assert bitpath("nki", "kernels.py:words", "--args", "y.npz", "-o", "out.npz", "--quiet") == (0, "", "")
    with np.load(tmp_path / "out.npz") as found:
        (made,) = found.files
        assert made == key.replace("x", "out_0")
        assert (found[made] == given).all()
        np.savez(tmp_path / "y.npz", dtype=name, **{made.replace("out_0", "x"): found[made]})
    assert bitpath("nki", "kernels.py:words", "--args", "y.npz", "-o", "out.npz", "--quiet") == (0, "", "")


def test_arrays_of_ml_dtypes_need_no_view(bitpath, kernels, tmp_path):
    """numpy writes them as bytes without a name, which the key's suffix gives back."""
    np.savez(tmp_path / "y.npz", **{"x:bfloat16": kernels.astype(ml_dtypes.bfloat16)})
    outputs = []
    for name in ("b.npz", "y.npz"):
        bitpath("nki", "kernels.py:scaled", "--args", name, "-o", "out.npz")
        outputs.append(np.load(tmp_path / "out.npz")["out_0:bfloat16"])
    assert (outputs[0] == outputs[1]).all()


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float4_e2m1fn"])
def test_mx_words_and_scales(bitpath, kernels, tmp_path, name):
    """The result is that of `nc_matmul_mx`, and that of float64: no sum of these numbers is rounded."""
    rng = np.random.default_rng(7)
    dtype = np.dtype(getattr(ml_dtypes, name))
    sides = {}
    for side, columns in (("stationary", 4), ("moving", 6)):
        data = rng.choice([-2.0, -1.0, 0.5, 1.0], (32, 4 * columns)).astype(dtype)
        scale = np.zeros((32, columns), np.uint8)
        scale[:4] = rng.integers(126, 129, (4, columns))
        sides[side] = data, scale
    np.savez(
        tmp_path / "y.npz",
        **{f"{side}:{name}_x4": trainium3.pack_x4(data) for side, (data, _) in sides.items()},
        **{f"{side}_scale:float8_e8m0fnu": scale for side, (_, scale) in sides.items()},
    )
    with (tmp_path / "kernels.py").open("a") as file:
        file.write(
            "\n\ndef reference(a, b, s, t):\n"
            "    left, right = (x.reshape(32, -1, 4) for x in (a, b))\n"
            "    scales = (x[:4].repeat(8, axis=0)[..., None] for x in (s, t))\n"
            "    return np.einsum('pmi,pni->mn', left * next(scales), right * next(scales))\n"
        )
    status, out, err = bitpath(
        "nki", "kernels.py:product", "--args", "y.npz", "-o", "out.npz", "--compare", "reference"
    )
    assert (status, err) == (0, "")
    assert "out_0: largest error 0" in out
    data, scales = zip(*sides.values(), strict=True)
    expected = trainium3.nc_matmul_mx(*(each.reshape(32, -1, 4) for each in data), *scales)
    assert (np.load(tmp_path / "out.npz")["out_0"].view("u4") == expected.view("u4")).all()


def test_warnings_are_printed_and_strict_makes_them_errors(bitpath, kernels, tmp_path):
    line = ("nki", "kernels.py:unwritten", "--args", "x.npz")
    status, out, _ = bitpath(*line)
    assert status == 0
    assert "\nwarning: tensor_1: bytes are read that nothing has written (kernels.py:35)\n" in out
    assert "\nout_1: float32 [4, 8]\n" in out
    status, out, err = bitpath(*line, "--strict", "-o", "out.npz")
    assert (status, out) == (2, "")
    assert err == "bitpath: tensor_1: bytes are read that nothing has written (kernels.py:35)\n"
    assert not (tmp_path / "out.npz").exists()


def test_json_and_quiet(bitpath, kernels):
    line = ("nki", "kernels.py:unwritten", "--args", "x.npz")
    assert bitpath(*line)[1].startswith("a kernel speaks\ncore ")
    status, out, err = bitpath(*line, "--json")
    found = json.loads(out)
    assert (status, err) == (0, "a kernel speaks\n")
    (engine,) = found["engines"]
    assert engine == {
        "core": 0,
        "engine": "vector",
        "instructions": 1,
        "cycles": 64.0,
        "opcodes": {"tensor_scalar": 1},
    }
    assert found["memory"]["sbuf"] == {"high_water": 32, "bytes": 245752}
    assert (found["serial_cycles"], found["overlapped_cycles"]) == (64, 64)
    assert found["standing"] == {"word": "documented", "choices": {}}
    assert len(found["warnings"]) == 1
    assert [each["name"] for each in found["outputs"]] == ["out_0", "out_1"]
    assert bitpath(*line, "--quiet") == (0, "", "a kernel speaks\n")


def test_compare_with_a_function_of_the_file(bitpath, kernels):
    _, out, _ = bitpath("nki", "kernels.py:scaled", "--args", "b.npz", "--compare", "twice", "--json")
    (error,) = json.loads(out)["errors"]
    assert (error["output"], error["dtype"], error["largest"], error["mean"]) == ("out_0", "bfloat16", 0, 0)


def test_compare_with_numpy_counts_units_in_the_last_place(bitpath, kernels, tmp_path):
    """The factor 1 + 2**-9 moves a BF16 number by up to 1/2 ulp, and rounding brings it back or one on."""
    np.savez(tmp_path / "y.npz", **{"x:bfloat16": kernels.astype(ml_dtypes.bfloat16), "factor": 1.0 + 2**-9})
    _, out, _ = bitpath("nki", "kernels.py:scaled", "--args", "y.npz", "--compare", "multiply", "--json")
    (error,) = json.loads(out)["errors"]
    x = kernels.astype(ml_dtypes.bfloat16)
    exact = x.astype(np.float64) * (1 + 2**-9)
    rounded = exact.astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float64)
    distance = np.abs(rounded - exact) / 2.0 ** (np.floor(np.log2(np.abs(exact))) - 7)
    assert error["largest"] == pytest.approx(distance.max(), rel=1e-12)
    assert error["mean"] == pytest.approx(distance.mean(), rel=1e-12)
    assert error["place"] == [int(each) for each in np.unravel_index(distance.argmax(), x.shape)]


def test_compare_counts_what_is_not_finite_apart(bitpath, kernels, tmp_path):
    x = np.array([[1.0, np.inf, np.nan, 60000.0]], np.float16)
    np.savez(tmp_path / "y.npz", x=x)
    for reference, expected in (("twice", 0), ("ones_like", 3)):
        _, out, _ = bitpath("nki", "kernels.py:scaled", "--args", "y.npz", "--compare", reference, "--json")
        (error,) = json.loads(out)["errors"]
        assert error["not_finite"] == expected
    assert (
        "3 elements differ in being finite"
        in bitpath("nki", "kernels.py:scaled", "--args", "y.npz", "--compare", "ones_like")[1]
    )


@pytest.mark.parametrize("cores", [1, 2])
def test_the_trace_has_a_lane_for_each_engine(bitpath, kernels, tmp_path, cores):
    _, out, _ = bitpath(*RUN, "--cores", cores, "--trace", "t.json", "--json")
    found = json.loads(out)
    trace = json.loads((tmp_path / "t.json").read_text())
    lanes = {}
    for each in trace["traceEvents"]:
        if each["ph"] == "X":
            lanes.setdefault((each["pid"], each["cat"]), []).append(each)
    assert {(row["core"], row["engine"]) for row in found["engines"]} == lanes.keys()
    for row in found["engines"]:
        own = lanes[row["core"], row["engine"]]
        assert len(own) == row["instructions"]
        assert sum(each["dur"] for each in own) * 1200 == pytest.approx(row["cycles"])
        assert all(a["ts"] + a["dur"] <= b["ts"] + 1e-9 for a, b in pairwise(own))
    ends = [each["ts"] + each["dur"] for own in lanes.values() for each in own]
    assert max(ends) * 1200 == pytest.approx(found["overlapped_cycles"])
    names = [each["args"]["name"] for each in trace["traceEvents"] if each["name"] == "process_name"]
    assert names == [f"core {core}" for core in range(cores)]
    (copy, *_) = lanes[0, "dma"]
    assert copy["args"]["line"] == "kernels.py:25"


def debugged(folder, commands):
    """Run the kernel with a breakpoint and the debugger's commands on stdin; pytest has a debugger of its own."""
    line = [sys.executable, "-m", "bitpath", "nki", "kernels.py:stops", "--args", "x.npz", "-o", "out.npz"]
    return subprocess.run(line, cwd=folder, input=commands, capture_output=True, text=True, check=False)


def test_the_debugger_stops_in_a_kernel(kernels, tmp_path):
    done = debugged(tmp_path, "p seven * 6\np x\nc\n")
    assert done.returncode == 0, done.stderr
    assert "(Pdb) 42\n(Pdb) x[4, 8] float32 in private_hbm\n" in done.stdout
    assert (np.load(tmp_path / "out.npz")["out_0"] == kernels).all()


def test_the_debuggers_quit_interrupts(kernels, tmp_path):
    done = debugged(tmp_path, "q\n")
    assert (done.returncode, done.stderr.split()) == (130, ["bitpath:", "interrupted"])
    assert not (tmp_path / "out.npz").exists()
