"""``bitpath run``: what it leaves, that a difference fails it, and that a mistake is one sentence and nothing else."""

import errno
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bitpath.golden import trainium3
from bitpath.sim import __main__, paths
from bitpath.sim.flows import aie_matmul, job, layer, matmul, operands, results, tensix_matmul, trainium3_matmul

ROOT = Path(__file__).resolve().parents[3]
RECORD = {
    "machine": str,
    "flow": str,
    "format": str,
    "config": dict,
    "digest": str,
    "sim": str,
    "outputs_compared": int,
    "mismatches": int,
    "macs": int,
    "cycles": int,
    "mac_per_cycle": float,
    "peak_mac_per_cycle": float,
    "wall_seconds": float,
    "sqnr_db": float,
    "max_rel_error": float,
}
SMALL = ("--rows", "4", "--cols", "4")
"""An engine that verif/tests/rtl/test_tensor_engine.py builds too."""


@pytest.fixture
def bitpath(tmp_path, monkeypatch, capsys):
    """The command, in a folder of its own but with the checkout's simulator builds: status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(paths, "simulations", lambda: ROOT / "build" / "sim")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["bitpath", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit_:
            __main__.main()
        return int(exit_.value.code or 0), *capsys.readouterr()

    return call


@pytest.fixture
def matrices(tmp_path):
    """Files a.npy [5, 130] and b.npy [130, 3], and what is in them."""
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((5, 130), (130, 3)))
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    return a, b


def same_bits(x, y):
    return x.dtype == y.dtype == np.float32 and np.array_equal(x.view(np.uint32), y.view(np.uint32))


@pytest.mark.simulator
def test_a_slice_of_the_layer(bitpath, tmp_path):
    status, out, err = bitpath("run", "--sim", "icarus", "--slice", "2x128x2", "--format", "mxfp4")
    assert (status, err) == (0, "")
    assert "mxfp4" in out
    (record,) = json.loads((tmp_path / "build/reports/run.json").read_text())
    assert {name: type(record[name]) for name in RECORD} == RECORD
    assert record["outputs_compared"] == 4
    assert record["mismatches"] == 0
    assert record["macs"] == 2 * 128 * 2
    assert record["mac_per_cycle"] == pytest.approx(record["macs"] / record["cycles"], abs=0.05)
    assert len(record["digest"]) == 8
    assert record["config"]["shape"] == [2, 128, 2]
    assert record["sqnr_db"] > 10


@pytest.mark.simulator
def test_every_machine_where_none_is_named(bitpath, monkeypatch):
    """One format of each; run.json has them in the machines' order."""
    monkeypatch.setattr(trainium3_matmul, "FORMATS", {"mxfp4": trainium3_matmul.FORMATS["mxfp4"]})
    monkeypatch.setattr(tensix_matmul, "FORMATS", ("bf16_lofi",))
    monkeypatch.setattr(aie_matmul, "FORMATS", ("mx9",))
    status, out, err = bitpath("run", "--sim", "icarus", "--slice", "2x32x2")
    assert (status, err) == (0, "")
    assert all(out.count(machine) == 1 for machine in ("trainium3", "tensix", "aie_ml_v2")), (
        "the machines share a table"
    )
    records = json.loads(Path("build/reports/run.json").read_text())
    assert [(record["machine"], record["format"]) for record in records] == [
        ("trainium3", "mxfp4"),
        ("tensix", "bf16_lofi"),
        ("aie_ml_v2", "mx9"),
    ]
    for record in records:
        assert {name: type(record[name]) for name in RECORD} == RECORD
        assert (record["outputs_compared"], record["mismatches"]) == (4, 0)
    assert records[1]["config"]["fidelity"] == "LoFi"
    assert records[1]["sqnr_db"] > 20
    assert records[2]["config"]["mode"] == "mx9"
    assert records[2]["sqnr_db"] > 30
    # 4x4 PEs of four products; 2x4 dot products of 16; 4 of MX9's 64 lanes, 8 products of each in a cycle.
    assert [record["peak_mac_per_cycle"] for record in records] == [64, 128, 32]


