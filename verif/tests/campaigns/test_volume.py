"""Volume comparison: a million dot products of each machine, the player, the journal, and the replay of one vector."""

import json
import os
import re
import subprocess
from dataclasses import replace
from dataclasses import replace as changed
from pathlib import Path

import numpy as np
import pytest

from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.rtl.emit import emit
from bitpath.sim.campaigns import volume
from bitpath.sim.campaigns.volume import (
    TASKS,
    VOLUMES,
    Interface,
    chosen,
    clear_scratch,
    compare,
    from_built,
    player_of,
    replay,
    run_block,
    scratch_folder,
)
from bitpath.sim.engine import cache
from bitpath.sim.engine.build import build, rtl_emitter
from bitpath.sim.engine.cluster import HERE
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.engine.runner import Emitter
from bitpath.sim.engine.stepped import Port, module_ports
from bitpath.verif.kit.batches import Batch, Part, decoded, fill, places, side_by_side
from bitpath.verif.kit.testplan import covers
from bitpath.verif.tensix.dot.dot import INT32_MAX
from bitpath.verif.trainium3.golden.e2m1_dots import OPERANDS, E2m1Dots, elements, pair_table

MILLION = 1_000_000


@covers(
    "deep.volume",
    "Random operands that all overflow or repeat test little",
    "A million dot products of each machine in every test run, from a seed and a block number, with results of "
    "every class",
)
@covers(
    "dot16.million",
    "Finds faults outside the directed cases, at counts that a Python bench cannot reach",
    "A million random dot products, every style, Dst width, phase and class of operands, played by C++, equal the "
    "vectorised model; `make deep` plays 10^8",
)
@covers(
    "mac_lane.million",
    "Finds cases that no directed test covers, in numbers that a Python bench cannot reach",
    "A million random dot products, every mode and class of accumulators, played by C++, equal the vectorised "
    "model; `make deep` plays 10^8",
)
@covers(
    "quad_mx_dot.million",
    "Cases that no directed test has, in volumes that a Python bench cannot reach",
    "A million random dot products, every pair of FP8 formats and class of operands, played by C++, equal the "
    "vectorised model; `make deep` plays 10^8",
)
@pytest.mark.simulator
@pytest.mark.parametrize("task", VOLUMES, ids=lambda task: task.name)
def test_a_million_dot_products_equal_golden(task):
    found = [run_block(task, 7, block) for block in range(task.block_count(MILLION))]
    assert sum(each.vectors for each in found) >= MILLION
    assert [each.first for each in found if each.mismatches] == []
    assert all(each.vectors == task.block_vectors for each in found)


