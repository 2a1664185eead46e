# amaranth: UnusedElaboratable=no
"""Bugs reported in the field: each has tests that name it, and a mutant that reintroduces a bug fails one of its tests."""

import tomllib
from pathlib import Path

import pytest

from bitpath.golden.formats import catalogue as formats
from bitpath.verif.kit.code_mutants import mutated, named_test
from bitpath.verif.kit.testplan import file_of

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


@pytest.mark.parametrize(("bug", "mutant"), MUTANTS)
def test_a_mutant_that_brings_the_bug_back_dies(bug, mutant):
    run(bug, mutant)
    with mutated(mutant["target"], mutant["old"], mutant["new"]), pytest.raises(AssertionError):
        run(bug, mutant)


def test_every_bug_has_tests_and_mutants_or_a_reason():
    assert len(TABLE) == 29
    assert len({bug["name"] for bug in TABLE}) == len(TABLE)
    for bug in TABLE:
        assert bool(bug.get("mutant")) != bool(bug.get("none")), bug["name"]
        assert bug["tests"] or bug["none"], bug["name"]


def test_every_mutated_bug_is_put_into_the_rtl_too_or_says_why_not():
    for bug in TABLE:
        in_rtl = any(mutant["target"].startswith("bitpath.rtl.") for mutant in bug.get("mutant", ()))
        assert in_rtl + bool(bug.get("rtl")) == bool(bug.get("mutant")), bug["name"]


def test_every_named_test_exists():
    missing = []
    for test in (test for bug in TABLE for test in bug["tests"]):
        path = file_of(test)
        if path is None or f"def {test.partition('::')[2]}(" not in path.read_text():
            missing.append(test)
    assert not missing


def test_a_mutant_of_other_source_is_refused():
    with (
        pytest.raises(ValueError, match="has 0 times 'nosuch', once is needed"),
        mutated("bitpath.golden.tensix.operands.fidelity:phases", "nosuch", ""),
    ):
        pass
