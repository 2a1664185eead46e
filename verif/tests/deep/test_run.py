"""Blocks are kept: an interrupted run goes on, what is stale is not taken, and too few vectors are a failure."""

import json
import sys

import pytest

from bitpath.sim import __main__, journal
from bitpath.sim.deep import run
from bitpath.sim.deep.table import TASKS
from bitpath.sim.errors import SimulationError

TASK = TASKS["sweep-fidelity-multiplier"]
BLOCK = {
    "vectors": TASK.block_vectors,
    "mismatches": 0,
    "first": [],
    "stimulus_seconds": 0.25,
    "golden_seconds": 0.5,
    "rtl_seconds": 1.0,
}


@pytest.fixture
def worked(tmp_path, monkeypatch):
    """Runs in a folder of their own, whose blocks come without a simulation; the numbers of those that were worked out."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(run, "digest", lambda task, seed: f"key of {seed}")
    blocks = []

    def work(task, seed, missing, workers):
        for block in missing:
            blocks.append(block)
            yield block, dict(BLOCK)

    monkeypatch.setattr(run, "_work", work)
    return blocks


def test_a_run_goes_on_behind_what_is_complete(worked):
    shares = []
    first = run.run_task(TASK, vectors=1, seed=0, blocks=2)
    whole = run.run_task(TASK, vectors=1, seed=0, progress=lambda done, total: shares.append((done, total)))
    assert worked == list(range(TASK.blocks))
    assert shares == [(done, TASK.blocks) for done in range(2, TASK.blocks + 1)]
    assert (first["vectors"], whole["vectors"]) == (2 * TASK.block_vectors, TASK.blocks * TASK.block_vectors)
    assert whole["seconds"] == TASK.blocks * 1.75
    assert whole["asked"] == whole["vectors"]
    run.run_task(TASK, vectors=1, seed=0)
    assert len(worked) == TASK.blocks


def test_a_line_that_was_cut_is_worked_out_again(worked):
    run.run_task(TASK, vectors=1, seed=0, blocks=2)
    file = run.journal_file(TASK)
    file.write_text(file.read_text()[:-30])
    assert run.run_task(TASK, vectors=1, seed=0, blocks=2)["vectors"] == 2 * TASK.block_vectors
    assert worked == [0, 1, 1]


def test_what_was_found_under_another_key_is_not_taken(worked):
    run.run_task(TASK, vectors=1, seed=0, blocks=2)
    run.run_task(TASK, vectors=1, seed=1, blocks=2)
    assert worked == [0, 1, 0, 1]


def test_random_vectors_are_at_least_as_many_as_asked(worked):
    task = TASKS["volume-trainium3"]
    run.run_task(task, vectors=10 * task.block_vectors + 1, seed=0)
    assert worked == list(range(11))


@pytest.mark.simulator
def test_the_key_is_of_task_seed_and_verilog(monkeypatch):
    key = run.digest(TASK, 0)
    assert key == run.digest(TASK, 0)
    assert key != run.digest(TASK, 1)
    monkeypatch.setattr(type(TASK), "identity", lambda task: {"verilog": "another"})
    assert key != run.digest(TASK, 0)


@pytest.mark.simulator
@pytest.mark.deep
def test_processes_give_what_one_gives(tmp_path, monkeypatch):
    """Blocks from two processes are those of this one; one that dies leaves what was complete."""
    for block, record in run._work(TASK, 0, [0, 5, 6], 2):
        expected = TASK.run(0, block).record()
        assert [record[name] for name in ("vectors", "mismatches")] == [expected["vectors"], 0]
    monkeypatch.setattr(run, "_begin", run.os.abort)
    with pytest.raises(SimulationError, match=r"sweep-fidelity-multiplier: a process that compared vectors died"):
        list(run._work(TASK, 0, [0], 1))


@pytest.fixture
def bitpath(monkeypatch, capsys):
    """The command: status, stdout and stderr."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["bitpath", *arguments])
        with pytest.raises(SystemExit) as exit_:
            __main__.main()
        return int(exit_.value.code or 0), *capsys.readouterr()

    return call


def test_the_report_has_a_record_of_each_task(worked, bitpath):
    status, out, _ = bitpath("deep", TASK.name, "sweep-ups", "--quick")
    assert status == 0
    assert "records: build/reports/deep_quick.json" in out
    with open("build/reports/deep_quick.json") as file:
        records = json.load(file)
    assert [record["name"] for record in records] == [TASK.name, "sweep-ups"]
    for name in ("machine", "unit", "vectors", "mismatches", "seconds", "seed", "digest"):
        assert all(name in record for record in records)
    assert journal.read(run.journal_file(TASK))[0]["key"] == "key of 0"


def test_a_mismatch_fails_and_shows_the_operands(worked, bitpath, monkeypatch):
    first = {"batch": 1, "vector": 9, "kind": "floats", "operands": {"src_a": 10}, "got": [1], "expected": [3]}
    monkeypatch.setitem(BLOCK, "mismatches", 2)
    monkeypatch.setitem(BLOCK, "first", [first])
    status, out, err = bitpath("deep", TASK.name, "--quick", "--seed", "5")
    assert status == 1
    assert "block 0, batch 1, vector 9 (floats): 0x00000001 in fidelity_multiplier and 0x00000003 in golden" in out
    assert "src_a=0xa" in out
    assert f"replay: bitpath deep {TASK.name} --seed 5 --replay 0 1 9" in out
    assert err == f"bitpath: {TASK.name}: unit and golden differ\n"


def test_too_few_vectors_fail(worked, bitpath, monkeypatch):
    monkeypatch.setitem(BLOCK, "vectors", 17)
    status, _, err = bitpath("deep", TASK.name, "--quick")
    assert (status, err) == (1, f"bitpath: {TASK.name}: fewer vectors were compared than asked for\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nosuch",), "unknown task 'nosuch', known are volume-trainium3"),
        (("--quick", "--vectors", "5"), "--quick and --vectors go one at a time"),
        (("volume", "--replay", "0", "0", "0"), "--replay goes with one task that has a unit"),
        (("sweep-e2m1-dots", "--replay", "0", "0", "0"), "--replay goes with one task that has a unit"),
        (("--vectors", "0"), "'--vectors'"),
        (("--seed", "-1"), "'--seed'"),
    ],
)
def test_mistakes_are_one_sentence(worked, bitpath, arguments, says):
    status, _, err = bitpath("deep", *arguments)
    assert status != 0
    assert says in err
    assert len(err.splitlines()) == 1
    assert worked == []
