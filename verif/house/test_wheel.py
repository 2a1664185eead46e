"""The wheel works without the checkout."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from bitpath.verif.kit.testplan import covers

ROOT = Path(__file__).resolve().parents[2]
LISTING = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
"""Copy the checkout without the files that git ignores, such as build folders."""


def run(*command, cwd):
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COCOTB", "BITPATH"))}
    return subprocess.run(
        [str(word) for word in command], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel outside the checkout: setuptools would leave a build folder there, and reuse stale files in it."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    done = subprocess.run(LISTING, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"git does not list the files of this checkout: {done.stderr.strip()}")
    listed = done.stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / name, follow_symlinks=False)
    built = run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, source, cwd=folder)
    assert built.returncode == 0, built.stdout + built.stderr
    return next(folder.glob("*.whl"))


def environment(folder, wheel):
    """Create an environment with the wheel and without its dependencies; return its programs and its packages."""
    venv.create(folder, with_pip=False)
    python = folder / "bin/python"
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])", cwd=folder).stdout.strip()
    done = run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "bin", Path(site)


@pytest.fixture(scope="module")
def installed(wheel):
    """Return the programs of an environment with the wheel; its dependencies are this environment's, by path."""
    programs, site = environment(wheel.parent / "whole", wheel)
    # A .pth line adds the folder but not its own .pth files, so the editable checkout is not importable.
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return programs


@pytest.fixture(scope="module")
def golden_only(wheel):
    """Return the programs of an environment with what ``pip install bitpath`` installs: links to this one's packages."""
    programs, site = environment(wheel.parent / "golden", wheel)
    pending, names = [each.name for each in core()], set()
    while pending:
        name = pending.pop()
        if name not in names:
            names.add(name)
            needed = map(Requirement, distribution(name).requires or ())
            pending += [each.name for each in needed if not each.marker or each.marker.evaluate({"extra": ""})]
    for name in names:
        found = distribution(name)
        for part in {file.parts[0] for file in found.files} - {".."}:
            (site / part).symlink_to(found.locate_file(part))
    return programs


def core(version=None):
    """Return the project's requirements without extras, on a Python "3.x" or on this one."""
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    marked = {"python_version": version} if version else {}
    required = map(Requirement, dependencies)
    return [each for each in required if not each.marker or each.marker.evaluate(marked)]


def test_the_package_comes_from_the_wheel(installed, tmp_path):
    done = run(installed / "python", "-c", "import bitpath.sim as m; print(m.__file__)", cwd=tmp_path)
    assert Path(done.stdout.strip()).is_relative_to(installed.parent)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["tools"]])
