"""Verdicts on mutants: journal, reasons of survivors, complaints, and faults of one line of Python."""

import ast
import json
import re
from collections import Counter

import pytest
from rich.console import Console

from bitpath.sim.campaigns.mutation import golden, sweep, verdicts
from bitpath.sim.campaigns.mutation.golden import COMPARISONS, Fault, Sabotage, apply, draw_faults, possible_faults
from bitpath.sim.campaigns.mutation.hosts import Mutant
from bitpath.sim.campaigns.mutation.verdicts import (
    BROKEN,
    EQUIVALENT,
    KILLED,
    SURVIVED,
    TIMED_OUT,
    Judged,
    Ledger,
    Verdict,
    journal_file,
    side_by_side,
)
from bitpath.sim.engine import cluster
from bitpath.sim.engine.options import SimulationError
from bitpath.verif.kit.testplan import covers

TARGET = "golden/arrays/codec.py"


def mutant(line):
    return Sabotage(TARGET, Fault(line, "Lt -> LtE", 0, "comparison", (line, line)))


def ledger(key, count, again=False):
    """Return a ledger whose key stays valid."""
    return Ledger(TARGET, key, count, lambda: key, again=again)


def judged(*kinds):
    """Return one mutant per verdict, each in a line of its own."""
    return Judged(
        target=TARGET,
        unit="golden",
        config={},
        digest="12345678",
        possible=99,
        mutants=tuple(mutant(line) for line, _ in enumerate(kinds, 1)),
        verdicts=tuple(Verdict(each, "") for each in kinds),
        confirmed=None,
        seed=1,
        seconds=2.0,
    )


@covers("mutation.resumed", "A stale verdict is worth nothing")
@pytest.mark.usefixtures("elsewhere")
def test_verdicts_survive_an_interruption():
    """Verdicts from before an interruption count; verdicts of another netlist, bench or tool do not."""
    first = ledger("key", 3)
    assert first.missing == [1, 2, 3]
    first.keep(2, KILLED, "bench: a test", confirmed=True)
    first.spend(1.5)
    with journal_file().open("a") as file:
        file.write('{"key": "key", "mutant": 3, "verd')
    again = ledger("key", 3)
    assert again.missing == [1, 3]
    again.keep(1, SURVIVED, "")
    again.keep(3, EQUIVALENT, "induction")
    again.spend(2.0)
    last = ledger("key", 3)
    assert last.missing == []
    assert [each.verdict for each in last.verdicts] == [SURVIVED, KILLED, EQUIVALENT]
    assert last.seconds == 3.5
    assert last.entries[2]["confirmed"] is True


@covers("mutation.resumed")
@pytest.mark.usefixtures("elsewhere")
def test_another_key_knows_nothing():
    ledger("old", 1).keep(1, KILLED, "")
    assert ledger("new", 1).missing == [1]
    assert ledger("old", 1).missing == []


@covers("mutation.resumed")
@pytest.mark.usefixtures("elsewhere")
def test_nothing_is_kept_once_a_source_has_changed():
    """A run of hours reads benches and models repeatedly: after an edit its verdicts no longer belong to the key."""
    keys = iter(["key", "edited"])
    own = Ledger(TARGET, "key", 2, lambda: next(keys))
    own.keep(1, KILLED, "")
    with pytest.raises(SimulationError, match="sources or settings changed while mutants were judged"):
        own.note(2, bench="passes")
    assert ledger("key", 2).missing == [2]
    assert ledger("key", 2).steps[2] == {}


@pytest.mark.usefixtures("elsewhere")
def test_what_another_machine_may_judge_otherwise_is_judged_again_when_asked_for():
    first = ledger("key", 6)
    first.note(1, bench="passes")
    first.keep(1, SURVIVED, f"{TIMED_OUT}: no proof in 10 s")
    first.keep(2, SURVIVED, "no proof: the solver found a difference")
    first.keep(3, KILLED, f"{TIMED_OUT}: no end after 300 s")
    first.keep(4, BROKEN, "status -9: killed")
    first.keep(5, KILLED, "bench: random_dot")
    first.keep(6, SURVIVED, "")
    assert ledger("key", 6).missing == []
    again = ledger("key", 6, again=True)
    assert again.missing == [1, 3, 4]
    assert again.steps[1] == {"bench": "passes"}
    again.keep(1, EQUIVALENT, "induction")
    assert ledger("key", 6, again=True).missing == [3, 4]