@covers("deep.volume")
@pytest.mark.parametrize("task", VOLUMES, ids=lambda task: task.name)
def test_a_block_is_made_again_from_its_number(task):
    """Another block number or another seed gives other vectors."""
    numbers = np.arange(64)
    first, again, other, seeded = (
        next(iter(task.batches(task.config(), task.rng(seed, block), block))).words(numbers)
        for seed, block in ((0, 5), (0, 5), (0, 6), (1, 5))
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(first, seeded)


def results_by(name, key, only=""):
    """Golden's answers to the first block of a task, of kinds with ``only`` in them, by a key of the batch's kind."""
    task = TASKS[name]
    shares: dict[str, list[np.ndarray]] = {}
    for batch in task.batches(task.config(), task.rng(0, 0), 0):
        if only in batch.kind:
            shares.setdefault(key(batch.kind), []).append(batch.golden())
    return {each: np.concatenate(codes) for each, codes in shares.items()}


def distinct(codes):
    """Return the share of distinct results."""
    return len(np.unique(codes)) / len(codes)


@covers("deep.volume")
def test_results_are_of_every_class():
    """Quad-MX: each class of operands produces its intended class of results often enough."""
    results = results_by("volume-trainium3", lambda kind: kind.partition(",")[0])
    magnitudes = {name: codes & ~np.uint32(FP32.sign_mask) for name, codes in results.items()}
    subnormal = (magnitudes["tiny"] > 0) & (magnitudes["tiny"] <= FP32.fraction_mask)
    for name, hit in {
        "NaN": magnitudes["any"] == FP32.nan_code,
        "infinity": magnitudes["huge"] == FP32.infinity_code,
        "largest": magnitudes["huge"] >> FP32.fraction_bits == FP32.exponent_mask - 1,
        "subnormal": subnormal,
        "cancelled": magnitudes["cancelling"] == 0,
        "-0": results["zeros"] == FP32.sign_mask,
    }.items():
        assert hit.mean() > 0.02, name


@covers("deep.volume")
def test_results_of_dot16_are_of_every_class():
    """Checks the last phase, which has the smallest products, by operand class and width of Dst."""
    results = results_by("volume-tensix", lambda kind: tuple(kind.split(", ")[:2]), only="phase 3")
    wide, narrow = (
        {name: codes for (name, mode), codes in results.items() if mode == f"{style} into {bits}"}
        for style, bits in (("BF16", 32), ("BF16", 16))
    )
    integer = results["integer", "INT8 into 32"] & INT32_MAX
    for name, hit in {
        "saturated": wide["huge"] & INT32_MAX == FP32.infinity_code,
        "saturated to 16 bits": narrow["huge"] & BF16.infinity_code == BF16.infinity_code,
        "flushed": wide["any"] == 0,
        "cancelled": wide["cancelling"] == 0,
        "cancelled in 16 bits": narrow["cancelling"] == 0,
        "near the largest integer": integer >= INT32_MAX - (1 << 20),
        "small integer": integer < 1 << 16,
    }.items():
        assert hit.mean() > 0.02, name
    for name in ("close", "tiny"):
        assert distinct(wide[name]) > 0.5
        assert distinct(narrow[name]) > 0.05


@covers("deep.volume")
def test_results_of_the_lane_are_of_every_class():
    """One special operand makes a row of 128 results special: most must not be."""
    results = results_by("volume-aie_ml_v2", lambda kind: tuple(kind.split(", ")[:2]))
    for kind in {kind for kind, _ in results}:
        codes = np.concatenate([codes for (own, _), codes in results.items() if own == kind])
        assert distinct(codes) > 0.3, kind
        assert 0.2 < (codes >> 31).mean() < 0.8, kind
        if not kind.startswith("int"):
            magnitudes = codes & INT32_MAX
            assert 0.02 < (magnitudes > FP32.infinity_code).mean() < 0.4, kind
            assert (magnitudes == FP32.infinity_code).mean() > 0.002, kind
    cancelled = np.concatenate(
        [codes & INT32_MAX == 0 for (_, acc), codes in results.items() if acc == "acc1 cancelling"]
    )
    assert cancelled.mean() > 0.02


@covers("deep.e2m1", "The table adds in another way than golden")
def test_pairs_of_e2m1_products_by_hand():
    """Four-term E2M1 dot products agree with an integer table, which is checked by hand; one wrong dot product is
    found."""
    halves = [0, 1, 2, 3, 4, 6, 8, 12]
    halves += [-each for each in halves]
    table = pair_table()
    assert table.shape == (256, 256)
    for a in range(256):
        low, high = halves[a & 15], halves[a >> 4]
        assert table[a].tolist() == [low * halves[b & 15] + high * halves[b >> 4] for b in range(256)]
    assert elements(np.array([0x4321])).tolist() == [[1, 2, 3, 4]]


@pytest.fixture
def few_dots(monkeypatch):
    """Blocks of 16 stationary operands instead of 1024."""
    monkeypatch.setattr("bitpath.verif.trainium3.golden.e2m1_dots.BLOCK", 16)
    return E2m1Dots()


@covers("deep.e2m1")
def test_dots_of_e2m1_equal_the_table(few_dots):
    found = few_dots.run(0xF37)
    assert (found.vectors, found.mismatches) == (16 * OPERANDS, 0)


@covers("deep.e2m1")
def test_one_wrong_dot_of_e2m1_is_found(few_dots, monkeypatch):
    from bitpath.verif.trainium3.golden import e2m1_dots

    right = e2m1_dots.chain_rows

    def wrong(*operands):
        codes = right(*operands)
        codes[3, 12345] ^= 1 << 22
        return codes

    monkeypatch.setattr(e2m1_dots, "chain_rows", wrong)
    found = few_dots.run(1)
    assert found.mismatches == 1
    assert found.first[0].operands == {"stationary": 19, "moving": 12345}
    assert found.first[0].got[0] == found.first[0].expected[0] ^ 1 << 22


@covers("deep.sweeps", "A range that ends one block early looks complete")
def test_sweeps_have_whole_blocks_of_whole_ranges():
    """The blocks of a sweep cover its whole range, and its first and last blocks agree with golden."""
    assert E2m1Dots().block_vectors * E2m1Dots().blocks == 1 << 32
    sizes = {task.name: task.block_vectors * task.blocks for task in chosen(("sweep",))}
    assert sizes["sweep-fp8-products"] == 4 * 4 << 16
    assert sizes["sweep-fidelity-multiplier"] == 4 * ((1 << 22) + (1 << 21))
    assert sizes["sweep-square-root"] == (2 << 23) // 4
    assert sizes["sweep-mx-convert"] == 3 * 10 * (4 << 16) // 16


@covers("deep.sweeps")
@pytest.mark.simulator
@pytest.mark.deep
@pytest.mark.parametrize(
    "task", [task for task in chosen(("sweep",)) if task.unit != "golden"], ids=lambda task: task.name
)
def test_first_and_last_block_of_a_sweep(task):
    for block in sorted({0, task.blocks - 1}):
        found = run_block(task, 0, block)
        assert (found.vectors, found.mismatches, found.first) == (task.block_vectors, 0, ())


@covers("deep.sweeps")
def test_tasks_are_chosen_by_how_their_names_begin():
    assert [task.name for task in chosen(("volume",))] == [task.name for task in VOLUMES]
    assert chosen(()) == list(TASKS.values())
    assert [chosen((name,)) for name in TASKS] == [[task] for task in TASKS.values()]
    both = [TASKS[f"sweep-{name}"] for name in ("reciprocal", "reciprocal-square-root")]
    assert chosen(("sweep-recip",)) == chosen(("sweep-reciprocal", "sweep-reciprocal-")) == both
    with pytest.raises(ValueError, match="unknown task 'sweeep', known are volume-trainium3, "):
        chosen(("volume", "sweeep"))


# The player detects a wrong bit, a mutated design, a dead design, and vectors that do not fit the ports.


MULTIPLIER = TASKS["sweep-fidelity-multiplier"]
SOURCES = (Path(__file__), *rtl_emitter().sources)


def block(task, number=0):
    return list(task.batches(task.config(), task.rng(0, number), number))


def mutated(pattern, replacement, place=0.0):
    """Return an emitter that changes one operator: the match of the pattern at a given fraction of the Verilog."""

    def write(unit, config, folder):
        emitted = emit(unit, config, folder)
        text = emitted.files[0].read_text()
        found = list(re.finditer(pattern, text))
        chosen = found[int(place * len(found))]
        changed = chosen.expand(replacement)
        emitted.files[0].write_text(text[: chosen.start()] + changed + text[chosen.end() :])
        return emitted

    return Emitter(write, SOURCES)


def played(task, emitter):
    """A block on a unit whose Verilog another emitter wrote."""
    player = from_built(build(task.unit, task.config(), "verilator", emitter=emitter))
    return compare(player, block(task), task.layout)


@covers("deep.player", "No Python code sees the vectors, so an error that the player misses stays unknown")
@pytest.mark.simulator
def test_a_flipped_bit_in_one_answer_is_found():
    """A wrong bit, another operator, a dead design, and results that are missing, doubled or of another size are found;
    vectors that do not fit the ports are refused."""
    batches = block(MULTIPLIER)
    right = batches[1].golden

    def wrong():
        codes = right()
        codes[54321] ^= 1 << 11
        return codes

    batches[1] = replace(batches[1], golden=wrong)
    found = compare(player_of(MULTIPLIER), batches, MULTIPLIER.layout)
    assert found.mismatches == 1
    assert found.vectors == MULTIPLIER.block_vectors
    first = found.first[0]
    assert (first.batch, first.vector, first.kind) == (1, 54321, "integers, phase 0")
    # Every pair, SrcB's 1024 integers innermost.
    assert first.operands == {"is_integer": 1, "src_a": 54321 >> 10, "src_b": 54321 & 1023}
    assert first.got[0] ^ first.expected[0] == 1 << 11


@covers("deep.player")
@pytest.mark.simulator
def test_a_mutated_operator_is_found(elsewhere):
    found = played(MULTIPLIER, mutated(r"= (\S+) \* (\S+);", r"= \1 + \2;"))
    assert found.mismatches > found.vectors / 2
    assert len(found.first) == 5


@covers("deep.player")
@covers("dot16.million")
@covers("mac_lane.million")
@covers("quad_mx_dot.million")
@pytest.mark.simulator
@pytest.mark.deep
@pytest.mark.parametrize("place", [0.2, 0.5, 0.8])
@pytest.mark.parametrize("name", ["volume-trainium3", "volume-tensix", "volume-aie_ml_v2"])
def test_a_mutated_datapath_is_found(name, place, elsewhere):
    """One AND becomes an OR."""
    found = played(TASKS[name], mutated(r"= (\S+) & (\S+);", r"= \1 | \2;", place))
    assert found.mismatches > 0


@covers("deep.player")
@pytest.mark.simulator
@pytest.mark.deep
def test_a_dead_design_fails(elsewhere):
    dead = mutated(r"assign o__valid = [^;]+;", r"assign o__valid = 1'h0;")
    with pytest.raises(
        SimulationError, match=r"playing 65536 vectors on reciprocal_\w+ failed behind answer 0: .* no further answer"
    ):
        played(TASKS["sweep-reciprocal"], dead)


@covers("deep.player")
@pytest.mark.simulator
@pytest.mark.parametrize(
    ("table", "index"),
    [
        (np.zeros((4, 3), np.uint32), None),
        (np.zeros((4, 5), np.uint32), None),
        (np.zeros((3, 4), np.uint32), None),
        (np.zeros((3, 4), np.uint32), np.array([0, 1, 2, 3])),
    ],
    ids=["too few words", "too many words", "too few rows", "a row that is not there"],
)
def test_vectors_that_do_not_fit_are_refused(table, index):
    batch = Batch("", (Part(table, index),), 4, lambda: np.zeros(4, np.uint32))
    with pytest.raises(SimulationError, match="its vectors do not fit the model's ports"):
        compare(player_of(MULTIPLIER), [batch], MULTIPLIER.layout)


@covers("deep.player")
@pytest.mark.simulator
def test_answers_of_another_size_are_refused():
    batch = block(MULTIPLIER)[0]
    batches = [replace(batch, golden=lambda: np.zeros((batch.count, 2), np.uint32))]
    with pytest.raises(ValueError, match=r"golden gave answers \(2097152, 2\), the unit \(2097152, 1\)"):
        compare(player_of(MULTIPLIER), batches, MULTIPLIER.layout)


@covers("deep.player")
@pytest.mark.simulator
@pytest.mark.deep
def test_an_answer_that_comes_twice_is_found(elsewhere):
    """The unit offers its last result for ever, so that one is repeated too."""
    stuck = mutated(r"assign o__valid = [^;]+;", r"assign o__valid = 1'h1;")
    with pytest.raises(SimulationError, match="the model gave an answer to nothing, or one answer twice"):
        played(TASKS["sweep-reciprocal"], stuck)


@covers("deep.player")
@pytest.mark.simulator
def test_a_player_that_takes_too_long_is_ended(tmp_path):
    batches = block(MULTIPLIER)
    says = r"playing 3145728 vectors on \w+: no end after 0 s"
    with player_of(MULTIPLIER).start(tmp_path, batches) as playing, pytest.raises(SimulationError, match=says):
        playing.answers(0)
    assert playing.child.returncode is not None


@covers("deep.player")
@pytest.mark.simulator
def test_answers_that_are_missing_are_noticed(tmp_path):
    with player_of(MULTIPLIER).start(tmp_path, block(MULTIPLIER)) as playing:
        playing.child.wait()
        content = playing.file.read_bytes()
        playing.file.write_bytes(content[:-4])
        with pytest.raises(SimulationError, match="failed: it gave 3145727 answers"):
            playing.answers(60)


@covers("deep.player")
def test_ports_come_from_the_verilog():
    """Yosys writes signed ports for signed signals."""
    text = "module m(b, a, o);\n  input [10:0] b;\n  wire [10:0] b;\n  input a;\n  output signed [4:0] o;\nendmodule\n"
    assert module_ports(text, "m") == [Port("input", "b", 11), Port("input", "a", 1), Port("output", "o", 5)]
    interface = Interface.of("m", text)
    assert interface == Interface("COMBINATIONAL", (("a", 1), ("b", 11)), ("o", 5))
    with pytest.raises(SimulationError, match="no module n"):
        Interface.of("n", text)


@covers("deep.player")
def test_fields_come_to_their_places():
    table = fill(2, 3, [(0, 4, [1, 2]), (30, 5, [0b10011, 31]), (64, 32, 0xFFFFFFFF)])
    assert table.tolist() == [[1 | 3 << 30, 0b100, 0xFFFFFFFF], [2 | 3 << 30, 7, 0xFFFFFFFF]]
    layout = {"low": (0, 4), "across": (30, 5), "none": (40, 8)}
    assert decoded(layout, table[0]) == {"low": 1, "across": 0b10011}
    assert side_by_side(("a", 33), ("b", 1)) == {"a": (0, 33), "b": (64, 1)}
    assert places(5, "x") == {"x": (0, 5)}


# Blocks are recorded: an interrupted run resumes, stale blocks are ignored, and too few vectors fail.


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
    assert f"replay: bitpath self deep {TASK.name} --seed 5 --replay 0 1 9" in out
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


# A vector that differed is played again by itself, in a bench.


NAMES = ("sweep-fidelity-multiplier", "volume-trainium3", "volume-aie_ml_v2", "sweep-reciprocal")


def spoilt(task):
    """The task with golden's answers wrong in their lowest bit."""

    def batches(config, rng, block):
        for batch in task.batches(config, rng, block):
            yield changed(batch, golden=lambda golden=batch.golden: golden() ^ 1)

    return changed(task, batches=batches)


@covers("deep.replay", "A mismatch among 10^8 vectors is useful only with its waves")
@pytest.mark.simulator
@pytest.mark.deep
@pytest.mark.parametrize("name", NAMES)
def test_the_bench_agrees_with_the_player(name):
    """A bench replays a mismatching vector alone and agrees with the player; a missing vector is named."""
    task = TASKS[name]
    assert replay(task, 0, 0, 0, 12345, "icarus").compared == 1
    with pytest.raises(SimulationError, match="mismatch"):
        replay(spoilt(task), 0, 0, 0, 12345, "icarus")


@covers("deep.replay")
@pytest.mark.parametrize(
    ("place", "says"),
    [
        ((8, 0, 0), "block must be 0 to 7 of sweep-fidelity-multiplier, not 8"),
        ((0, 2, 0), "batch must be 0 to 1 of block 0 of .*, not 2"),
        ((0, 1, 1 << 20), "vector must be 0 to 1048575 of batch 1 of .*, not 1048576"),
    ],
)
def test_a_vector_that_is_not_there_is_named(place, says):
    with pytest.raises(ValueError, match=says):
        replay(TASKS["sweep-fidelity-multiplier"], 0, *place, "icarus")
