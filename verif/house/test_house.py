"""Packaging, pinned versions, the Makefile and the source tree are consistent."""

import re
import runpy
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from bitpath.rtl.units import UNITS
from bitpath.sim.campaigns.mutation.hosts import component_of
from bitpath.sim.engine.tools import EXTRAS as EXTRAS_OF_COMMANDS
from bitpath.verif.kit.testplan import Item, load_plans, marks

# Each reason for a surviving mutant quotes an existing source line, in RTL of the component that it names.


VERIF = Path(__file__).resolve().parents[1]
FILES = sorted(VERIF.glob("*/survivors.toml"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.parent.relative_to(VERIF)))
def test_every_reason_is_of_a_line_of_its_target(file):
    survivors = tomllib.loads(file.read_text())["survivor"]
    assert survivors
    for each in survivors:
        path = each["target"].partition(":")[0].removesuffix(".py")
        lines = (VERIF.parent / f"{path}.py").read_text().splitlines()
        places = [number for number, line in enumerate(lines, 1) if line.strip() == each["line"]]
        assert places, (each["target"], each["line"])
        if path.startswith("rtl/"):
            assert each["target"] in {component_of(f"{path}.py:{number}") for number in places}


# Testplans are complete, and mistakes in their marks are errors.


HEAD = "from bitpath.verif.kit.testplan import covers\n"


def test_every_unit_has_a_plan():
    assert set(UNITS) <= {item.unit for item in load_plans()}


def test_every_item_is_stated():
    assert marks().keys() == {f"{item.unit}.{item.feature}" for item in load_plans()}


def test_an_item_has_the_texts_of_one_test_and_all_tests_that_name_it(tmp_path):
    (tmp_path / "tb_psum.py").write_text(
        f'{HEAD}@covers("psum.a", "why")\nasync def first(dut):\n    """What\n    it does."""\n\n'
        'covers("psum.b", "reason", "what", second, third)\ncovers("psum.a", third)\n'
    )
    (tmp_path / "test_psum.py").write_text(
        f'{HEAD}@covers("psum.a")\n@other\ndef test_more():\n    """Another text."""\n'
    )
    assert load_plans(tmp_path) == [
        Item("psum", "a", "What it does", "why", ("tb_psum::first", "tb_psum::third", "test_psum.py::test_more")),
        Item("psum", "b", "what", "reason", ("tb_psum::second", "tb_psum::third")),
    ]


@pytest.mark.parametrize(
    ("mark", "says"),
    [
        ("@covers()", "covers must have an item, texts and tests"),
        ("@covers('a.b', why='c')", "covers must have an item, texts and tests"),
        ("@covers('a.b', WHY)", "covers must have an item, texts and tests"),
        ("@covers('a.b', 'c')\n@covers('a.b', 'd')", "one test must say why it is tested, not 2"),
        ("@covers('a', 'c', 'd')", "an item must be UNIT.FEATURE"),
        ("@covers('a.b', 'c')", "must have a docstring"),
        ("covers('a.b', 'c', 'd')\n", "covers must have an item, texts and tests"),
    ],
)
def test_errors_of_a_broken_mark(tmp_path, mark, says):
    (tmp_path / "test_unit.py").write_text(f"{HEAD}{mark}\ndef test_it():\n    pass\n")
    with pytest.raises(ValueError, match=says):
        load_plans(tmp_path)


# ``make setup`` stops with a one-line error if a requirement is missing.


BOOTSTRAP = Path(__file__).resolve().parents[2] / "sim/engine/bootstrap.py"


@pytest.fixture
def bootstrap():
    return runpy.run_path(str(BOOTSTRAP))


def run_main(bootstrap, monkeypatch, tmp_path, **replaced):
    main = bootstrap["main"]
    for name, value in ({"STAMP": tmp_path / "stamp", "VENV": tmp_path} | replaced).items():
        monkeypatch.setitem(main.__globals__, name, value)
    main()


def test_it_needs_the_standard_library_only():
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import runpy; runpy.run_path({str(BOOTSTRAP)!r})"], check=False
    )
    assert done.returncode == 0


