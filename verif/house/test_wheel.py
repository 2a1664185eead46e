"""The wheel works without the checkout."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LISTING = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
"""Copy the checkout without the files that git ignores, such as build folders."""


def run(*command, cwd):
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COCOTB", "BITPATH"))}
    return subprocess.run(
        [str(word) for word in command], cwd=cwd, env=env, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Create an environment with the wheel; its dependencies are this environment's, by path."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    # Build outside the checkout: setuptools would leave a build folder there, and reuse stale files in it.
    listed = subprocess.run(LISTING, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    built = run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, source, cwd=folder)
    assert built.returncode == 0, built.stdout + built.stderr
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv/bin/python"
    site = Path(
        run(python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])", cwd=folder).stdout.strip()
    )
    wheel = next(folder.glob("*.whl"))
    done = run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel, cwd=folder)
    assert done.returncode == 0, done.stderr
    # A .pth line adds the folder but not its own .pth files, so the editable checkout is not importable.
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return folder / "venv/bin"


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


@pytest.mark.simulator
def test_a_run_finds_its_tensors_and_writes_below_build(installed, tmp_path):
    """Run on Icarus, which compiles so small a design in a second or two."""
    done = run(
        installed / "bitpath", "run", "--sim", "icarus", "--slice", "2x128x2", "--format", "mxfp8_e4m3", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "mxfp8_e4m3" in done.stdout
    assert [file.name for file in tmp_path.iterdir()] == ["build"]
    (record,) = json.loads((tmp_path / "build/reports/run.json").read_text())
    assert (record["outputs_compared"], record["mismatches"], record["sim"]) == (4, 0, "icarus")
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