@pytest.mark.simulator
def test_rmsnorm_quant(bitpath, tmp_path):
    """Both quantisation types; the last row and the last lane of the unit are not filled."""
    status, out, err = bitpath("run", "--flow", "rmsnorm_quant", "--sim", "icarus", "--slice", "3x10")
    assert (status, err) == (0, "")
    assert "elements/cycle" in out
    records = json.loads((tmp_path / "build/reports/run.json").read_text())
    assert [record["format"] for record in records] == ["row", "static"]
    for record, width in zip(records, (14, 10), strict=True):
        assert (record["machine"], record["flow"]) == ("trainium3", "rmsnorm_quant")
        assert (record["outputs_compared"], record["mismatches"]) == (3 * width, 0)
        assert record["config"]["shape"] == [3, 10]
        assert record["elements_per_cycle"] == pytest.approx(30 / record["cycles"], abs=0.005)
        assert record["sqnr_db"] > 25


@pytest.mark.simulator
def test_a_layer_from_the_normalisation_on(bitpath, tmp_path):
    """An odd number of rows, which is padded, and a contraction of less than a whole tile."""
    command = ("run", "--flow", "layer", "--sim", "icarus", "--slice", "3x130x2", "--format", "mxfp8_e5m2")
    status, out, err = bitpath(*command, "-o", "out.npz")
    assert (status, err) == (0, "")
    assert "quantized" in out
    (record,) = json.loads((tmp_path / "build/reports/run.json").read_text())
    assert record["flow"] == "layer"
    assert (record["outputs_compared"], record["mismatches"], record["quantized_mismatches"]) == (6, 0, 0)
    # 64 partitions of 4 elements for 4 rows, and a scale for every 32 of them.
    assert record["quantized_compared"] == 64 * 4 * 4 * 33 // 32
    assert record["quantize_cycles"] >= 64 * 4 // 8
    hidden, gamma, weight = operands.normalised_layer()
    normalised = trainium3.rmsnorm(*map(trainium3.round_to_bfloat16, (hidden[:3, :130], gamma[:130])))
    expected = trainium3.matmul(
        normalised.astype(np.float32), weight[:130, :2], a_format="mxfp8_e5m2", b_format="mxfp8_e5m2"
    )
    with np.load("out.npz") as saved:
        assert same_bits(saved["result"], expected)
        assert same_bits(saved["golden"], expected)


def stated(flow):
    """README's figures of a flow, by format: outputs, SQNR and cycles as it writes them."""
    table = re.search(r"<!-- flows -->\n(.*?)\n<!-- /flows -->", (ROOT / "README.md").read_text(), re.DOTALL)[1]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    return {row[1]: (row[2], row[4], row[6]) for row in rows if row[0] == flow}


@pytest.mark.simulator
def test_the_whole_of_rmsnorm_quant(bitpath):
    """README's figures, from the unit that the known answers use too."""
    assert bitpath("run", "--flow", "rmsnorm_quant")[0] == 0
    records = json.loads(Path("build/reports/run.json").read_text())
    assert all(record["mismatches"] == 0 for record in records)
    assert stated("rmsnorm_quant") == {
        each["format"]: (f"{each['outputs_compared']:,} bytes", f"{each['sqnr_db']:.2f}", f"{each['cycles']:,}")
        for each in records
    }


@pytest.mark.deep
@pytest.mark.simulator
def test_the_whole_layer(bitpath):
    assert bitpath("run", "--flow", "layer")[0] == 0
    records = json.loads(Path("build/reports/run.json").read_text())
    assert all(record["mismatches"] == 0 for record in records)
    assert stated("layer") == {
        each["format"]: (
            f"{each['quantized_compared']:,} elements and scales, {each['outputs_compared']:,} outputs",
            f"{each['sqnr_db']:.2f}",
            f"{each['quantize_cycles']:,} + {each['cycles']:,}",
        )
        for each in records
    }


