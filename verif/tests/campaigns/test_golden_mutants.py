"""Faults of one line of Python, and tests that run with the faulty module in place of the original."""

import ast
import re
from collections import Counter

import pytest

from bitpath.sim.campaigns.mutation import golden
from bitpath.sim.campaigns.mutation.golden import apply, draw_faults, possible_faults
from bitpath.sim.campaigns.mutation.verdicts import BROKEN, KILLED, SURVIVED
from bitpath.sim.engine.errors import SimulationError
from bitpath.verif.kit.testplan import covers

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


@covers("mutation.golden", "The reference is only as good as its own tests")
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
    """If a golden module with one wrong line replaces the original, the tests that import it fail."""
    plain = ast.unparse(ast.parse(SOURCE)).splitlines()
    mutated = apply(SOURCE, faults()[what]).splitlines()
    assert [new.strip() for old, new in zip(plain, mutated, strict=True) if old != new] == [line]


def test_the_seed_draws():
    possible = possible_faults(SOURCE)
    assert len(draw_faults(possible, 5, 1)) == 5
    assert draw_faults(possible, 5, 1) == draw_faults(possible, 5, 1)
    assert draw_faults(possible, 500, 1) == sorted(possible, key=lambda each: (each.line, each.node, each.kind))


@covers("mutation.golden")
def test_a_fault_runs_where_its_statement_is_begun():
    whole = {fault.what: fault.lines for fault in possible_faults(SOURCE)}
    assert whole["3 -> 4"] == (3, 3)
    # A default belongs to the def statement, a condition to the whole statement that it controls.
    assert whole["0 -> 1"] == (6, 13)
    assert whole["Lt -> LtE"] == whole["not (a < b and a != LIMIT)"] == (8, 9)
    assert whole["a and b swapped"] == (10, 10)
    several = possible_faults("def f(a):\n    return g(\n        a,\n        3,\n    )\n")
    assert {fault.lines for fault in several if fault.line == 4} == {(2, 5)}
    assert all(fault.runs_in([1, 3]) and not fault.runs_in([1, 6]) for fault in several)


@covers("mutation.golden")
def test_every_fault_of_a_compiled_function_runs_where_the_function_is_defined():
    """Coverage sees no line of compiled code."""
    source = """@njit(forceinline=True)
def f(a):
    if a < 3:
        return 4
    return 5


@once
def g(a):
    return 6
"""
    assert {fault.lines for fault in possible_faults(source) if fault.line < 8} == {(2, 5)}
    assert {fault.lines for fault in possible_faults(source) if fault.line > 8} == {(10, 10)}
    assert {fault.lines for fault in possible_faults(source.replace("njit(forceinline=True)", "kernel"))} == {
        *((2, 5), (10, 10))
    }


@pytest.mark.deep
def test_a_model_is_judged_by_the_tests_that_import_it():
    files = [file.name for file in golden.tests_of("bitpath.golden.trainium3.vector.random")]
    assert "test_random.py" in files
    assert "test_formats.py" not in files
    with pytest.raises(SimulationError, match=r"imports bitpath\.golden\.nothing; mutants of Python are judged"):
        golden.tests_of("bitpath.golden.nothing")
    targets = golden.golden_targets()
    assert "golden/trainium3/vector/random.py" in targets
    assert not [target for target in targets if target.endswith("__init__.py")]


@covers("mutation.comparisons")
def test_comparisons_are_judged_by_all_of_their_tests():
    own = {file for each in golden.COMPARING for file in golden.TESTS.glob(f"tests/{each}.py")}
    assert len(own) >= len(golden.COMPARING)
    for target in golden.COMPARISONS:
        assert set(golden.tests_of("bitpath." + target.removesuffix(".py").replace("/", "."))) == own


@covers("mutation.golden")
@pytest.mark.deep
def test_compiled_loops_are_targets_judged_by_the_tests_that_run_them():
    files = {str(file.relative_to(golden.FOLDER.parent)) for file in golden.FOLDER.rglob("*_loop*.py")}
    assert len(files) > 5
    assert files | {"golden/arrays/bits.py", "golden/arrays/parallel.py"} <= set(golden.golden_targets())
    for file in files:
        assert golden.tests_of("bitpath." + file.removesuffix(".py").replace("/", "."))


def judged_alone(tmp_path, monkeypatch, text, *, module="bitpath.golden.trainium3.vector.elementwise", limit=60):
    """The verdict of one test of that text; the module is as it is."""
    monkeypatch.chdir(tmp_path)
    test = tmp_path / "test_alone.py"
    test.write_text(text)
    return golden._judge(module, golden.module_file(module).read_text(), test, limit, tmp_path / "kernels")


@covers("mutation.golden")
def test_verdicts_without_a_word_of_the_tests(tmp_path, monkeypatch):
    endless = judged_alone(tmp_path, monkeypatch, "while True:\n    pass\n", limit=3)
    assert endless == (KILLED, "out of time: no end after 3 s")
    dying = "import os\n\n\ndef test_it():\n    os.kill(os.getpid(), 9)\n"
    assert judged_alone(tmp_path, monkeypatch, dying)[0] == BROKEN


@covers("mutation.golden")
def test_a_full_disk_kills_no_mutant(tmp_path, monkeypatch):
    monkeypatch.setattr(golden, "FULL_BYTES", 1 << 62)
    with pytest.raises(SimulationError, match="has no room left, which fails tests"):
        judged_alone(tmp_path, monkeypatch, "def test_it():\n    assert 1 == 2\n")


