"""Blocks are recorded: an interrupted run resumes, stale blocks are ignored, and too few vectors fail."""

import json
import os
import subprocess

import numpy as np
import pytest

from bitpath.sim.campaigns import volume
from bitpath.sim.campaigns.volume import clear_scratch, scratch_folder
from bitpath.sim.campaigns.volume_tasks import TASKS
from bitpath.sim.engine import cache
from bitpath.sim.engine.cluster import HERE
from bitpath.sim.engine.errors import SimulationError
from bitpath.verif.kit.testplan import covers

TASK = TASKS["sweep-fidelity-multiplier"]
SECONDS = {"stimulus_seconds": 0.25, "golden_seconds": 0.5, "rtl_seconds": 1.0}
BLOCK = {"vectors": TASK.block_vectors, "mismatches": 0, "first": []} | SECONDS


@pytest.fixture
def worked(monkeypatch, elsewhere):
    """Run in a temporary folder with faked simulations; return the numbers of the computed blocks."""
    monkeypatch.setattr(volume, "digest", lambda task, seed: f"key of {seed}")
    blocks = []

    def work(task, seed, missing, cluster, key):
        for block in missing:
            blocks.append(block)
            yield block, dict(BLOCK)

    monkeypatch.setattr(volume, "_work", work)
    return blocks


@covers("deep.resumed", "A stale block would count vectors that were never compared")
def test_a_run_goes_on_behind_what_is_complete(worked):
    """A run resumes after its complete blocks; blocks of another seed, Verilog or source, and truncated or incomplete
    records, are computed again."""
    shares = []
    first = volume.run_task(TASK, vectors=1, seed=0, blocks=2)
    whole = volume.run_task(TASK, vectors=1, seed=0, progress=lambda done, total: shares.append((done, total)))
    assert worked == list(range(TASK.blocks))
    assert shares == [(done, TASK.blocks) for done in range(2, TASK.blocks + 1)]
    assert (first["vectors"], whole["vectors"]) == (2 * TASK.block_vectors, TASK.blocks * TASK.block_vectors)
    assert whole["seconds"] == TASK.blocks * 1.75
    assert whole["asked"] == whole["vectors"]
    volume.run_task(TASK, vectors=1, seed=0)
    assert len(worked) == TASK.blocks


@covers("deep.resumed")
def test_a_line_that_was_cut_is_worked_out_again(worked):
    volume.run_task(TASK, vectors=1, seed=0, blocks=2)
    file = volume.journal_file(TASK)
    file.write_text(file.read_text()[:-30])
    assert volume.run_task(TASK, vectors=1, seed=0, blocks=2)["vectors"] == 2 * TASK.block_vectors
    assert worked == [0, 1, 1]


@covers("deep.resumed")
def test_what_was_found_under_another_key_is_not_taken(worked):
    volume.run_task(TASK, vectors=1, seed=0, blocks=2)
    volume.run_task(TASK, vectors=1, seed=1, blocks=2)
    assert worked == [0, 1, 0, 1]


@covers("deep.resumed")
def test_a_record_that_lacks_something_is_not_taken(worked):
    short = {name: value for name, value in BLOCK.items() if name != "vectors"}
    cache.append(volume.journal_file(TASK), {"key": "key of 0", "block": 0} | short)
    volume.run_task(TASK, vectors=1, seed=0, blocks=1)
    assert worked == [0]


@covers("deep.verdict", "The figure counts compared vectors, not requested ones")
def test_random_vectors_are_at_least_as_many_as_asked(worked):
    """A mismatch or too few vectors fail the command; the report has a record of each task with its seed."""
    task = TASKS["volume-trainium3"]
    volume.run_task(task, vectors=10 * task.block_vectors + 1, seed=0)
    assert worked == list(range(11))


@pytest.fixture
def verilog(monkeypatch):
    """Tasks without a build; a function that changes what their units' Verilog is."""

    def change(text):
        monkeypatch.setattr(volume, "identity", lambda task: {"verilog": text})

    change("one")
    return change


@covers("deep.resumed")
def test_the_key_is_of_task_seed_and_verilog(verilog):
    random = TASKS["volume-trainium3"]
    keys = [volume.digest(TASK, 0), volume.digest(random, 0), volume.digest(random, 1)]
    assert keys[0] == volume.digest(TASK, 0) == volume.digest(TASK, 1)
    verilog("another")
    keys.append(volume.digest(TASK, 0))
    assert len(set(keys)) == 4


@covers("deep.resumed")
@pytest.mark.parametrize("name", [name for name, task in TASKS.items() if not task.random and task.unit != "golden"])
def test_what_is_not_random_is_the_same_from_any_seed(name):
    task = TASKS[name]
    numbers = np.arange(64)
    one, other = (next(iter(task.batches(task.config(), task.rng(seed, 0), 0))).words(numbers) for seed in (0, 1))
    assert np.array_equal(one, other)


@covers("deep.resumed")
def test_a_block_of_other_sources_is_refused(verilog):
    with pytest.raises(SimulationError, match=f"{TASK.name}: the sources have changed since the command began"):
        volume.block_record(TASK.name, 0, 0, "key of other sources")


@covers("deep.resumed")
def test_a_player_that_fails_says_on_which_block(verilog, monkeypatch):
    def fail(task, seed, block):
        raise SimulationError("no answer")

    monkeypatch.setattr(volume, "run_block", fail)
    with pytest.raises(SimulationError, match=f"{TASK.name}, seed 7, block 3: no answer"):
        volume.block_record(TASK.name, 7, 3, volume.digest(TASK, 7))


@covers("deep.verdict")
@pytest.mark.simulator
@pytest.mark.deep
def test_processes_compare_whole_blocks():
    found = dict(volume._work(TASK, 0, [0, 5, 6], HERE, volume.digest(TASK, 0)))
    assert found.keys() == {0, 5, 6}
    assert all((each["vectors"], each["mismatches"]) == (TASK.block_vectors, 0) for each in found.values())


@covers("deep.resumed")
def test_what_a_killed_process_left_is_removed(elsewhere):
    ended = subprocess.Popen(["true"])
    ended.wait()
    kept, left = (scratch_folder() / f"{pid}-x" for pid in (os.getpid(), ended.pid))
    for folder in (kept, left):
        folder.mkdir(parents=True)
        (folder / "vectors.bin").write_text("")
    clear_scratch()
    assert kept.exists()
    assert not left.exists()


@covers("deep.verdict")
def test_the_report_has_a_record_of_each_task(worked, bitpath):
    status, out, _ = bitpath("deep", TASK.name, "sweep-ups", "--quick")
    assert status == 0
    assert "records: build/reports/deep_quick.json" in out
    with open("build/reports/deep_quick.json") as file:
        records = json.load(file)
    assert [record["name"] for record in records] == [TASK.name, "sweep-ups"]
    for name in ("machine", "unit", "vectors", "mismatches", "seconds", "seed", "digest"):
        assert all(name in record for record in records)
    assert cache.read(volume.journal_file(TASK))[0]["key"] == "key of 0"


@covers("deep.verdict")
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


@covers("deep.verdict")
def test_too_few_vectors_fail(worked, bitpath, monkeypatch):
    monkeypatch.setitem(BLOCK, "vectors", 17)
    status, _, err = bitpath("deep", TASK.name, "--quick")
    assert (status, err) == (1, f"bitpath: {TASK.name}: fewer vectors were compared than requested\n")


@covers("deep.verdict")
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
