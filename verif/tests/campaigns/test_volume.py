"""A million dot products of each machine in every test run, and the classes of their operands."""

import numpy as np
import pytest

from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.sim.campaigns.volume import run_block
from bitpath.sim.campaigns.volume_tasks import TASKS, VOLUMES, chosen
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
