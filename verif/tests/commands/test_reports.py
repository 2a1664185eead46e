"""Reports keep the records of earlier runs on other items."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from bitpath.sim.engine import results
from bitpath.verif.kit.testplan import covers


@pytest.fixture
def file(tmp_path):
    return tmp_path / "reports" / "some.json"


def test_new_records_are_added_to_the_others(file):
    assert results.merge([{"name": "a", "value": 1}, {"name": "b", "value": 2}], file)
    found = results.merge([{"name": "a", "value": 3}], file)
    assert found == json.loads(file.read_text()) == [{"name": "b", "value": 2}, {"name": "a", "value": 3}]


def test_records_are_distinguished_by_their_key(file):
    results.merge([{"unit": "dot16", "name": "a"}], file, "unit")
    assert len(results.merge([{"unit": "ups", "name": "a"}], file, "unit")) == 2


def test_unneeded_files_are_removed(file):
    results.merge([{"name": "old", "began": 5.0}, {"name": "new", "began": 7.0}, {"name": "undated"}], file)
    assert [each["name"] for each in results.merge([], file, keep=results.began_since(6.0))] == ["new"]


@covers("robustness.files")
@pytest.mark.parametrize("text", ['[{"name": "cut', "{}", "3", ""])
def test_a_damaged_report_is_written_anew(file, text):
    file.parent.mkdir()
    file.write_text(text)
    assert results.merge([{"name": "a"}], file) == json.loads(file.read_text()) == [{"name": "a"}]


def test_damaged_records_are_left_out(file):
    file.parent.mkdir()
    file.write_text('[3, {"value": 1}, {"name": "whole"}]')
    assert results.merge([], file) == [{"name": "whole"}]


@covers("robustness.two")
def test_of_two_that_write_at_once_both_stay(file):
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda name: results.merge([{"name": name}], file), range(40)))
    assert sorted(record["name"] for record in json.loads(file.read_text())) == list(range(40))
