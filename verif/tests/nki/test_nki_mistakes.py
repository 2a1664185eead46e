"""``bitpath nki``: one sentence for every mistake, and no file."""

import numpy as np
import pytest

from bitpath.golden.scalar.checked import one_of

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

OLD = "kernels of NKI 0.1 (masks, mgrid, block dimensions, neuronxcc.nki) are out of scope"
HAS = "it has scaled, unwritten, product, words, stops, nothing, unknown or checks"
PLAIN = "must be bool, float32, float16 or an integer of at most 32 bits, or end with a dtype as x:bfloat16, not"
MISTAKES = [
    ("kernels.py", "a kernel must be FILE:KERNEL, for example rows.py:softmax, not 'kernels.py'"),
    ("kernels.py:", "a kernel must be FILE:KERNEL, for example rows.py:softmax, not 'kernels.py:'"),
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
        f"--args: x:bfloat61 must end with {one_of(SUFFIXES)}, not 'bfloat61'; did you mean 'bfloat16'?",
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
        f"old.py cannot be loaded: NotImplementedError: neuronxcc.nki.language.float32: {OLD} (old.py:2)",
    ),
]


@pytest.fixture
def files(kernels, tmp_path):
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
        "old": "import neuronxcc.nki.language as nl\ndtype = nl.float32\n",
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