def test_a_difference_of_quantised_elements_fails_the_layer(bitpath, monkeypatch):
    """The result is golden's; one element of those that the quantiser gave is not."""
    monkeypatch.setattr(
        matmul, "build", lambda *_: type("Built", (), {"top": "engine", "digest": "0" * 8, "seconds": 0})
    )
    monkeypatch.setattr(layer, "build", matmul.build)

    def quantise(self, console, built, tile):
        elements, scales = trainium3.quantize_tile(tile, "mxfp8_e4m3")
        return (elements, scales ^ (np.indices(scales.shape).sum(axis=0) == 0)), 1

    def multiply(console, built, bench, title, save_plan):
        return {"output": golden.view(np.uint32), "cycles": 1}

    monkeypatch.setattr(layer.Job, "_quantise", quantise)
    monkeypatch.setattr(matmul, "play", multiply)
    golden = layer.Job(*layer.operands("2x128x2"), "mxfp8_e4m3", layer.engine_for("verilator"), "verilator").golden()
    status, out, _ = bitpath("run", "--flow", "layer", "--slice", "2x128x2", "--format", "mxfp8_e4m3")
    assert f"quantised: [{2 * 128}] is 0x" in out, "the first scale, behind all elements"
    (record,) = json.loads(Path("build/reports/run.json").read_text())
    assert (status, record["mismatches"], record["quantized_mismatches"]) == (1, 1, 1)


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
    """Which jobs there are; none is simulated."""
    ran = []

    def run(self, _):
        ran.append(self.machine)
        zeros = np.zeros((2, 2), np.float32)
        return job.Outcome(zeros, zeros, dict.fromkeys(results.COLUMNS, 0) | {"machine": self.machine})

    monkeypatch.setattr(matmul.MatmulJob, "run", run)
    assert bitpath("run", "--slice", "2x128x2", *arguments)[0] == 0
    assert ran == machines


@pytest.mark.simulator
def test_own_matrices(bitpath, matrices, tmp_path):
    a, b = matrices
    command = ("run", "--a", "a.npy", "--b", "b.npy", "--format", "mxfp8_e4m3", "-o", "out.npz", *SMALL)
    assert bitpath(*command)[0] == 0
    expected = trainium3.matmul(a, b)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    with np.load("out.npz") as saved:
        assert set(saved) == {"result", "golden"}
        assert same_bits(saved["result"], expected)
        assert same_bits(saved["golden"], expected)
        # 15 dB, a few less than what E4M3 leaves of such numbers: a K that is mixed up leaves none.
        assert 30 * np.square(saved["result"] - exact).sum() < np.square(exact).sum()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npy", "b.npy", "build", "out.npz"]
    (record,) = json.loads((tmp_path / "build/reports/run.json").read_text())
    assert record["outputs_compared"] == 15


@pytest.mark.simulator
def test_infinite_results_are_compared_too(bitpath, matrices):
    """A result that is not finite has no SQNR, and is no mistake."""
    a, _ = matrices
    a[0, 0] = np.inf
    a[1, :] = np.nan
    np.save("a.npy", a)
    command = ("run", "--a", "a.npy", "--b", "b.npy", "--format", "mxfp8_e5m2", "-o", "out.npz", *SMALL)
    status, _, err = bitpath(*command)
    assert (status, err) == (0, "")
    with np.load("out.npz") as saved:
        assert np.isnan(saved["result"][1]).all()
    (record,) = json.loads(Path("build/reports/run.json").read_text())
    assert (record["mismatches"], record["sqnr_db"]) == (0, None)


