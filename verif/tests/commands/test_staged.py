"""Runs of several steps, whose units give golden's results with some wrong elements; nothing is simulated."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from bitpath.sim.flows import outcome, staged
from bitpath.sim.flows.outcome import mismatch_report

CYCLES = {"adder": 5, "memory": 7}
FIRST = [np.arange(6, dtype=np.uint16).reshape(2, 3), np.arange(4, dtype=np.uint32)]
SECOND = [np.arange(5, dtype=np.uint16)]
LAST = np.arange(300, dtype=np.float32).reshape(10, 30)
TITLE = "first mismatch: toy plain on icarus"


@dataclass(frozen=True)
class Units:
    """The units of the run; it plays two of them."""

    memory: str = "a"
    other: str = "b"
    adder: str = "c"


class Run(staged.StagedRun):
    """Two additions, with the first one read back, and the output; ``wrong`` elements of each result differ."""

    machine, flow, units = "toy", "chain", ("adder", "memory")
    benches = {"memory": "bench_of_memory"}  # noqa: RUF012

    def __init__(self, *wrong):
        super().__init__("plain", Units(), "icarus")
        self.wrong = wrong

    def compute(self, play):
        results = []
        for wrong, golden in zip(self.wrong, (FIRST[0], FIRST[1], SECOND[0], LAST), strict=True):
            rtl = golden.copy()
            codes = rtl.reshape(-1).view(f"u{rtl.itemsize}")
            codes[len(codes) - wrong :] ^= 1 << 8
            results.append(rtl)
        for unit in ("adder", "memory", "adder"):
            play(unit, unit)
        self.stage("add 1", results[:2], FIRST, 20)
        play("adder", "adder")
        self.stage("add 2", results[2:3], SECOND, None)
        self.stage("store", results[3:], [LAST], None, unit="bus", is_output=True)
        return results[3], LAST, {"cycles": 22}

    def reference(self):
        return LAST.astype(np.float64)

    def values(self, rtl):
        return rtl.astype(np.float64)


class Clock:
    """The time, which only builds and simulations let pass."""

    now = 0.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    for module in (staged, outcome):
        monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.fixture(autouse=True)
def played(monkeypatch, clock):
    """Units that take their cycles, each in 1.03 s. Return the played content, with its bench."""
    monkeypatch.setattr(outcome, "to_dict", vars)
    calls = []

    def play(console, built, bench, title, content):
        clock.now += 1.03
        calls.append((built.digest, bench, title, content))
        return {"cycles": np.uint64(CYCLES[content])}

    monkeypatch.setattr(staged, "play", play)
    return calls


@pytest.fixture
def outcome_of(clock):
    """Return a function that makes a run and its outcome; the first build of a unit takes 2.123 s."""

    def run(*wrong):
        built = set()

        def of(run, part):
            seconds = 0.0 if part in built else 2.123
            built.add(part)
            clock.now += seconds
            return SimpleNamespace(digest=f"of {part[0]} {part[1]}", seconds=seconds)

        made = Run(*wrong)
        return made, made.compare(Console(quiet=True), SimpleNamespace(of=of))

    return run


def test_units_that_agree(outcome_of, played):
    run, found = outcome_of(0, 0, 0, 0)
    assert run.parts == (("memory", "a"), ("adder", "c"))
    assert run.settings() == {}
    record = found.record
    assert (record["outputs_compared"], record["staged_compared"], record["mismatches"]) == (300, 15, 0)
    assert record["stages"] == [
        {
            "instruction": "add",
            "unit": "adder + memory",
            "count": 2,
            "compared": 15,
            "mismatches": 0,
            "golden_cycles": 20,
            "rtl_cycles": 22,
        },
        {
            "instruction": "store",
            "unit": "bus",
            "count": 1,
            "compared": 300,
            "mismatches": 0,
            "golden_cycles": None,
            "rtl_cycles": 0,
        },
    ]
    assert record["digests"] == {"adder": "of adder c", "memory": "of memory a"}
    assert (record["build_seconds"], record["wall_seconds"], record["cycles"]) == (4.25, 4.12, 22)
    assert record["digest"] == "of adder c"
    adder = ("of adder c", staged.WORDS_BENCH, "plain", "adder")
    assert played == [adder, ("of memory a", "bench_of_memory", "plain", "memory"), adder, adder]
    assert mismatch_report(run, found) == ""


@pytest.mark.parametrize(
    "wrong", [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 256), (6, 4, 5, 0), (2, 0, 3, 251)]
)
def test_every_wrong_element_counts(outcome_of, wrong):
    run, found = outcome_of(*wrong)
    assert found.record["mismatches"] == sum(wrong)
    assert [each["mismatches"] for each in found.record["stages"]] == [sum(wrong[:3]), wrong[3]]
    report = mismatch_report(run, found)
    assert report.startswith(f"{TITLE}, in stages, [" if any(wrong[:3]) else f"{TITLE}, [1, 14]\n")


@pytest.mark.parametrize(
    ("wrong", "byte", "where"),
    [
        ((1, 0, 0, 0), 11, "add 1, byte 1 of element 5"),
        ((0, 4, 0, 0), 13, "add 1, byte 1 of element 0"),
        ((0, 1, 0, 0), 25, "add 1, byte 1 of element 3"),
        ((0, 0, 5, 0), 29, "add 2, byte 1 of element 0"),
        ((0, 0, 1, 0), 37, "add 2, byte 1 of element 4"),
    ],
)
def test_the_first_wrong_byte_is_named(outcome_of, wrong, byte, where):
    run, found = outcome_of(*wrong)
    lines = mismatch_report(run, found).splitlines()
    assert lines[0] == f"{TITLE}, in stages, [{byte}]"
    assert lines[1].split(None, 1) == ["place", where]
    assert lines[2].split() == ["unit", *("adder" if "add 2" in where else "adder + memory").split()]
    assert lines[4].split()[0] == "expected"
    assert len(lines[4].split()[1]) == 4
    with pytest.raises(IndexError, match=r"^no result has byte 38$"):
        run.shown_before(38)


def test_a_wrong_output_is_decoded(outcome_of):
    run, found = outcome_of(0, 0, 0, 1)
    lines = mismatch_report(run, found).splitlines()
    assert lines[0] == f"{TITLE}, [9, 29]"
    assert lines[1].split() == ["place", "row", "9,", "column", "29"]
    assert " ".join(lines[3].split()) == "expected 0x43958000 = 299"
    assert run.stages[0].mismatches == 0


def test_cycles_without_any_that_golden_counts():
    assert staged._sum([None, None]) is None
    assert staged._sum([None, 3, 4]) == 7
    assert staged.kind_of("load 3 12") == "load"


def test_a_result_that_is_missing_is_an_error():
    stage = staged.Stage(
        name="add", unit="adder", rtl=FIRST[:1], golden=FIRST, rtl_cycles=0, golden_cycles=0, is_output=False
    )
    with pytest.raises(ValueError, match=r"argument 2 is longer"):
        stage.mismatches  # noqa: B018


def test_a_flow_says_how_it_computes():
    with pytest.raises(NotImplementedError):
        staged.StagedRun("plain", Units(), "icarus").compute(None)
