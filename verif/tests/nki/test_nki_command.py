"""``bitpath nki``: its runs, output and files, and one sentence for every mistake."""

import json
import subprocess
import sys
from itertools import pairwise

import ml_dtypes
import numpy as np
import pytest

from bitpath.golden import trainium3
from bitpath.golden.nki import NEWEST, RELEASES
from bitpath.golden.scalar.checked import one_of

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
    assert "SBUF: 64 of 245,752 bytes of a partition at most\n" in out
    assert "\nrelease 2.33 on trn3\nstanding: documented\nout_0: float32 [4, 8]\n" in out


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


def test_literals_and_members_of_enums(bitpath, kernels, tmp_path):
    with (tmp_path / "kernels.py").open("a") as file:
        file.write(
            "\n\nclass Kind(enum.Enum):\n    HALF = 0.5\n\n\n"
            "def chosen(x, shape, kind: Kind | None = None):\n    assert (shape, kind) == ((2, None), Kind.HALF)\n    return x\n"
        )
    text = (tmp_path / "kernels.py").read_text()
    (tmp_path / "kernels.py").write_text(f"import enum\n{text}")
    line = ("nki", "kernels.py:chosen", "--args", "y.npz", "--quiet")
    for shape, kind, says in (
        ("(2, None)", "HALF", ""),
        ("(2, None)", "WHOLE", "bitpath: --args: kind must be HALF, not 'WHOLE'\n"),
        ("f()", "HALF", "bitpath: --args: shape:python must be the text of a Python literal, for example '(3, 4)'\n"),
    ):
        np.savez(tmp_path / "y.npz", **{"x": kernels, "shape:python": shape, "kind": kind})
        assert bitpath(*line) == (2 if says else 0, "", says)


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


@pytest.mark.parametrize(
    ("options", "scale"),
    [
        ((), 120),
        (("--release", "2.30"), 119),
        (("--scale-rule", "ocp"), 119),
        (("--release", "2.30", "--scale-rule", "nki05", "--target", "trn3"), 120),
    ],
)
def test_a_release_and_a_scale_rule(bitpath, tmp_path, kernels, options, scale):
    """The scale of a block of ones is 2**(0 - 7) from 2.31 on, and 2**(0 - 8) before."""
    np.savez(tmp_path / "y.npz", x=np.ones((32, 32), np.float16))
    assert bitpath("nki", "kernels.py:quantised", "--args", "y.npz", "-o", "out.npz", *options)[0] == 0
    assert (np.load(tmp_path / "out.npz")["out_0"][:4] == scale).all()


def test_a_release_and_a_target_of_the_command(bitpath, kernels):
    help_of = " ".join(bitpath("nki", "--help")[1].split())
    first, *_, last = RELEASES
    assert f"{first} to {last}, whose instructions" in help_of
    assert f"[default: {NEWEST}]" in help_of
    line = ("nki", "kernels.py:quantised", "--args", "x.npz")
    sentence = f"bitpath: release must be {', '.join(RELEASES)}, not '2.26'\n"
    assert bitpath(*line, "--release", "2.26") == (2, "", sentence)
    status, _, err = bitpath(*line, "--target", "trn2")
    assert status == 2
    assert err.startswith("bitpath: quantize_mx needs gen4, not gen3 (kernels.py:")


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
    assert found["memory"]["sbuf"] == {"high_water": 64, "bytes": 245752}
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