@pytest.mark.simulator
def test_one_bit_of_difference_fails_the_run(bitpath, monkeypatch):
    honest = trainium3.run_plan

    def flipped(*args, **kwargs):
        result = honest(*args, **kwargs)
        result.view(np.uint32)[1, 0] ^= 1
        return result

    monkeypatch.setattr(trainium3, "run_plan", flipped)
    status, out, _ = bitpath("run", "--sim", "icarus", "--slice", "2x128x2", "--format", "mxfp8_e4m3")
    assert status == 1
    assert "[1, 0] is 0x" in out
    (record,) = json.loads(Path("build/reports/run.json").read_text())
    assert (record["mismatches"], record["outputs_compared"]) == (1, 4)


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
            "matrix_unit: rows is 3, allowed are powers of two from 1 to 8",
        ),
        (("run", "--format", "mxfp6"), "format is 'mxfp6'; trainium3 has mxfp8_e4m3, mxfp8_e5m2, mxfp4"),
        (("run", "--format", "bf17"), "aie_ml_v2 has mx9, mx6, mx4, bf16, fp16, fp8_e4m3"),
        (("run", "--machine", "trainium9"), "'trainium9' is not one of 'trainium3', 'tensix', 'aie_ml_v2'"),
        (("run", "--machine", "aie_ml_v2", "--rows", "4"), "--rows is not a size of aie_ml_v2"),
        (("run", "--format", "bf16_lofi", "--lanes", "4"), "--lanes is not a size of tensix"),
        (("run", "--lanes", "48"), "vector_mac: lanes is 48, allowed are powers of two from 1 to 64"),
        (("run", "--flow", "attention"), "'attention' is not one of 'matmul', 'rmsnorm_quant', 'layer'"),
        (("run", "--flow", "layer", "--machine", "tensix"), "--flow layer is trainium3's; --machine is tensix"),
        (("run", "--flow", "layer", "--a", "a.npy"), "--a and --b go with --flow matmul"),
        (("run", "--flow", "layer", "--format", "row"), "format is 'row'; trainium3 has mxfp8_e4m3"),
        (("run", "--flow", "layer", "--lanes", "2"), "--lanes is not a size of layer"),
        (("run", "--flow", "rmsnorm_quant", "--format", "mx9"), "format is 'mx9'; rmsnorm_quant has row, static"),
        (("run", "--flow", "rmsnorm_quant", "--slice", "8x16x8"), "--slice is '8x16x8'; MxK is allowed"),
        (("run", "--flow", "rmsnorm_quant", "--slice", "8x400"), "--slice is 8x400; up to 128x384 is allowed"),
        (("run", "--flow", "rmsnorm_quant", "--lanes", "200"), "lanes is 200, allowed are 1 to 128"),
        (
            ("run", "--flow", "rmsnorm_quant", "--sim", "icarus", "--slice", "2x100"),
            "rows have 100 elements; 64 are allowed on icarus",
        ),
        (("run", "--sim", "vcs"), "'vcs' is not one of 'verilator', 'icarus'"),
        (("run", "--nosuch"), "No such option"),
        (("run", "--rows", "many"), "'many' is not a valid integer"),
        (("run", "--rows", "3"), "rows is 3, allowed are powers of two from 2 to 128"),
        (("run", "--cols", "256"), "cols is 256, allowed are powers of two from 2 to 128"),
        (("run", "--cols", "0"), "cols is 0, allowed are powers of two from 2 to 128"),
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
        (own(a="deep.npy"), "b has 130 rows; 131 are allowed, as many as a has columns"),
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

    # For root every folder can be written to, so that its permissions would not do.
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
    """In a process of its own, with nothing on PATH."""
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


def test_an_engine_that_was_never_busy_is_an_error(bitpath, monkeypatch):
    """A dead engine: no results and no cycles."""
    monkeypatch.setattr(matmul, "build", lambda *_: type("Built", (), {"top": "engine", "digest": "0" * 8}))
    left = {"output": np.zeros((2, 2), np.uint32), "cycles": 0}
    monkeypatch.setattr(job, "run", lambda *_, env, **__: np.savez(env["BITPATH_RESULT"], **left))
    status, _, err = bitpath("run", "--slice", "2x128x2", "--format", "mxfp4")
    assert status == 1
    assert err == "bitpath: engine was never busy: it did not take the instructions\n"
