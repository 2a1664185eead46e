# amaranth: UnusedElaboratable=no
"""Bugs reported in the field: each has tests that name it, and a mutant that reintroduces a bug fails one of its tests."""

import tomllib
from pathlib import Path

import pytest

from bitpath.golden.formats import catalogue as formats
from bitpath.verif.kit.code_mutants import VERIF, mutated, named_test
from bitpath.verif.kit.testplan import covers

TABLE = tomllib.loads(Path(__file__).with_name("field_bugs.toml").read_text())["bug"]
MUTANTS = [
    pytest.param(bug, mutant, id=f"{bug['name']}-{index}", marks=[pytest.mark.deep] if "deep" in mutant else [])
    for bug in TABLE
    for index, mutant in enumerate(bug.get("mutant", ()))
]


def run(bug, mutant):
    arguments = dict(mutant.get("arguments", {}))
    for name in mutant.get("formats", ()):
        arguments[name] = getattr(formats, arguments[name])
    named_test(bug["tests"][mutant["test"]])(**arguments)


@covers("field_bugs.mutants", "A test that passes with the bug does not test for it")
@pytest.mark.parametrize(("bug", "mutant"), MUTANTS)
def test_a_mutant_that_brings_the_bug_back_dies(bug, mutant):
    """A one-line change of golden or RTL that reintroduces a bug fails a test that names it."""
    run(bug, mutant)
    with mutated(mutant["target"], mutant["old"], mutant["new"]), pytest.raises(AssertionError):
        run(bug, mutant)


@covers("field_bugs.named", "Each was found in a similar chip or simulator and had passed its tests")
def test_every_bug_has_tests_and_mutants_or_a_reason():
    """Every known bug from the field has tests that name it, and mutants that reintroduce it, or a reason why there are
    none."""
    assert len(TABLE) == 29
    assert len({bug["name"] for bug in TABLE}) == len(TABLE)
    for bug in TABLE:
        assert bool(bug.get("mutant")) != bool(bug.get("none")), bug["name"]
        assert bug["tests"] or bug["none"], bug["name"]


@covers("field_bugs.named")
def test_every_mutated_bug_is_put_into_the_rtl_too_or_says_why_not():
    for bug in TABLE:
        in_rtl = any(mutant["target"].startswith("bitpath.rtl.") for mutant in bug.get("mutant", ()))
        assert in_rtl + bool(bug.get("rtl")) == bool(bug.get("mutant")), bug["name"]


@covers("field_bugs.named")
def test_every_named_test_exists():
    missing = []
    for test in (test for bug in TABLE for test in bug["tests"]):
        file, _, name = test.partition("::")
        (path,) = VERIF.rglob(file if file.endswith(".py") else f"{file}.py")
        if f"def {name}(" not in path.read_text():
            missing.append(test)
    assert not missing


@covers("field_bugs.mutants")
def test_a_mutant_of_other_source_is_refused():
    with (
        pytest.raises(ValueError, match="has 0 times 'nosuch', once is needed"),
        mutated("bitpath.golden.tensix.operands.arguments:phases", "nosuch", ""),
    ):
        pass
