"""Faults of one line in Python, and tests that run with one in a module's place."""

import ast

import pytest

from bitpath.sim.errors import SimulationError
from bitpath.sim.mutate import golden
from bitpath.sim.mutate.golden_faults import apply, draw_faults, possible_faults
from bitpath.sim.mutate.verdicts import BROKEN, KILLED, SURVIVED

SOURCE = '''"""Text 1."""

LIMIT: tuple[int, 2] = 3


def f(a: int, b: int = 0) -> int:
    """Text 2."""
    if a < b and a != LIMIT:
        raise ValueError(f"a is {a + 1}")
    total = g(a, b)
    total += 4
    check(total)
    return total << 1
'''


def faults():
    return {fault.what: fault for fault in possible_faults(SOURCE)}


def test_every_kind_of_fault_is_found():
    assert set(faults()) == {
        *("3 -> 4", "3 -> 2", "0 -> 1", "0 -> -1", "4 -> 5", "4 -> 3", "1 -> 2", "1 -> 0"),
        *("Lt -> LtE", "NotEq -> Eq", "And -> Or", "Add -> Sub", "LShift -> RShift", "a and b swapped"),
        *("not (a < b and a != LIMIT)", "without raise ValueError(f'a is {a + 1}')"),
        *("without total += 4", "without check(total)"),
    }


@pytest.mark.parametrize(
    ("what", "line"),
    [
        ("Lt -> LtE", "if a <= b and a != LIMIT:"),
        ("And -> Or", "if a < b or a != LIMIT:"),
        ("not (a < b and a != LIMIT)", "if not (a < b and a != LIMIT):"),
        ("a and b swapped", "total = g(b, a)"),
        ("4 -> 3", "total += 3"),
        ("Add -> Sub", "total -= 4"),
        ("without check(total)", "pass"),
        ("LShift -> RShift", "return total >> 1"),
    ],
)
def test_a_fault_changes_one_line(what, line):
    plain = ast.unparse(ast.parse(SOURCE)).splitlines()
    mutated = apply(SOURCE, faults()[what]).splitlines()
    assert [new.strip() for old, new in zip(plain, mutated, strict=True) if old != new] == [line]


def test_the_seed_draws():
    possible = possible_faults(SOURCE)
    assert len(draw_faults(possible, 5, 1)) == 5
    assert draw_faults(possible, 5, 1) == draw_faults(possible, 5, 1)
    assert draw_faults(possible, 500, 1) == sorted(possible, key=lambda each: (each.line, each.node, each.kind))


def test_a_model_is_judged_by_the_tests_that_import_it():
    files = [file.name for file in golden.tests_of("bitpath.golden.trainium3.xorwow")]
    assert "test_trainium3_xorwow.py" in files
    assert "test_formats.py" not in files
    with pytest.raises(SimulationError, match=r"imports bitpath\.golden\.nothing; mutants of golden are judged"):
        golden.tests_of("bitpath.golden.nothing")
    assert "golden/trainium3/xorwow.py" in golden.golden_targets()
    assert not [target for target in golden.golden_targets() if "/fast/" in target or target.endswith("__init__.py")]


def judged_alone(tmp_path, monkeypatch, text, *, module="bitpath.golden.trainium3.reciprocal", limit=60):
    """The verdict of one test of that text; the module is as it is."""
    monkeypatch.chdir(tmp_path)
    test = tmp_path / "test_alone.py"
    test.write_text(text)
    return golden._judge(module, golden.module_file(module).read_text(), [test], limit)


def test_verdicts_without_a_word_of_the_tests(tmp_path, monkeypatch):
    endless = judged_alone(tmp_path, monkeypatch, "while True:\n    pass\n", limit=3)
    assert endless == (KILLED, "out of time: no end after 3 s")
    dying = "import os\n\n\ndef test_it():\n    os.kill(os.getpid(), 9)\n"
    assert judged_alone(tmp_path, monkeypatch, dying)[0] == BROKEN


def test_the_shell_does_not_steer_the_tests(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k nothing")
    verdict, how = judged_alone(tmp_path, monkeypatch, "def test_it():\n    assert 1 == 2\n")
    assert verdict == KILLED
    assert "test_it" in how


def test_a_fault_of_the_specification_has_kernels_of_its_own(tmp_path, monkeypatch):
    text = """import os


def test_it():
    assert {} == os.environ.get("NUMBA_CACHE_DIR", "").startswith({!r})
"""
    scratch = str(tmp_path / "build" / "mutate")
    for module, own in (("bitpath.golden.spec.formats", True), ("bitpath.golden.codec", False)):
        found = judged_alone(tmp_path, monkeypatch, text.format(own, scratch), module=module)
        assert found[0] == SURVIVED, found


def test_a_fault_dies_by_a_test_and_lives_without_one(tmp_path, monkeypatch):
    """The tests of a model, but few: one that sees the fault of a line, and one that does not look."""
    monkeypatch.chdir(tmp_path)
    seeing, blind = tmp_path / "test_seeing.py", tmp_path / "test_blind.py"
    module, target = "bitpath.golden.trainium3.reciprocal", "golden/trainium3/reciprocal.py"
    seeing.write_text(f"from {module} import SABOTAGED\n\n\ndef test_it():\n    assert SABOTAGED == 1\n")
    blind.write_text(f"from {module} import SABOTAGED\n\n\ndef test_it():\n    assert SABOTAGED >= 0\n")
    real = golden.module_file

    def with_a_line_more(name):
        if name != module:
            return real(name)
        (tmp_path / "more.py").write_text(f"{real(name).read_text()}\n\nSABOTAGED = 1\n")
        return tmp_path / "more.py"

    monkeypatch.setattr(golden, "module_file", with_a_line_more)
    # Those of the last line alone.
    last = len(real(module).read_text().splitlines()) + 3
    monkeypatch.setattr(golden, "draw_faults", lambda possible, *_: [each for each in possible if each.line == last])
    monkeypatch.setattr(golden, "TESTS", tmp_path)
    (tmp_path / "conftest.py").write_text("")
    golden._tests.cache_clear()
    told = []
    try:
        monkeypatch.setattr(golden, "tests_of", lambda name: [seeing, blind])
        judged = golden.judge_golden(target, 20, 1, lambda *each: told.append(each))
        assert [mutant.mode for mutant in judged.mutants] == ["1 -> 2", "1 -> 0"]
        assert [each.verdict for each in judged.verdicts] == [KILLED, KILLED]
        assert "test_it" in judged.verdicts[0].how
        monkeypatch.setattr(golden, "tests_of", lambda name: [blind])
        judged = golden.judge_golden(target, 20, 1, lambda *each: told.append(each))
        assert [each.verdict for each in judged.verdicts] == [SURVIVED, SURVIVED]
    finally:
        golden._tests.cache_clear()
    assert judged.possible > 2