@pytest.mark.usefixtures("elsewhere")
def test_what_is_done_side_by_side_is_kept_up_to_the_failure():
    def call(item):
        if item == 3:
            raise SimulationError("no")
        return item + 1

    seen, told = {}, []

    def work():
        for item, result in side_by_side("work", [1, 2, 3], call, lambda *each: told.append(each)):
            seen[item] = result

    with pytest.raises(SimulationError, match="no"):
        work()
    assert seen.items() <= {1: 2, 2: 3}.items()
    assert told[0] == ("work", 0, 3)


@covers("mutation.honest")
@pytest.mark.usefixtures("elsewhere")
def test_the_record_has_every_count(monkeypatch):
    record = verdicts.record_of(judged(KILLED, KILLED, EQUIVALENT, SURVIVED))
    assert record | {"unit": "golden", "mutants": 4, "killed": 2, "equivalent": 1, "survived": 1} == record
    assert verdicts.score(record) == pytest.approx(200 / 3)
    without = "1 survivors have no reason"
    assert verdicts.complaints([record]) == [f"golden/arrays/codec.py: {without}"]
    assert verdicts.complaints([record | {"target": "rtl/common/arithmetic/align"}]) == [
        "rtl/common/arithmetic/align: 66.7 % die, at least 95 % must",
        f"rtl/common/arithmetic/align: {without}",
    ]
    assert verdicts.complaints([verdicts.record_of(judged(KILLED, EQUIVALENT))]) == []
    assert verdicts.score(verdicts.record_of(judged(EQUIVALENT))) == 100.0
    # A mutant that the simulator cannot run is not killed and needs a reason, like a survivor.
    broken = verdicts.record_of(judged(KILLED, BROKEN))
    assert verdicts.score(broken) == 50.0
    assert verdicts.complaints([broken]) == [f"golden/arrays/codec.py: {without}"]
    assert verdicts.complaints([verdicts.record_of(judged())]) == [
        "golden/arrays/codec.py: there is nothing in its cells to be faulty"
    ]


@pytest.mark.usefixtures("elsewhere")
def test_a_reason_is_that_of_its_line(tmp_path, monkeypatch):
    file = tmp_path / "reasons.toml"
    monkeypatch.setattr(verdicts, "reasons_file", lambda target: file)
    file.write_text(f"""[[survivor]]
target = "{TARGET}"
line = '''{verdicts.source_line(mutant(1).source)}'''
modes = ["Lt -> LtE"]
reason = "Both are the same there."
""")
    first, other = verdicts.record_of(judged(SURVIVED, KILLED)), verdicts.record_of(judged(KILLED, SURVIVED))
    assert first["survivors"][0]["reason"] == "Both are the same there."
    assert other["survivors"][0]["reason"] is None
    assert verdicts.complaints([first]) == []
    # An idle reason is accepted if the mutant was proved equivalent.
    assert verdicts.complaints([verdicts.record_of(judged(EQUIVALENT))]) == []
    dead = verdicts.record_of(judged(KILLED))
    assert verdicts.complaints([dead]) == [
        f"golden/arrays/codec.py: a reason of nothing that lives: {dead['idle_reasons'][0]}"
    ]
    assert "Both are the same there." in dead["idle_reasons"][0]


@pytest.mark.usefixtures("elsewhere")
def test_a_reason_is_that_of_its_bits():
    own = Mutant("const0", "m", "$1", "A", 3, None, "rtl/common/arithmetic/align.py:1")
    line = verdicts.source_line(own.source)
    assert verdicts.Reason(line, ("const0",), "so", "A", (2, 3)).holds(own)
    assert not verdicts.Reason(line, ("const0",), "so", "A", (2,)).holds(own)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[survivor]", "not TOML"),
        ("survivor = 3\n", "survivors are tables"),
        ('[[survivor]]\nline = "a"\n', "a survivor has the fields target, line, modes, reason, not line"),
        (
            '[[survivor]]\ntarget = "a"\nline = "a"\nmodes = ["inv"]\nport = "A"\nbits = [1]\nreason = "so"\n',
            "a survivor has the fields target, line, modes, reason, not target, line, modes, port, bits, reason",
        ),
        (
            '[[survivor]]\ntarget = "a"\nline = "a"\nmodes = ["inv"]\nreason = " "\n',
            "a survivor has the fields target, line, modes, reason",
        ),
    ],
)
@pytest.mark.usefixtures("elsewhere")
def test_reasons_that_are_none(tmp_path, monkeypatch, text, says):
    file = tmp_path / "reasons.toml"
    file.write_text(text)
    monkeypatch.setattr(verdicts, "reasons_file", lambda target: file)
    with pytest.raises(ValueError, match=says):
        verdicts.read_reasons(TARGET)


