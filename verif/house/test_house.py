"""Packaging, pinned versions, the Makefile and the source tree are consistent."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = sorted(ROOT.glob("requirements*.lock"))
LOCKED = {
    lock.name: dict(line.split("==") for line in lock.read_text().splitlines() if not line.startswith("#"))
    for lock in LOCKS
}
LOCK = {name: version for lock in LOCKED.values() for name, version in lock.items()}
DEPENDENCIES = [
    *PYPROJECT["project"]["dependencies"],
    *(each for extra in PYPROJECT["project"]["optional-dependencies"].values() for each in extra),
]
PINNED = re.compile(r"([\w.-]+)(?:\[[\w,-]+\])?==([\w.]+)")


def test_the_package_list_is_what_is_on_disk():
    folders = {
        f"bitpath.{'.'.join(init.parent.relative_to(ROOT).parts)}"
        for top in ("golden", "rtl", "verif", "sim")
        for init in (ROOT / top).rglob("__init__.py")
    }
    assert folders == set(PYPROJECT["tool"]["setuptools"]["packages"])


def test_every_folder_of_sources_is_a_package():
    holding = {file.parent for top in ("golden", "rtl", "sim", "verif") for file in (ROOT / top).rglob("*.py")}
    tests = (ROOT / "verif/tests", ROOT / "verif/house")
    assert not [
        folder
        for folder in holding
        if not (folder / "__init__.py").exists() and not any(map(folder.is_relative_to, tests))
    ]


@pytest.mark.parametrize("dependency", DEPENDENCIES)
def test_every_dependency_is_pinned_as_in_the_lock(dependency):
    name, version = PINNED.fullmatch(dependency).groups()
    assert LOCK[name] == version


def test_no_two_locks_differ():
    assert len(LOCKED) > 1
    for lock in LOCKED.values():
        assert lock == {name: LOCK[name] for name in lock}


def test_the_build_backend_is_the_locked_one():
    assert PYPROJECT["build-system"]["requires"] == [f"setuptools=={LOCK['setuptools']}"]


# numpy and pytest need no explanation here, and setuptools is explained once.
@pytest.mark.parametrize(
    "dependency", [d for d in DEPENDENCIES if PINNED.match(d)[1] not in ("numpy", "pytest", "setuptools")]
)
def test_every_dependency_has_its_reason(dependency):
    lines = [line.strip() for line in (ROOT / "pyproject.toml").read_text().splitlines()]
    assert lines[lines.index(f'"{dependency}",') - 1].startswith("# ")


def tracked():
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_paths_of_one_machine():
    # Spelt so that this file does not find itself.
    machine = re.compile("|".join(["/" + "work/", "/" + "home/", "/" + "root/", "/" + "tmp/", "/" + "Users/"]).encode())
    assert not [file for file in tracked() if machine.search(file.read_bytes())]


def test_only_ci_refers_to_folders_outside_the_checkout():
    beside = ("../" + "shared").encode()
    assert [str(file.relative_to(ROOT)) for file in tracked() if beside in file.read_bytes()] == [".ci/run"]


def test_the_lock_names_packages_and_nothing_else():
    assert all(re.fullmatch(r"#.*|[\w.-]+==[\w.]+", line) for lock in LOCKS for line in lock.read_text().splitlines())


def test_make_help_lists_every_target():
    text = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", text, re.MULTILINE))
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed = {line.split()[0] for line in shown.splitlines() if line.startswith("  ")}
    # icarus is a step of `make test`, not a verb of its own.
    assert listed == targets - {"icarus"}
    assert set(re.search(r"\.PHONY: (.*)", text)[1].split()) == targets


def test_ci_runs_the_script_that_runs_here():
    assert ".ci/run" in (ROOT / ".github/workflows/ci.yml").read_text()
    assert (ROOT / ".ci/run").stat().st_mode & 0o111
