"""``bitpath run``: the jobs that a line selects, a sentence for every mistake, and the order of builds and results."""

import io
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from bitpath.sim.engine import process
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.flows import builds, matmul, outcome
from bitpath.sim.flows.machines import RECORDS
from bitpath.verif.kit.testplan import covers


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

    def run(self, *_):
        ran.append(self.machine)
        zeros = np.zeros((2, 2), np.float32)
        return outcome.Outcome(zeros, zeros, dict.fromkeys(outcome.COLUMNS, 0) | {"machine": self.machine})

    monkeypatch.setattr(matmul.MatmulRun, "compare", run)
    assert bitpath("run", "--slice", "2x128x2", *arguments)[0] == 0
    assert ran == machines


FILES = "--a a.npy --b b.npy"
MISTAKES = [
    ("run --machine tensix --format bf16", "format of tensix must be bf16, tf32, fp16"),
    ("run --machine tensix --rows 3", "matrix_unit: rows must be a power of two from 1 to 8, not 3"),
    ("run --format mxfp6", "format must be trainium3's mxfp8_e4m3, mxfp8_e5m2 or mxfp4; tensix's bf16, tf32"),
    ("run --machine aie_ml_v2 --format bfp16ebs8", "not 'bfp16ebs8', which only golden multiplies"),
    ("run --format bfp16ebs8", "not 'bfp16ebs8', which no engine runs here"),
    ("run --format bf17", "aie_ml_v2's mx9, mx6, mx4, bf16, fp16, fp8_e4m3"),
    ("run --machine trainium9", "'trainium9' is not one of 'trainium3', 'tensix', 'aie_ml_v2'"),
    ("run --machine aie_ml_v2 --rows 4", "--rows is not an option of aie_ml_v2"),
    ("run --format bf16_lofi --lanes 4", "--lanes is not an option of tensix"),
    ("run --lanes 48", "vector_mac: lanes must be a power of two from 1 to 64, not 48"),
    ("run attention", "No such command 'attention'"),
    ("run --format fp8_double_row", "not 'fp8_double_row', which runs with --machine trainium3"),
    ("run --machine trainium3 --format bf16 --rows 4", "--rows is not an option of trainium3's bf16"),
    ("run --machine trainium3 --format sparse_4_18", "format of trainium3 must be 'mxfp8_e4m3'"),
    ("run --machine trainium3 --format bf16 --scale-rule ocp", "trainium3's bf16 has no scale rule"),
    ("run core --sim icarus", "the flow core runs a core of a quadrant, on verilator alone, not on icarus"),
    (
        "run core --slice 8x128x8",
        "--slice goes with bitpath run matmul, rmsnorm_quant, layer, softmax, relu_accumulate or tile, not with core",
    ),
    ("run core --format mxfp4", "format of core must be mxfp8_e4m3 or mxfp8_e5m2, not 'mxfp4'"),
    ("run layer --shaping off", "--shaping goes with bitpath run core, not with layer"),
    ("run core --qos maybe", "'maybe' is not one of 'on', 'off'"),
    ("run softmax --format fp16", "format of softmax must be fp32 or bf16, not 'fp16'"),
    ("run softmax --slice 200x8", "--slice must be 1x1 to 128x128, not 200x8"),
    ("run layer --machine tensix", "'tensix' is not 'trainium3'"),
    ("run layer --a a.npy", "--a goes with bitpath run matmul, not with layer"),
    ("run layer --format row", "format of trainium3 must be mxfp8_e4m3"),
    (
        "run --machine tensix --scale-rule ocp",
        "--scale-rule goes with trainium3's MX formats; tensix has no scale rule",
    ),
    (
        "run rmsnorm_quant --scale-rule nki05",
        "--scale-rule goes with bitpath run matmul, layer, core or lm, not with rmsnorm_quant",
    ),
    ("run --scale-rule nki06", "'nki06' is not one of 'ocp', 'nki05'"),
    ("run layer --lanes 2", "--lanes goes with bitpath run matmul or rmsnorm_quant, not with layer"),
    ("run rmsnorm_quant --format mx9", "format of rmsnorm_quant must be row or static, not 'mx9'"),
    ("run rmsnorm_quant --slice 8x16x8", "--slice must be MxK, for example 8x48, not '8x16x8'"),
    ("run rmsnorm_quant --slice 8x400", "--slice must be 1x1 to 128x384, not 8x400"),
    ("run rmsnorm_quant --lanes 200", "lanes must be 1 to 128, not 200"),
    (
        "run rmsnorm_quant --sim icarus --slice 2x100",
        "rows must have up to 64 elements on icarus, not 100",
    ),
    ("run --eps 1e-3", "--eps goes with bitpath run rmsnorm_quant, not with matmul"),
    ("run layer --quant-only", "--quant-only goes with bitpath run rmsnorm_quant, not with layer"),
    ("run rmsnorm_quant --hidden none.npy", "--hidden: none.npy cannot be read: No such file or directory"),
    ("run rmsnorm_quant --eps -1", "eps must be a finite number of bfloat16's range, at least 0, not -1.0"),
    ("run --sim vcs", "'vcs' is not one of 'verilator', 'icarus'"),
    ("run --nosuch", "No such option"),
    ("run --rows many", "'many' is not a valid integer"),
    ("run --rows 3", "rows must be a power of two from 2 to 128, not 3"),
    ("run --cols 256", "cols must be a power of two from 2 to 128, not 256"),
    ("run --cols 0", "cols must be a power of two from 2 to 128, not 0"),
    ("run --rows 2 --cols 2", "2x2 PEs need 32768 PSUM places"),
    ("run --rows 2 --cols 128", "words of operand memory and have 4096"),
    ("run --sim icarus --slice 128x384x512", "4x4 PEs need 16384 PSUM places"),
    ("run --slice 8x128", "--slice must be MxKxN, for example 8x128x8, not '8x128'"),
    ("run --slice 0x128x8", "--slice must be 1x1x1 to 128x384x512, not 0x128x8"),
    ("run --slice 8x999x8", "--slice must be 1x1x1 to 128x384x512, not 8x999x8"),
    ("run --a a.npy", "--b is missing; --a and --b go together"),
    ("run --b b.npy", "--a is missing; --a and --b go together"),
    ("run -o out.npz", "-o takes the results of one format"),
    (f"run {FILES} --format mxfp4 -o nosuch/out.npz", "-o: nosuch/out.npz is not a file in a folder that exists"),
    (f"run {FILES} --format mxfp4 -o .", "'.' is a directory"),
    (f"run {FILES} --slice 6x130x3", "--slice must be 1x1x1 to 5x130x3, not 6x130x3"),
    ("run --a missing.npy --b b.npy", "--a: missing.npy cannot be read: No such file or directory"),
    ("run --a . --b b.npy", "'.' is a directory"),
    ("emit psum --rows 4 --out out", "unit 'psum' has no rows"),
    ("emit quad_mx_pe --stages 9 --out out", "stages must be 0 to 4, not 9"),
    ("emit --out out", "name one unit or give --all"),
    ("emit psum --name p --out out", "--name names the module of one unit; give it with --flat and a unit"),
    ("emit --all --flat --name p --out out", "--name names the module of one unit; give it with --flat and a unit"),
    ("emit psum --testbench --out out", "--testbench drives the flat module; give it with --flat"),
    ("emit psum --flat --name reg --out out", "'reg' must be letters, digits and _, without a digit first"),
    ("test-sim nosuch", "unknown unit 'nosuch', known are quad_mx_dot"),
    ("test-sim psum --sim vcs", "'vcs' is not one of 'verilator', 'icarus'"),
    ("test-sim psum --filter (", "--filter: '(' is not a regular expression: missing ), unterminated subpattern"),
    ("test-sim psum --timeout 0", "0.0 is not in the range x>0"),
    ("test-sim psum --config missing.json", "--config: missing.json cannot be read: No such file or directory"),
    ("nosuch", "No such command 'nosuch'"),
]


