"""Testplans are complete, and mistakes in their marks are errors."""

import pytest

from bitpath.rtl.units import UNITS
from bitpath.verif.kit.testplan import Item, load_plans, marks

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