def test_a_python_without_venv_names_the_packages(bootstrap, monkeypatch, tmp_path):
    refused = {"venv_works": lambda: False, "install_debian_packages": lambda: False}
    with pytest.raises(SystemExit, match=r"run: sudo apt-get install python3-venv libpython3\.11"):
        run_main(bootstrap, monkeypatch, tmp_path, **refused)


def test_an_old_python_says_which_is_needed(bootstrap, monkeypatch, tmp_path):
    with pytest.raises(SystemExit, match="make PYTHON="):
        run_main(bootstrap, monkeypatch, tmp_path, MINIMUM=(4, 0))


def test_a_failed_install_leaves_no_stamp(bootstrap, monkeypatch, tmp_path):
    def fails():
        raise subprocess.CalledProcessError(1, ["pip", "install"])

    with pytest.raises(SystemExit, match="failed with status 1 in: pip install"):
        run_main(bootstrap, monkeypatch, tmp_path, make_environment=fails)
    assert not (tmp_path / "stamp").exists()


def test_an_unchanged_environment_is_left_alone(bootstrap, monkeypatch, tmp_path):
    calls = []
    for _ in range(3):
        run_main(bootstrap, monkeypatch, tmp_path, make_environment=lambda: calls.append(1))
    assert len(calls) == 1


ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = sorted(ROOT.glob("requirements*.lock"))
LOCKED = {
    lock.name: dict(line.split("==") for line in lock.read_text().splitlines() if not line.startswith("#"))
    for lock in LOCKS
}
LOCK = {name: version for lock in LOCKED.values() for name, version in lock.items()}
EXTRAS = PYPROJECT["project"]["optional-dependencies"]
DEPENDENCIES = [
    each
    for each in (*PYPROJECT["project"]["dependencies"], *(each for extra in EXTRAS.values() for each in extra))
    if not each.startswith("bitpath[")
]
TOPS = ("golden", "rtl", "verif", "sim")


def test_the_links_of_the_package_lead_to_the_four_folders():
    links = {link.name: link.resolve() for link in (ROOT / "bitpath").iterdir() if link.is_symlink()}
    assert links == {top: ROOT / top for top in TOPS}


@pytest.mark.parametrize("dependency", DEPENDENCIES)
def test_the_lock_is_within_the_range_of_every_dependency(dependency):
    """Every range has a lowest version, and no dependency is pinned: it may be installed beside other packages."""
    required = Requirement(dependency)
    assert required.specifier.contains(LOCK[required.name])
    assert [each.operator for each in required.specifier if each.operator != "<"] == [">="]


def test_extras_name_extras_that_exist():
    names = [re.fullmatch(r"bitpath\[([\w,]+)\]", each) for extra in EXTRAS.values() for each in extra]
    assert {part for name in names if name for part in name[1].split(",")} <= set(EXTRAS)


@pytest.mark.parametrize("name", EXTRAS_OF_COMMANDS)
def test_the_extras_of_the_commands_are_those_of_the_project(name):
    """Modules of packages that another test environment lacks are not looked at."""
    distributions = packages_distributions()
    extra = {Requirement(each).name for each in (*EXTRAS[name], *(EXTRAS["rtl"] if name == "sim" else ()))} - {
        "bitpath"
    }
    found = {distributions[each][0] for each in EXTRAS_OF_COMMANDS[name] if each in distributions}
    assert found <= extra
    assert len(EXTRAS_OF_COMMANDS[name]) == len(extra)


def test_no_two_locks_differ():
    assert len(LOCKED) > 1
    for lock in LOCKED.values():
        assert lock == {name: LOCK[name] for name in lock}


def test_the_build_backend_may_be_the_locked_one():
    (backend,) = map(Requirement, PYPROJECT["build-system"]["requires"])
    assert backend.specifier.contains(LOCK[backend.name])


# pytest needs no explanation here, and setuptools is explained once.
@pytest.mark.parametrize("dependency", [d for d in DEPENDENCIES if Requirement(d).name not in ("pytest", "setuptools")])
def test_every_dependency_has_its_reason(dependency):
    lines = [line.strip() for line in (ROOT / "pyproject.toml").read_text().splitlines()]
    place = lines.index(f'"{dependency}",')
    # A package with a range for each Python has its reason once.
    while lines[place].startswith('"') and Requirement(lines[place].strip('",')).name == Requirement(dependency).name:
        place -= 1
    assert lines[place].startswith("# ")


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
