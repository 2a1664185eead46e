"""Benches of the DMA units on both simulators."""

from dataclasses import replace
from functools import partial

import pytest

from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.trainium3.dma.dma_cast import DmaCastConfig
from bitpath.rtl.trainium3.dma.dma_mover import DmaMoverConfig
from bitpath.rtl.trainium3.dma.dma_queues import DmaQueuesConfig
from bitpath.rtl.trainium3.dma.dma_transpose import DmaTransposeConfig
from bitpath.rtl.trainium3.dma.read_add_write import ReadAddWriteConfig
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.measured import benches

pytestmark = pytest.mark.simulator
SEED = 20260821
STAGES = [PipelineConfig(stages=stages) for stages in range(3)]
bench = partial(run_bench, seed=SEED)


def cast(beat_bytes, stages):
    return DmaCastConfig(beat_bytes=beat_bytes, pipeline=STAGES[stages])


TRANSPOSE = DmaTransposeConfig(columns=8, elements=16, address_bits=16, count_bits=8, row_bits=8, depth=16)
"""As in the machine's engines."""
PACED = "random|latency|resets"
BENCHES = {
    # Every code, the limits of every pair, random beats at every pace, latency, resets.
    "dma_cast-verilator": (
        cast(8, 2),
        200,
        "every_code/source=[^iu]|limits|ties|boundaries|random|latency|resets",
        15,
        60_000,
    ),
    "dma_cast-icarus": (cast(4, 1), 60, PACED, 6, 4 * 60 + 20),
    # Beats at every pace, chains, pairs of specials, resets, and known answers where they are.
    "read_add_write-verilator": (ReadAddWriteConfig(beat_bytes=8), 300, None, 12, 4 * 300 + 3 * 300 + 2 * 200 + 30),
    "read_add_write-icarus": (ReadAddWriteConfig(), 60, "any_order|chain|resets", 10, 4 * 60 + 3 * 60 + 30),
    # Known traces where they are, random schedules, starvation, tokens, rates over 10**5 cycles, resets.
    "dma_queues-verilator": (DmaQueuesConfig(queues=16, depth=4), 200, None, 12, 1000),
    "dma_queues-icarus": (DmaQueuesConfig(), 60, "brief|resets|starves", 6, 100),
    # Lengths and places, all casts, additions, random descriptors at every pace, durations, the longest one, resets.
    "dma_mover-verilator": (DmaMoverConfig(beat_bytes=8, address_bits=13), 30, None, 14, 3000),
    "dma_mover-icarus": (DmaMoverConfig(descriptor_cycles=8), 16, "onto|any|resets", 7, 150),
    # The machine's tiles; every number of elements, durations, refused commands, resets, random transposes at every pace.
    "dma_transpose-verilator": (TRANSPOSE, 30, "random|count|durations|refused", 8, 2500),
    "dma_transpose-icarus": (DmaTransposeConfig(), 30, "pace=both|count|durations|refused|resets", 6, 450),
}
"""Configuration, cases, names of tests, and the least tests and comparisons."""


@pytest.mark.parametrize("name", benches(BENCHES))
def test_bench(name):
    unit, *_, simulator = name.split("-")
    config, cases, tests, ran, compared = BENCHES[name]
    bench(unit, config, simulator, cases=cases, tests=tests, min_tests=ran, min_compared=compared)


