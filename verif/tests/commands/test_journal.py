"""Journals: files of JSON lines that keep every result."""

from bitpath.sim.engine import journal


def test_records_come_back_in_order(tmp_path):
    path = tmp_path / "new" / "file.jsonl"
    assert journal.read(path) == []
    for value in (1, "two", [3]):
        journal.append(path, {"value": value})
    assert journal.read(path) == [{"value": 1}, {"value": "two"}, {"value": [3]}]
    assert path.read_text().count("\n") == 3


def test_a_truncated_line_loses_only_itself(tmp_path):
    path = tmp_path / "file.jsonl"
    journal.append(path, {"value": 1})
    with path.open("a") as file:
        file.write('{"value": 2, "a long')
    assert journal.read(path) == [{"value": 1}]
    journal.append(path, {"value": 3})
    assert journal.read(path) == [{"value": 1}, {"value": 3}]