def test_commands_answer(installed, tmp_path, arguments):
    done = run(installed / "bitpath", *arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert not list(tmp_path.iterdir())


def test_emit_writes_where_it_is_told(installed, tmp_path):
    done = run(installed / "bitpath", "emit", "quad_mx_pe", "--stages", "2", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {file.suffix for file in (tmp_path / "out").iterdir()} == {".v", ".f", ".json"}
    assert [file.name for file in tmp_path.iterdir()] == ["out"]


def test_export_c_finds_its_sources(installed, tmp_path):
    done = run(installed / "bitpath", "export-c", "tensix", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(file.suffix for file in (tmp_path / "out").iterdir()) == [".c", ".h", ".sv"]


def test_report_finds_its_template(installed, tmp_path):
    done = run(installed / "bitpath", "report", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "</html>" in (tmp_path / "build/reports/report.html").read_text()


@covers("tensor_engine.run")
@pytest.mark.deep
@pytest.mark.simulator
def test_a_run_finds_its_tensors_and_writes_below_build(installed, tmp_path):
    """Run on Icarus, which compiles so small a design in a second or two; this flow needs no compiled kernels of golden."""
    line = "run rmsnorm_quant --sim icarus --slice 3x10 --format row"
    done = run(installed / "bitpath", *line.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "elements/cycle" in done.stdout
    assert [file.name for file in tmp_path.iterdir()] == ["build"]
    (record,) = json.loads((tmp_path / "build/reports/run.json").read_text())
    assert (record["outputs_compared"], record["mismatches"], record["sim"]) == (3 * 14, 0, "icarus")
    assert record["cycles"] > 0


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("emit systolic_array --rows 3 --out out", "rows must be a power of two"),
        ("waves psum", "no wave of 'psum'; run make sim UNIT=psum WAVES=1 first"),
    ],
)
def test_a_mistake_is_one_sentence(installed, tmp_path, line, says):
    done = run(installed / "bitpath", *line.split(), cwd=tmp_path)
    assert done.returncode != 0
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


PRODUCTS = """
import sys
from importlib.util import find_spec
import bitpath
assert bitpath.__version__ and not {"numpy", "numba"} & set(sys.modules)
import numpy as np
from bitpath.golden import aie_ml_v2, tensix, trainium3
a, b = np.full((2, 32), 1.1, np.float32), np.eye(32, 2, dtype=np.float32)
each = trainium3.matmul(a, b), tensix.matmul(a, b, fidelity="LoFi"), aie_ml_v2.matmul(a, b, format="mx9")
print(*(float(product[0, 0]) for product in each))
print(*(name for name in ("amaranth", "cocotb", "distributed", "torch") if find_spec(name)))
"""


@pytest.mark.deep
def test_golden_alone_multiplies(golden_only, tmp_path):
    """The core dependencies suffice for each machine, and no simulator's package is there."""
    done = run(golden_only / "python", "-W", "error", "-c", PRODUCTS, cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("1.125 1.09375 1.09375\n\n", "")


def test_golden_alone_names_the_extra_of_the_command(golden_only, tmp_path):
    done = run(golden_only / "bitpath", "run", cwd=tmp_path)
    expected = "Amaranth is not in this Python environment; run: pip install 'bitpath[sim]' (in a checkout: make setup)"
    assert (done.returncode, done.stdout, done.stderr) == (3, "", f"bitpath: {expected}\n")


OF_GOLDEN = {
    "explain trainium3 --output 3,5 --format mxfp4": "result",
    "rates tensix": "TFLOPS",
    "numerics": "fixed choice",
    "export-c tensix -o c": "bitpath_tensix.h",
    "asm tensix product.s": "0x02000000",
}
"""Commands of golden, and a word of their output; the command's own tests run all of them without the packages."""


@pytest.mark.deep
@pytest.mark.parametrize("line", OF_GOLDEN)
def test_golden_alone_runs_its_commands(golden_only, tmp_path, line):
    (tmp_path / "product.s").write_text("NOP\n")
    done = run(golden_only / "bitpath", *line.split(), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert OF_GOLDEN[line] in done.stdout


PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""Versions of Python that pyproject.toml names."""


def interpreter(version):
    """Return a Python of a version, from the path or from pyenv; skip without one."""
    found = [shutil.which(f"python{version}"), *sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))]
    for python in filter(None, (sys.executable, *found)):
        # A shim of pyenv is there for versions that are not chosen.
        said = run(python, "-c", "import ensurepip, venv, sys; print('%d.%d' % sys.version_info[:2])", cwd=ROOT)
        if said.stdout.strip() == version:
            return python
    pytest.skip(f"no Python {version} with venv on this machine")


def test_the_pythons_are_those_that_the_project_names():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [each.rpartition(" ")[2] for each in project["classifiers"] if "Python :: 3." in each]
    assert (named, project["requires-python"]) == (list(PYTHONS), f">={PYTHONS[0]}")
    workflow = (ROOT / ".github/workflows/ci.yml").read_text()
    assert [each for each in PYTHONS if f"            {each}\n" not in workflow] == []


@pytest.mark.deep
@pytest.mark.parametrize("end", ["lowest", "newest"])
@pytest.mark.parametrize("version", PYTHONS)
def test_golden_gives_the_same_bits_at_both_ends_of_the_ranges(wheel, tmp_path, version, end):
    """pip installs the wheel from the package index, which gives the bits of the locked versions."""
    made = run(interpreter(version), "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    python = tmp_path / "venv/bin/python"
    lowest = {each.name: limit.version for each in core(version) for limit in each.specifier if limit.operator == ">="}
    pins = [f"{name}=={version}" for name, version in lowest.items()] if end == "lowest" else []
    done = run(python, "-m", "pip", "install", "--quiet", wheel, *pins, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert run(tmp_path / "venv/bin/bitpath", "rates", "tensix", cwd=tmp_path).returncode == 0
    digests = Path(__file__).with_name("golden_digests.py")
    expected = run(sys.executable, digests, cwd=tmp_path)
    assert expected.returncode == 0, expected.stderr
    assert len(json.loads(expected.stdout)) > 40
    got = run(python, "-W", "error", digests, cwd=tmp_path)
    assert json.loads(got.stdout) == json.loads(expected.stdout), got.stderr