def refused(bitpath, folder, line, says):
    """Check that a command fails with one sentence and writes nothing."""
    before = sorted(folder.iterdir())
    status, out, err = bitpath(*line.split())
    assert status == 2
    assert out == ""
    assert err.startswith("bitpath: ")
    assert says in err
    assert err.count("\n") == 1
    assert sorted(folder.iterdir()) == before


@covers(
    "robustness.files",
    "A damaged file must not be used, and must not invalidate the others",
    "Truncated or garbled matrices, libraries, layer files, builds, stamps, journals, results and reports",
)
@covers(
    "tensor_engine.mistakes",
    "Never a traceback for a user's mistake, and nothing left half-written",
    "Unknown names, sizes that do not fit, files with other contents, missing tools: one sentence",
)
@pytest.mark.parametrize(("line", "says"), MISTAKES, ids=[line for line, _ in MISTAKES])
def test_a_mistake_is_one_sentence(bitpath, matrices, tmp_path, line, says):
    refused(bitpath, tmp_path, line, says)


def npy(array):
    """Return the bytes of a .npy file."""
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def header(descr, shape):
    """Return the header of a .npy file, which numpy would not write for every shape."""
    text = f"{ {'descr': descr, 'fortran_order': False, 'shape': shape} }\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


WHOLE = npy(np.ones((5, 130), np.float32))
NO_FILE, NO_MATRIX = "is not a whole .npy file", "must have two dimensions of at least 1, not shape"
BAD_MATRICES = {
    "a text": (b"1 2 3", NO_FILE),
    "empty": (b"", NO_FILE),
    "cut": (WHOLE[:-9], NO_FILE),
    "a wrong header": (WHOLE.replace(b"(5,", b"(5;"), NO_FILE),
    "more than memory": (header("<f4", (99999, 9999999)), NO_FILE),
    "a pickle": (npy(np.array([{}], object)), "must be an array without Python objects"),
    "more than a size": (header("<f4", (2**70, 1)), f"{NO_FILE}: its shape must be"),
    "a truth value": (header("<f4", (True, 5)), f"{NO_FILE}: its shape must be at most 64 numbers from 0 to 2**63 - 1"),
    "any size": (header("<f4", (-1, 5)) + bytes(100), f"{NO_FILE}: its shape must be"),
    "a negative size": (header("<f4", (-5, -5)) + bytes(100), f"{NO_FILE}: its shape must be"),
    "no dtype": (header((), (5, 2)), NO_FILE),
    "bytes after it": (WHOLE + b"\0", f"{NO_FILE}: shape (5, 130) has 2600 bytes, the file has 2601"),
    "no dimension": (npy(np.float32(1)), f"{NO_MATRIX} ()"),
    "an archive": (b"PK\x03\x04 no archive", NO_FILE),
    "float64": (npy(np.ones((5, 130), np.float64)), "must be float32 or float16, not float64"),
    "int8": (npy(np.ones((5, 130), np.int8)), "must be float32 or float16, not int8"),
    "one dimension": (npy(np.ones(130, np.float32)), f"{NO_MATRIX} (130,)"),
    "three dimensions": (npy(np.ones((2, 5, 130), np.float32)), f"{NO_MATRIX} (2, 5, 130)"),
    "no column": (npy(np.ones((5, 0), np.float32)), f"{NO_MATRIX} (5, 0)"),
}


