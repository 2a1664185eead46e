"""Verdicts from the results of replay and bench, both faked."""

import random
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from bitpath.sim.campaigns.mutation import judge
from bitpath.sim.campaigns.mutation.equivalence import Proof
from bitpath.sim.campaigns.mutation.judge import Difference
from bitpath.sim.campaigns.mutation.verdicts import BROKEN, EQUIVALENT, KILLED, SURVIVED, Ledger
from bitpath.sim.engine.errors import SimulationError
from bitpath.verif.kit.testplan import covers

COUNT = 8
TRAFFIC = SimpleNamespace(tests=("first", "second"))
COMPARED = dict.fromkeys(range(1, COUNT + 1), "compared")


@dataclass(frozen=True)
class Built:
    """Fields of a build that the session reads."""

    unit: str = "mutants"
    config: object = None


class Session(judge._Session):
    """One whose replay and bench say what they are told to.

    Parameters
    ----------
    kinds : of each mutant's first difference.
    passing : mutants that the bench passes.
    stops : after so many runs of the bench on mutants, as if by Ctrl-C.
    proved : mutants that are proved equivalent.
    """

    def __init__(self, kinds, passing=(), stops=99, proved=()):
        ledger = Ledger("rtl/a", "key", COUNT, lambda: "key")
        mutants = [SimpleNamespace(shown=f"mutant {number}", module="top") for number in range(1, COUNT + 1)]
        super().__init__(SimpleNamespace(unit="unit", config=None), Built(), mutants, 1, lambda *_: None, ledger)
        self.proved = proved
        self.kinds, self.passing, self.stops = kinds, passing, stops
        self.ran = []

    def _replay(self, traffic, missing):
        for number in missing:
            self.ledger.note(number, replay=vars(Difference(self.kinds[number], number % 2, 7, "o")))

    def _fails(self, number, test):
        self.ran.append((number, test))
        if len({own for own, _ in self.ran if own}) > self.stops:
            raise KeyboardInterrupt
        return None if number in (0, *self.passing) else (KILLED, f"bench: {test}")

    def _prover(self, folder):
        proofs = {True: Proof(True, "induction"), False: Proof(False, "no proof")}

        return SimpleNamespace(prove=lambda number, module, patient=True: proofs[number in self.proved])

    @property
    def found(self):
        return [(each.verdict, each.how.partition(":")[0]) for each in self.ledger.verdicts]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(judge, "record", lambda host, seed: TRAFFIC)
    # Run the items one after the other.
    monkeypatch.setattr(judge, "side_by_side", lambda what, items, call, progress: ((i, call(i)) for i in items))


def test_kills_of_the_replay_count_where_the_bench_finds_those_chosen():
    session = Session(COMPARED)
    session.work()
    assert sorted(session.found) == [(KILLED, "bench")] * 3 + [(KILLED, "replay")] * 5
    assert sum("confirmed" in each for each in session.ledger.entries.values()) == judge.CONFIRMED


@covers("mutation.honest")
def test_a_bench_that_passes_one_judges_all():
    chosen = random.Random(1).sample([*COMPARED], judge.CONFIRMED)
    session = Session(COMPARED, passing=[chosen[-1]])
    session.work()
    assert sorted(session.found) == [(KILLED, "bench")] * 7 + [(SURVIVED, "no proof")]


@covers("mutation.resumed")
def test_that_it_passed_one_is_known_after_an_interruption():
    """An interrupted run remembers the mutants that passed the bench and runs none of them again."""
    first = Session(COMPARED, passing=[*COMPARED], stops=1)
    with pytest.raises(KeyboardInterrupt):
        first.work()
    assert first.ledger.entries == {}
    known = {number for number in first.ledger.steps if "bench" in first.ledger.steps[number]}
    assert len(known) == 1
    again = Session(COMPARED, passing=known)
    again.work()
    assert not known & {number for number, _ in again.ran}
    assert sorted(again.found) == [(KILLED, "bench")] * 7 + [(SURVIVED, "no proof")]


def test_no_more_are_confirmed_when_a_run_goes_on():
    with pytest.raises(KeyboardInterrupt):
        Session(COMPARED, stops=2).work()
    session = Session(COMPARED)
    session.work()
    assert sum("confirmed" in each for each in session.ledger.entries.values()) == judge.CONFIRMED


@covers("mutation.honest")
def test_what_else_differs_is_the_benchs_to_judge():
    kinds = {1: "other", 2: "other", 3: "same", 4: "broken", **dict.fromkeys(range(5, COUNT + 1), "compared")}
    session = Session(kinds, passing=[2])
    session.work()
    assert session.found[:4] == [(KILLED, "bench"), *[(SURVIVED, "no proof")] * 2, (BROKEN, "replay")]
    # Each test that judged has passed without a mutant.
    assert {(0, test) for _, test in session.ran} <= set(session.ran)


@covers("mutation.honest")
def test_a_test_that_fails_by_itself_kills_nothing():
    session = Session(COMPARED)
    session._fails = lambda number, test: (KILLED, "bench: second") if test == "second" else None
    with pytest.raises(SimulationError, match="unit: second fails without a mutant: bench: second"):
        session.work()
    assert session.ledger.entries == {}


def test_what_the_bench_kills_cannot_be_equivalent():
    """Proofs that compare nothing would find all of them equal."""
    kinds = {1: "same", **dict.fromkeys(range(2, COUNT + 1), "compared")}
    with pytest.raises(SimulationError, match=r"mutant \d+ is killed by the bench and proved equivalent by induction"):
        Session(kinds, proved=range(1, COUNT + 1)).work()
    session = Session(kinds, proved=[1])
    session.work()
    assert session.found[0] == (EQUIVALENT, "induction")
