"""Testplans are complete, and every test that they name exists."""

import ast
from functools import cache

import pytest

from bitpath.rtl.units import UNITS
from bitpath.verif.kit.testplan import file_of, load_plan, load_plans


@cache
def functions(path):
    """Return the names of a module's functions and assignments; a bench may take its tests from a class."""
    tree = ast.parse(path.read_text())
    stored = (node for line in tree.body if isinstance(line, ast.Assign) for node in ast.walk(line))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)} | {
        node.id for node in stored if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def exists(test):
    path = file_of(test)
    return path is not None and test.partition("::")[2] in functions(path)


def test_every_named_test_exists():
    assert not [f"{item.unit} {item.id}: {test}" for item in load_plans() for test in item.tests if not exists(test)]


def test_every_unit_has_a_plan():
    assert set(UNITS) <= {item.unit for item in load_plans()}


def test_a_test_that_does_not_exist_would_be_found():
    assert exists("house/test_testplans.py::test_every_named_test_exists")
    assert not exists("house/test_testplans.py::test_nosuch")
    assert not exists("tb_nosuch::test")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "a plan is a list of"),
        ('[[item]]\nid = "a"\n', "the fields are id, what, why, tests"),
        ('[[item]]\nid = "a"\nwhat = "b"\nwhy = "c"\ntests = []\n', "tests is"),
        (2 * '[[item]]\nid = "a"\nwhat = "b"\nwhy = "c"\ntests = ["d"]\n', "more than one item has the id a"),
    ],
)
def test_errors_of_a_broken_plan(tmp_path, text, says):
    (tmp_path / "unit.testplan.toml").write_text(text)
    with pytest.raises(ValueError, match=says):
        load_plan(tmp_path / "unit.testplan.toml")