@covers("robustness.outputs")
@pytest.mark.parametrize(("content", "says"), BAD_MATRICES.values(), ids=BAD_MATRICES)
@pytest.mark.parametrize("option", ["--a", "--b"])
def test_a_file_that_is_no_matrix(bitpath, matrices, tmp_path, option, content, says):
    (tmp_path / "bad.npy").write_bytes(content)
    other = "--b b.npy" if option == "--a" else "--a a.npy"
    refused(bitpath, tmp_path, f"run {option} bad.npy {other} --slice 1x1x1", f"{option}: bad.npy {says}")


def test_matrices_that_do_not_fit(bitpath, tmp_path, saved):
    files = saved(np.ones((5, 131), np.float32), np.ones((130, 3), np.float32))
    refused(bitpath, tmp_path, f"run {files}", "b must have 131 rows, as many as a has columns, not 130")
    files = saved(np.ones((5, 130), np.float32), np.full((130, 3), np.nan, np.float32))
    refused(bitpath, tmp_path, f"run {files}", "b holds NaN, which float4_e2m1fn cannot express")


@covers("tensor_engine.mistakes")
def test_a_folder_that_cannot_be_written_to(bitpath, matrices, tmp_path, monkeypatch):
    # Permissions do not suffice here: root may write to every folder.
    monkeypatch.setattr("os.access", lambda path, mode: path != tmp_path)
    refused(bitpath, tmp_path, f"run {FILES} --format mxfp4 -o out.npz", f"-o: {tmp_path} cannot be written to")


@covers("tensor_engine.mistakes")
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
    command = [sys.executable, "-m", "bitpath.sim", "run", "--quiet", "--sim", simulator, "--slice", "2x128x2"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={"PATH": str(empty), "BITPATH_QUIET": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 3
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty"]


# ``bitpath run``: the next machine is built while one simulates, and each result is shown and kept at once.


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
    """Return the output of a stage without a terminal."""
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