@pytest.mark.parametrize("error", [SimulationError, ValueError, OSError])
@pytest.mark.usefixtures("elsewhere")
def test_a_target_that_fails_does_not_stop_the_others(error, in_process):
    def call(count, seed, progress):
        raise error("the bench fails without a mutant")

    tasks = [
        sweep.Task("rtl/a", 200, call),
        sweep.Task("rtl/b", 200, lambda count, seed, progress: judged(*[KILLED] * count)),
    ]
    failures = []
    records = list(sweep.sweep(tasks, 7, 1, Console(quiet=True), failures))
    assert [record["mutants"] for record in records] == [7]
    assert failures == ["rtl/a: the bench fails without a mutant"]


@covers("mutation.resumed")
@pytest.mark.usefixtures("elsewhere")
def test_the_report_has_no_row_of_before(monkeypatch):
    def kept():
        return [(row["target"], row["killed"]) for row in json.loads(sweep.rows_file().read_text())]

    report = sweep.Rows(["rtl/a", "rtl/b"])
    assert kept() == []
    report.add({"target": "rtl/a", "killed": 1})
    report.add({"target": "rtl/b", "killed": 2})
    # One is judged anew, the other's row holds.
    report = sweep.Rows(["rtl/a"])
    assert kept() == [("rtl/b", 2)]
    report.add({"target": "rtl/a", "killed": 3})
    assert kept() == [("rtl/b", 2), ("rtl/a", 3)]
    monkeypatch.setattr(cluster, "sources", lambda: "edited")
    sweep.Rows(["rtl/c"])
    assert kept() == []


@pytest.mark.usefixtures("elsewhere")
def test_a_target_must_be_named():
    with pytest.raises(ValueError, match="no target named; name a file such as rtl/common/arithmetic/align or a unit"):
        sweep.chosen((), everything=False, golden=False)
    with pytest.raises(ValueError, match="--all and --golden name targets themselves"):
        sweep.chosen(("nonsense",), everything=True, golden=False)
    with pytest.raises(
        ValueError, match=r"a golden model must be one of \d+ names from 'golden/.*', not 'golden/nothing\.py'"
    ):
        sweep.chosen(("golden/nothing",), everything=False, golden=False)
    with pytest.raises(
        ValueError, match=r"a file that compares results must be 'sim/flows/outcome\.py', .*, not 'sim/nothing\.py'"
    ):
        sweep.chosen(("sim/nothing",), everything=False, golden=False)


@covers("mutation.comparisons", "A comparison that misses a wrong value hides every other fault")
@pytest.mark.usefixtures("elsewhere")
def test_comparisons_are_targets(monkeypatch):
    """Files that compare and report results are targets as golden's are; any number of wrong values, 256 and all of
    them included, fails with its count in exit status, JSON, text, kept run and page."""
    monkeypatch.setattr(sweep, "targets", dict)
    monkeypatch.setattr(sweep, "golden_targets", lambda: ["golden/arrays/codec.py"])
    (task,) = sweep.chosen(("sim/flows/outcome",), everything=False, golden=False)
    assert (task.target, task.count, task.is_rtl) == ("sim/flows/outcome.py", 200, False)
    every = [task.target for task in sweep.chosen((), everything=True, golden=False)]
    assert {"verif/kit/scoreboard.py", "verif/kit/mismatches.py", "golden/arrays/codec.py"} < set(every)
    assert not [each.target for each in sweep.chosen((), everything=False, golden=True) if each.target in COMPARISONS]
    survivor = {"target": "verif/kit/scoreboard.py", "mutants": 9, "killed": 1, "equivalent": 0, "idle_reasons": []}
    assert verdicts.complaints([survivor | {"survivors": [{"mutant": "it", "reason": None}]}]) == [
        "verif/kit/scoreboard.py: 1 survivors have no reason"
    ]
    assert verdicts.reasons_file("verif/kit/scoreboard.py").parts[-3:] == ("verif", "tests", "survivors.toml")


# Faults of one line of Python, and tests that run with the faulty module in place of the original.


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