@covers("mutation.golden")
def test_the_shell_does_not_steer_the_tests(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k nothing")
    verdict, how = judged_alone(tmp_path, monkeypatch, "def test_it():\n    assert 1 == 2\n")
    assert verdict == KILLED
    assert "test_it" in how


@covers("mutation.golden")
@pytest.mark.deep
def test_a_fault_of_what_kernels_are_compiled_from_has_kernels_of_its_own(tmp_path, monkeypatch):
    text = """import os


def test_it():
    kept, checked = os.environ.get("NUMBA_CACHE_DIR"), os.environ.get("NUMBA_BOUNDSCHECK")
    assert {} == (kept == {!r}) == (checked == "1")
"""
    kernels = str(tmp_path / "kernels")
    compiled = ["formats.catalogue", "trainium3.matmul.array_loop", "arrays.bits", "arrays.kernels"]
    for module in (*compiled, "arrays.codec"):
        found = judged_alone(
            tmp_path, monkeypatch, text.format(module in compiled, kernels), module=f"bitpath.golden.{module}"
        )
        assert found[0] == SURVIVED, found


MODULE = "bitpath.golden.trainium3.vector.elementwise"
LOOPS = "bitpath.golden.arrays.codec_loops"


@pytest.fixture
def judge_last_line(tmp_path, monkeypatch, elsewhere):
    """Judge the faults of the last line of a model with more text behind it, by test files of these texts."""
    monkeypatch.setattr(golden, "TESTS", tmp_path)
    (tmp_path / "conftest.py").write_text("")
    real = golden.module_file
    longer = tmp_path / "more.py"

    def judge(more, module=MODULE, **texts):
        longer.write_text(f"{real(module).read_text()}\n\n{more}\n")
        monkeypatch.setattr(golden, "module_file", lambda name: longer if name == module else real(name))
        last = len(longer.read_text().splitlines())
        monkeypatch.setattr(
            golden, "draw_faults", lambda possible, *_: [each for each in possible if each.line == last]
        )
        room = tmp_path / "machine" / "golden"
        room.mkdir(parents=True, exist_ok=True)
        files = [room / f"test_{name}.py" for name in texts]
        for file, text in zip(files, texts.values(), strict=True):
            # Its package has a function of the module's name.
            file.write_text(
                f"import sys\n\nimport {module}\n\nmodule = sys.modules['{module}']\n\n\ndef test_it():\n    {text}\n"
            )
        golden._tests.cache_clear()
        monkeypatch.setattr(golden, "tests_of", lambda name: files)
        target = module.removeprefix("bitpath.").replace(".", "/") + ".py"
        return golden.judge_python(target, 20, 1, lambda *_: None)

    yield judge
    golden._tests.cache_clear()


SEEING, BLIND = "assert module.SABOTAGED == 1", "assert module.SABOTAGED >= 0"


@covers("mutation.golden")
def test_a_fault_dies_by_a_test_that_sees_it(judge_last_line):
    judged = judge_last_line("SABOTAGED = 1", seeing=SEEING, blind=BLIND)
    assert [mutant.mode for mutant in judged.mutants] == ["1 -> 2", "1 -> 0"]
    assert [each.verdict for each in judged.verdicts] == [KILLED, KILLED]
    assert "test_it" in judged.verdicts[0].how
    assert judged.possible > 2


@covers("mutation.golden")
@pytest.mark.deep
def test_a_fault_lives_where_no_test_looks(judge_last_line):
    judged = judge_last_line("SABOTAGED = 1", blind=BLIND)
    assert [(each.verdict, each.how) for each in judged.verdicts] == [(SURVIVED, "")] * 2


@covers("mutation.golden")
@pytest.mark.deep
def test_what_never_comes_to_a_fault_is_not_run_on_it(judge_last_line, tmp_path):
    function = "def sabotaged():\n    return 1"
    idle = f"assert open({str(tmp_path / 'runs')!r}, 'a').write('.') and module.reciprocal"
    judged = judge_last_line(function, idle=idle)
    assert [(each.verdict, each.how) for each in judged.verdicts] == [(SURVIVED, "no test runs its statement")] * 2
    judged = judge_last_line(function, idle=idle, calling="assert module.sabotaged() == 1")
    assert [each.verdict for each in judged.verdicts] == [KILLED, KILLED]
    # The idle test runs once, to record the lines that it reaches.
    assert (tmp_path / "runs").read_text() == "."


@covers("mutation.golden")
def test_a_fault_of_a_loop_is_compiled(judge_last_line):
    """No line of it is seen to run."""
    loop = "@kernel\ndef sabotaged(out):\n    out[:] = 7"
    judged = judge_last_line(loop, LOOPS, seeing="out = module.np.zeros(1); module.sabotaged(out); assert out[0] == 7")
    assert [mutant.mode for mutant in judged.mutants] == ["7 -> 8", "7 -> 6"]
    assert [each.verdict for each in judged.verdicts] == [KILLED, KILLED]


@pytest.mark.deep
def test_the_tests_of_a_fault_share_its_kernels(judge_last_line, tmp_path, monkeypatch):
    monkeypatch.setattr(golden, "_IN_KERNELS", re.compile("bitpath.*"))
    folders = tmp_path / "folders"
    text = f"print(__import__('os').environ['NUMBA_CACHE_DIR'], file=open({str(folders)!r}, 'a')); {BLIND}"
    judge_last_line("SABOTAGED = 1", one=text, other=text)
    # Both files on the real model, each with kernels of its own; then both faults, each on both files.
    assert sorted(Counter(folders.read_text().splitlines()).values()) == [1, 1, 2, 2]
