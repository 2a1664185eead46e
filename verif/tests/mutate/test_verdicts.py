"""The journal, the reasons, and what a record complains of."""

import pytest
from rich.console import Console

from bitpath.sim.errors import SimulationError
from bitpath.sim.mutate import reasons, sweep, table
from bitpath.sim.mutate.golden import Sabotage
from bitpath.sim.mutate.golden_faults import Fault
from bitpath.sim.mutate.verdicts import (
    EQUIVALENT,
    KILLED,
    SURVIVED,
    Judged,
    Ledger,
    Verdict,
    journal_file,
    side_by_side,
)

TARGET = "golden/codec.py"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def mutant(line):
    return Sabotage(TARGET, Fault(line, "Lt -> LtE", 0, "comparison"))


def judged(*verdicts):
    """So many mutants, each in a line of its own."""
    return Judged(
        target=TARGET,
        unit="golden",
        config={},
        digest="12345678",
        possible=99,
        mutants=tuple(mutant(line) for line, _ in enumerate(verdicts, 1)),
        verdicts=tuple(Verdict(each, "") for each in verdicts),
        confirmed=None,
        seed=1,
        seconds=2.0,
    )


def test_verdicts_survive_an_interruption():
    first = Ledger("key", 3)
    assert first.missing == [1, 2, 3]
    first.keep(2, KILLED, "bench: a test", confirmed=True)
    first.spend(1.5)
    with journal_file().open("a") as file:
        file.write('{"key": "key", "mutant": 3, "verd')
    again = Ledger("key", 3)
    assert again.missing == [1, 3]
    again.keep(1, SURVIVED, "")
    again.keep(3, EQUIVALENT, "induction")
    again.spend(2.0)
    last = Ledger("key", 3)
    assert last.missing == []
    assert [each.verdict for each in last.verdicts] == [SURVIVED, KILLED, EQUIVALENT]
    assert last.seconds == 3.5
    assert last.entries[2]["confirmed"] is True


def test_another_key_knows_nothing():
    """Another netlist, bench or tool: what was found out of the old ones does not count."""
    Ledger("old", 1).keep(1, KILLED, "")
    assert Ledger("new", 1).missing == [1]
    assert Ledger("old", 1).missing == []


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


def test_the_record_has_every_count(monkeypatch):
    record = table.record_of(judged(KILLED, KILLED, EQUIVALENT, SURVIVED))
    assert {name: record[name] for name in ("unit", "mutants", "killed", "equivalent", "survived")} == {
        "unit": "golden",
        "mutants": 4,
        "killed": 2,
        "equivalent": 1,
        "survived": 1,
    }
    assert table.score(record) == pytest.approx(200 / 3)
    assert table.complaints([record]) == [
        "golden/codec.py: 66.7 % die, at least 95 % must",
        "golden/codec.py: 1 survivors have no reason",
    ]
    assert table.complaints([table.record_of(judged(KILLED, EQUIVALENT))]) == []
    assert table.score(table.record_of(judged(EQUIVALENT))) == 100.0


def test_a_reason_is_that_of_its_line(tmp_path, monkeypatch):
    file = tmp_path / "reasons.toml"
    monkeypatch.setattr(reasons, "reasons_file", lambda target: file)
    file.write_text(f"""[[survivor]]
line = '''{reasons.source_line(mutant(1).source)}'''
modes = ["Lt -> LtE"]
port = ""
reason = "Both are the same there."
""")
    first, other = table.record_of(judged(SURVIVED, KILLED)), table.record_of(judged(KILLED, SURVIVED))
    assert first["survivors"][0]["reason"] == "Both are the same there."
    assert other["survivors"][0]["reason"] is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[survivor]", "not TOML"),
        ('[[survivor]]\nline = "a"\n', "a survivor has the fields line, modes, port, reason, not line"),
        (
            '[[survivor]]\nline = "a"\nmodes = ["inv"]\nport = "A"\nreason = " "\n',
            "a survivor has the fields line, modes, port, reason",
        ),
    ],
)
def test_reasons_that_are_none(tmp_path, monkeypatch, text, says):
    file = tmp_path / "reasons.toml"
    file.write_text(text)
    monkeypatch.setattr(reasons, "reasons_file", lambda target: file)
    with pytest.raises(ValueError, match=says):
        reasons.read_reasons(TARGET)


def test_a_target_that_fails_does_not_stop_the_others():
    def call(count, seed, progress):
        raise SimulationError("the bench fails without a mutant")

    tasks = [
        sweep.Task("rtl/a", 200, call),
        sweep.Task("rtl/b", 200, lambda count, seed, progress: judged(*[KILLED] * count)),
    ]
    records = sweep.sweep(tasks, 7, 1, Console(quiet=True))
    assert next(records)["mutants"] == 7
    with pytest.raises(SimulationError, match="rtl/a: the bench fails without a mutant"):
        next(records)


def test_a_target_must_be_named():
    with pytest.raises(ValueError, match="no target named; name a file such as rtl/common/align or a unit"):
        sweep.chosen((), everything=False, golden=False)
    with pytest.raises(ValueError, match="no golden model 'golden/nothing', known are golden/"):
        sweep.chosen(("golden/nothing",), everything=False, golden=False)
