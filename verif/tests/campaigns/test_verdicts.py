"""Journal of verdicts, reasons of survivors, and complaints about a record."""

import json

import pytest
from rich.console import Console

from bitpath.sim.campaigns.mutation import sweep, verdicts
from bitpath.sim.campaigns.mutation.golden import COMPARISONS, Fault, Sabotage
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
from bitpath.sim.engine.errors import SimulationError
from bitpath.verif.kit.testplan import covers

pytestmark = pytest.mark.usefixtures("elsewhere")
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
def test_another_key_knows_nothing():
    ledger("old", 1).keep(1, KILLED, "")
    assert ledger("new", 1).missing == [1]
    assert ledger("old", 1).missing == []


@covers("mutation.resumed")
def test_nothing_is_kept_once_a_source_has_changed():
    """A run of hours reads benches and models repeatedly: after an edit its verdicts no longer belong to the key."""
    keys = iter(["key", "edited"])
    own = Ledger(TARGET, "key", 2, lambda: next(keys))
    own.keep(1, KILLED, "")
    with pytest.raises(SimulationError, match="sources or settings changed while mutants were judged"):
        own.note(2, bench="passes")
    assert ledger("key", 2).missing == [2]
    assert ledger("key", 2).steps[2] == {}


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
def test_reasons_that_are_none(tmp_path, monkeypatch, text, says):
    file = tmp_path / "reasons.toml"
    file.write_text(text)
    monkeypatch.setattr(verdicts, "reasons_file", lambda target: file)
    with pytest.raises(ValueError, match=says):
        verdicts.read_reasons(TARGET)


@pytest.mark.parametrize("error", [SimulationError, ValueError, OSError])
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