OLD_KERNEL = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def doubled(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.program_id(0) * 2 + nl.arange(2)[:, None], nl.arange(x.shape[1])[None, :]
    nl.store(out[i_p, i_f], 2.0 * nl.load(x[i_p, i_f]))
    return out


def caller(x):
    return doubled[x.shape[0] // 2](x)
"""


@pytest.mark.parametrize("line", ["doubled --cores 2", "caller"])
def test_an_old_style_kernel(bitpath, kernels, tmp_path, line):
    """Its grid are instances on one core."""
    (tmp_path / "old_kernel.py").write_text(OLD_KERNEL)
    status, out, err = bitpath("nki", *f"old_kernel.py:{line} --args x.npz -o out.npz --strict --json".split())
    assert (status, err) == (0, "")
    assert (np.load(tmp_path / "out.npz")["out_0"] == 2 * kernels).all()
    assert {each["core"] for each in json.loads(out)["engines"]} == {0}


# Ranks.


SUM = """
import nki
import nki.collectives as ncc
import nki.isa as nisa
import nki.language as nl


@nki.jit
def total(x, factor, kind):
    assert kind == ("one", 1)
    src, dst, out = (nl.ndarray(x.shape, x.dtype, nl.shared_hbm) for _ in range(3))
    nisa.dma_copy(src, x)
    ncc.all_reduce(srcs=[src], dsts=[dst], replica_group=ncc.ReplicaGroup([[0, 1, 2]]), op=nl.add)
    tile = nl.load(dst)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=factor)
    nisa.dma_copy(out, tile)
    return out


@nki.jit
def uneven(x, factor, kind):
    rows = 4 if factor > 0 else 2
    out = nl.ndarray((rows, 8), x.dtype, nl.shared_hbm)
    nisa.dma_copy(out, x[:rows])
    return out


def scaled(x, factor, kind):
    return sum(x) * np.reshape(factor, (3, 1, 1))
"""


@pytest.fixture
def parts(kernels, tmp_path):
    """Write sums.py and parts.npz, whose arguments differ between three ranks; return their small integers."""
    (tmp_path / "sums.py").write_text(f"import numpy as np\n{SUM}")
    x = np.arange(3 * 32).reshape(3, 4, 8).astype(ml_dtypes.bfloat16)
    own = {"x:bfloat16:ranks": x.view(np.uint16), "factor:ranks": np.array([1.0, 2.0, -0.5])}
    np.savez(tmp_path / "parts.npz", **own, **{"kind:python": "('one', 1)"})
    np.savez(tmp_path / "more.npz", **own, **{"kind:python:ranks": ["('one', 1)"] * 3})
    return x.astype(np.float32)


@pytest.mark.parametrize("args", ["parts.npz", "more.npz"])
def test_ranks_have_arguments_and_outputs_of_their_own(bitpath, parts, tmp_path, args):
    line = ("nki", "sums.py:total", "--args", args, "--ranks", "3", "-o", "out.npz", "--compare", "scaled")
    status, out, err = bitpath(*line)
    assert (status, err) == (0, "")
    assert "\nout_0: bfloat16 [3, 4, 8]\nout_0: largest error 0 ulp" in out
    with np.load(tmp_path / "out.npz") as found:
        made = found["out_0:bfloat16:ranks"].view(ml_dtypes.bfloat16).astype(np.float32)
    assert (made == parts.sum(axis=0) * np.array([1.0, 2.0, -0.5])[:, None, None]).all()


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("total --args parts.npz", "--args: x:bfloat16:ranks needs --ranks"),
        (
            "total --args parts.npz --ranks 4",
            "--args: x:bfloat16:ranks must have a first dimension of 4, one for each rank, not shape (3, 4, 8)",
        ),
        (
            "uneven --args parts.npz --ranks 3",
            "--ranks: rank 2 must return {'out_0': ((4, 8), 'bfloat16')} as rank 0, not {'out_0': ((2, 8), 'bfloat16')}",
        ),
    ],
)
def test_mistakes_of_ranks(bitpath, parts, line, sentence):
    assert bitpath("nki", *f"sums.py:{line}".split()) == (2, "", f"bitpath: {sentence}\n")


# Kernels in packages: by file, and by module.


PART = """
import nki
import nki.isa as nisa
import nki.language as nl

from .. import FACTOR
from .other import load


@nki.jit
def scaled(x):
    tile = load(x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=FACTOR)
    out = nl.ndarray(x.shape, x.dtype, nl.shared_hbm)
    nisa.dma_copy(out, tile)
    return out
"""


@pytest.fixture
def package(kernels, tmp_path):
    """Write the package rows, whose folder rows/deep has no __init__.py."""
    (tmp_path / "rows" / "deep").mkdir(parents=True)
    for name, text in {
        "__init__": "FACTOR = 2.0",
        "deep/part": PART,
        "deep/other": "import nki.language as nl\n\n\ndef load(x):\n    return nl.load(x)\n",
        "lacks": "import no_such_module",
        "alone": "from .none import x",
    }.items():
        (tmp_path / "rows" / f"{name}.py").write_text(text)
    return kernels


@pytest.mark.parametrize("kernel", ["rows/deep/part.py:scaled", "rows.deep.part:scaled"])
def test_a_kernel_of_a_package(bitpath, package, tmp_path, kernel):
    before = list(sys.path)
    assert bitpath("nki", kernel, "--args", "x.npz", "-o", "out.npz", "--quiet") == (0, "", "")
    assert (np.load(tmp_path / "out.npz")["out_0"] == 2 * package).all()
    assert list(sys.path) == before
    assert not [name for name in sys.modules if name.startswith("rows")]


def test_path_has_modules_first(bitpath, package, tmp_path):
    (tmp_path / "more" / "rows").mkdir(parents=True)
    (tmp_path / "more" / "rows" / "other.py").write_text("def kernel():\n    print('the other')\n")
    (tmp_path / "more" / "rows" / "__init__.py").write_text("")
    assert bitpath("nki", "rows.other:kernel", "--path", "more")[1].startswith("the other\n")
    assert bitpath("nki", "rows.other:kernel")[0] == 2
    assert bitpath("nki", "rows.other:kernel", "--path", "x.npz")[2].endswith("'x.npz' is a file.\n")


# ``bitpath nki``: one sentence for every mistake, and no file.


SUFFIXES = (
    "bfloat16",
    "tfloat32",
    "float8_e4m3",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e8m0fnu",
    "float8_e4m3fn_x4",
    "float8_e5m2_x4",
    "float4_e2m1fn_x4",
)

OLD = "this name is outside of the part of NKI 0.1 that runs here; the NKI migration guide of SDK 2.27 says its form in `nki`"
NEEDS = "a kernel must be FILE:KERNEL or MODULE:KERNEL, for example rows.py:softmax or my.rows:softmax"
NOWHERE = "--path, the working directory and Python's module search path have no module"
HAS = "it has scaled, unwritten, product, words, stops, nothing, unknown, checks or quantised"
PLAIN = "must be bool, float32, float16 or an integer of at most 32 bits, or end with a dtype as x:bfloat16, not"
MISTAKES = [
    ("kernels.py", f"{NEEDS}, not 'kernels.py'"),
    ("kernels.py:", f"{NEEDS}, not 'kernels.py:'"),
    ("no.such:scaled", f"no.such: {NOWHERE} no"),
    ("rows.none:scaled", f"rows.none: {NOWHERE} rows.none"),
    ("rows.deep.part:scale", "rows.deep.part has no kernel 'scale'; it has scaled; did you mean 'scaled'?"),
    (
        "rows.lacks:kernel",
        "rows.lacks cannot be loaded: ModuleNotFoundError: No module named 'no_such_module' (lacks.py:1)",
    ),
    (
        "rows/alone.py:kernel",
        "rows/alone.py cannot be loaded: ModuleNotFoundError: No module named 'rows.none' (alone.py:1)",
    ),
    ("missing.py:scaled", "missing.py cannot be read: No such file or directory"),
    (".:scaled", ". must be a regular file, not a folder"),
    ("x.npz:scaled", "x.npz must be a Python file, which ends with .py"),
    ("kernels.py:scale", f"kernels.py has no kernel 'scale'; {HAS}; did you mean 'scaled'?"),
    ("kernels.py:not_callable", f"kernels.py has no kernel 'not_callable'; {HAS}"),
    ("kernels.py:Plan", f"kernels.py has no kernel 'Plan'; {HAS}"),
    ("helper.py:other", "helper.py has no kernel 'other'; it has no function with @nki.jit"),
    ("kernels.py:scaled", "--args must have x, which scaled needs"),
    (
        "kernels.py:product",
        "--args must have stationary and moving and stationary_scale and moving_scale, which product needs",
    ),
    ("kernels.py:scaled --args missing.npz", "--args: missing.npz cannot be read: No such file or directory"),
    (
        "kernels.py:scaled --args kernels.py",
        "--args: kernels.py is not a whole .npz file of arrays without Python objects",
    ),
    ("kernels.py:nothing --args x.npz", "--args: nothing has no parameter 'x'; it has none"),
    (
        "kernels.py:scaled --args factr.npz",
        "--args: scaled has no parameter 'factr'; it has x, factor or shift; did you mean 'factor'?",
    ),
    ("kernels.py:scaled --args twice.npz", "--args: x must stand once in the file, not with two dtypes"),
    ("kernels.py:scaled --args double.npz", f"--args: x {PLAIN} float64"),
    ("kernels.py:scaled --args long.npz", f"--args: x {PLAIN} int64"),
    ("kernels.py:scaled --args bytes.npz", f"--args: x {PLAIN} |V2"),
    (
        "kernels.py:scaled --args objects.npz",
        "--args: objects.npz is not a whole .npz file of arrays without Python objects",
    ),
    ("kernels.py:scaled --args wide.npz", "--args: x:bfloat16 must have words of 2 bytes (uint16), not uint32"),
    ("kernels.py:scaled --args float.npz", "--args: x:bfloat16 must have words of 2 bytes (uint16), not float16"),
    (
        "kernels.py:scaled --args suffix.npz",
        f"--args: x:bfloat61 must end with {one_of((*SUFFIXES, 'python'))}, not 'bfloat61'; did you mean 'bfloat16'?",
    ),
    ("kernels.py:nothing -o out.npz", "-o: nothing returns no tensor"),
    ("kernels.py:scaled --args x.npz -o missing/out.npz", "-o: missing/out.npz is not a file in a folder that exists"),
    ("kernels.py:scaled --args x.npz --trace missing/t", "--trace: missing/t is not a file in a folder that exists"),
    (
        "kernels.py:scaled --args x.npz --compare twist",
        "--compare: 'twist' must be a function of kernels.py or of numpy",
    ),
    (
        "kernels.py:scaled --args x.npz --compare linalg.x",
        "--compare: 'linalg.x' must be a function of kernels.py or of numpy",
    ),
    (
        "kernels.py:scaled --args x.npz --compare flat",
        "--compare: the function must return shape (4, 8) for out_0, not (32,)",
    ),
    ("kernels.py:scaled --args x.npz --compare pair", "--compare: the function must return 1 arrays, not 2"),
    (
        "kernels.py:unknown --args x.npz",
        "kernels.py: NotImplementedError: nki.isa.no_such_instruction: this name is not modelled (kernels.py:72)",
    ),
    ("kernels.py:checks --args x.npz", "kernels.py: AssertionError: x must have one element (kernels.py:77)"),
    ("broken.py:kernel", "broken.py cannot be loaded: SyntaxError: '(' was never closed (broken.py, line 1)"),
    (
        "lacks.py:kernel",
        "lacks.py cannot be loaded: ModuleNotFoundError: No module named 'no_such_module' (lacks.py:2)",
    ),
    (
        "old.py:kernel",
        f"old.py cannot be loaded: NotImplementedError: neuronxcc.nki.language.loop_reduce: {OLD} (old.py:2)",
    ),
]


@pytest.fixture
def files(package, kernels, tmp_path):
    """Write the files that the mistakes name."""
    words = kernels.view(np.uint32)
    for name, arrays in {
        "factr": {"x": kernels, "factr": 1.0},
        "twice": {"x": kernels, "x:float32": kernels},
        "double": {"x": kernels.astype(np.float64)},
        "long": {"x": kernels.astype(np.int64)},
        "bytes": {"x": words.astype(np.uint16).view("V2")},
        "objects": {"x": np.array([None])},
        "wide": {"x:bfloat16": words},
        "float": {"x:bfloat16": kernels.astype(np.float16)},
        "suffix": {"x:bfloat61": words},
    }.items():
        np.savez(tmp_path / f"{name}.npz", **arrays)
    for name, text in {
        "broken": "(",
        "lacks": "\nimport no_such_module\n",
        "old": "import neuronxcc.nki.language as nl\nreduce = nl.loop_reduce\n",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)


@pytest.mark.parametrize(("line", "sentence"), MISTAKES, ids=[line for line, _ in MISTAKES])
def test_a_mistake_is_one_sentence_and_writes_nothing(bitpath, files, tmp_path, line, sentence):
    before = sorted(tmp_path.iterdir())
    given = line if " -o " in line else f"{line} -o out.npz"
    given = given if "--trace" in line else f"{given} --trace t.json"
    status, out, err = bitpath("nki", *given.split())
    assert (status, out, err) == (2, "", f"bitpath: {sentence}\n")
    assert [each for each in sorted(tmp_path.iterdir()) if each.name != "__pycache__"] == before


def test_a_reference_that_fails_names_its_line(bitpath, files):
    status, _, err = bitpath("nki", "kernels.py:scaled", "--args", "x.npz", "--compare", "fails")
    assert status == 2
    assert err.startswith("bitpath: --compare: ValueError: matmul")
    assert err.endswith("(kernels.py:93)\n")


def test_a_broken_rule_names_the_kernels_line(bitpath, files, tmp_path):
    (tmp_path / "rule.py").write_text(
        "import nki.isa as nisa\nimport nki.language as nl\n\n\ndef kernel():\n"
        "    tile = nl.ndarray((64, 8), nl.float32)\n    nisa.memset(tile[16:32], 0.0)\n"
    )
    status, out, err = bitpath("nki", "rule.py:kernel")
    assert (status, out) == (2, "")
    assert err == "bitpath: memset dst: 16 partitions must start at 0, 32, 64, 96, not at 16 (rule.py:7)\n"