@covers("read_add_write.known_answers")
@pytest.mark.deep
def test_read_add_write_known_answers(kat, replay):
    """Every sum of both formats, a beat of eight words or sixteen halves at a time."""
    archive, config = kat("trn_core_rmw.npz"), ReadAddWriteConfig(beat_bytes=32)
    beats = sum(-(-archive[f"raw_{name}_sum"].nbytes // 32) for name in ("bf16", "fp32"))
    bench = "trainium3.dma.tb_read_add_write"
    replay("read_add_write", config, bench, seed=SEED, tests="known_answers", min_tests=2, min_compared=beats)


@covers("dma_queues.known_answers")
@pytest.mark.deep
def test_dma_queues_known_answers(kat, replay):
    """Every grant of every trace, in its cycle."""
    grants = sum(len(array) for name, array in kat("trn_core_dma.npz").items() if name.endswith("_trace"))
    config, bench = DmaQueuesConfig(queues=16, depth=4), "trainium3.dma.tb_dma_queues"
    replay("dma_queues", config, bench, seed=SEED, tests="known_answers", min_tests=1, min_compared=grants)


@covers("dma_transpose.known_answers")
@pytest.mark.deep
def test_dma_transpose_known_answers(kat, replay):
    """Every array, eight partitions at a time."""
    archive, config = kat("trn_core_transpose.npz"), replace(TRANSPOSE, address_bits=17)
    bytes_ = sum(array.nbytes for name, array in archive.items() if name.startswith("dma") and name.endswith("_dst"))
    bench = "trainium3.dma.tb_dma_transpose"
    results = bytes_ // config.row_bytes
    replay("dma_transpose", config, bench, seed=SEED, tests="known_answers", min_tests=1, min_compared=results)


@pytest.mark.deep
@pytest.mark.parametrize(
    "config", [DmaMoverConfig(beat_bytes=32, address_bits=18), DmaMoverConfig(beat_bytes=16, address_bits=9)]
)
def test_the_machine_moves_descriptors(config):
    """Up to 64 KiB, at the machine's pace."""
    bench("dma_mover", config, "verilator", cases=2000, min_tests=14, min_compared=20_000)


@pytest.mark.deep
@pytest.mark.parametrize("queues", [2, 16])
def test_many_schedules(queues):
    config = DmaQueuesConfig(queues=queues, depth=3)
    bench("dma_queues", config, "verilator", cases=3000, tests="brief|machine", min_tests=5, min_compared=8000)


@pytest.mark.deep
@pytest.mark.parametrize("beat_bytes", [4, 32])
def test_many_additions(beat_bytes):
    config = ReadAddWriteConfig(beat_bytes=beat_bytes, address_bits=7)
    bench("read_add_write", config, "verilator", cases=20_000, min_tests=12, min_compared=140_000)


@pytest.mark.deep
@pytest.mark.parametrize("config", [cast(32, 2), cast(16, 1), cast(4, 0)])
def test_every_code_meets_every_destination(config):
    """The machine's beat and others, with all codes of 16 bits to all dtypes."""
    bench("dma_cast", config, "verilator", cases=5000, env={"BITPATH_EVERY": "1"}, min_tests=15, min_compared=200_000)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"beat_bytes": 2}, "beat_bytes must be a power of two from 4 to 32, not 2"),
        ({"pipeline": PipelineConfig(stages=3)}, "stages must be 0 to 2, not 3"),
    ],
)
def test_configurations_of_a_cast_that_are_refused(fields, says):
    with pytest.raises(ValueError, match=f"^dma_cast: {says}$"):
        DmaCastConfig(**fields)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"columns": 16}, "columns must be a power of two from 2 to 8, not 16"),
        ({"elements": 2}, "elements must be a power of two from 4 to 16, not 2"),
        ({"address_bits": 41}, "address_bits must be 4 to 40, not 41"),
        ({"count_bits": 0}, "count_bits must be 1 to 16, not 0"),
        ({"row_bits": 17}, "row_bits must be 1 to 16, not 17"),
        ({"depth": 1}, "depth must be 2 to 64, not 1"),
    ],
)
def test_configurations_of_a_transpose_that_are_refused(fields, says):
    with pytest.raises(ValueError, match=f"^dma_transpose: {says}$"):
        DmaTransposeConfig(**fields)


@pytest.mark.parametrize(("beat_bytes", "least"), [(4, 5), (32, 8)])
def test_a_mover_without_eight_words_is_refused(beat_bytes, least):
    with pytest.raises(ValueError, match=f"^dma_mover: address_bits must be {least} to 40, not {least - 1}$"):
        DmaMoverConfig(beat_bytes=beat_bytes, address_bits=least - 1)
