"""Benches of ScalarE's and VectorE's lanes on both simulators."""

from functools import partial

import pytest

from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.trainium3.lanes.activation2_lane import Activation2Config
from bitpath.rtl.trainium3.lanes.copy_lanes import CopyConfig, CopyMode, CopyWidth
from bitpath.rtl.trainium3.lanes.engine_lane import EngineLaneConfig
from bitpath.rtl.trainium3.lanes.rand2_lane import Rand2Config
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.lanes.copy_lanes import every_mode
from bitpath.verif.trainium3.refusals import benches

pytestmark = pytest.mark.simulator
SEED = 20260826
STAGES = [PipelineConfig(stages=stages) for stages in range(5)]
bench = partial(run_bench, seed=SEED)

DIRECTED, EDGES, BITS = 2100, 900, 800
RANGES = 13 * 18


def engine(width, stages):
    return EngineLaneConfig(width=width, pipeline=STAGES[stages])


BENCHES = {
    # Every instruction, edges, random beats at every pace, rows on one register, latency, resets.
    "activation2_lane-verilator": (
        Activation2Config(pipeline=STAGES[3]),
        100,
        None,
        10,
        5 * DIRECTED + EDGES + BITS + 400,
    ),
    "activation2_lane-icarus": (
        Activation2Config(pipeline=STAGES[0]),
        30,
        "edges|bits|rows|latency|resets",
        5,
        EDGES + BITS + 50,
    ),
    # golden's rand2, ranges and edges, random beats at every pace, latency, resets.
    "rand2_lane-verilator": (Rand2Config(pipeline=STAGES[4]), 300, None, 8, 13 * 15 + 5 * RANGES + 4 * 300 + 60),
    # Every pair, tails, equal dtypes, long rows, durations, ties, any rows at every pace, resets.
    "copy_lanes-verilator": (CopyConfig(interval=8), 100, None, 11, 27_000),
    "copy_lanes-machine-verilator": (CopyConfig(), 0, "durations", 1, 1000),
    "copy_lanes-icarus": (CopyConfig(interval=4, pipeline=STAGES[1]), 0, "tails|resets", 2, 500),
    # Pairs of INT8, INT32, casts, golden's rows, every operator, random beats at every pace, latency, resets.
    "engine_lane-verilator": (EngineLaneConfig(width=1), 300, None, 12, 65_536 + 11_000 + 4000 + 4 * 300),
    "engine_lane-icarus": (engine(2, 2), 20, "golden_s|latency|resets", 4, 44 * 8 + 40),
    "rand2_lane-icarus": (Rand2Config(pipeline=STAGES[0]), 40, "partitions|latency", 2, 13 * 5 + 20),
}
"""Configuration, cases, names of tests, and the least tests and comparisons."""


@covers("engine_lane.engines", "VectorE and ScalarE give the same bits")
@pytest.mark.parametrize("name", benches(BENCHES))
def test_bench(name):
    """The same tests on one, two and four elements a cycle."""
    unit, *_, simulator = name.split("-")
    config, cases, tests, ran, compared = BENCHES[name]
    bench(unit, config, simulator, cases=cases, tests=tests, min_tests=ran, min_compared=compared)


@covers("engine_lane.int8")
@pytest.mark.deep
@pytest.mark.parametrize("width", [2, 4])
def test_every_int8_pair_under_every_operator(width):
    """On ScalarE's two elements a cycle and on VectorE's four."""
    config, pairs = engine(width, 4), 65_536 // width
    bench(
        "engine_lane",
        config,
        "verilator",
        cases=1,
        env={"BITPATH_EVERY": "1"},
        tests="int8",
        min_tests=1,
        min_compared=21 * pairs,
    )


@covers("copy_lanes.width", "The bench's rows are a sample of the modes")
def test_copy_width(evaluate):
    """Elements a cycle in every mode of every pair of dtypes: golden's."""
    rows = list(every_mode())
    assert len(rows) == 169 * 2 * 2 * 3 * 2
    mode = CopyMode.as_shape().size
    widths = evaluate(CopyWidth(), [{"mode": CopyMode.from_bits(row.command & (1 << mode) - 1)} for row in rows])
    assert widths == [row.width for row in rows]


VOLUMES = [
    *(
        ("engine_lane", engine(width, stages), 20_000, None, 10, 80_000)
        for width, stages in ((1, 0), (2, 1), (2, 3), (4, 4))
    ),
    *(("activation2_lane", Activation2Config(pipeline=stages), 20_000, None, 10, 80_000) for stages in STAGES[:4]),
    *(("rand2_lane", Rand2Config(pipeline=stages), 10_000, None, 7, 40_000) for stages in STAGES),
    *(("rand2_lane", Rand2Config(width=width, pipeline=STAGES[4]), 3000 * width, None, 7, 40_000) for width in (1, 2)),
    *(
        ("copy_lanes", CopyConfig(interval=interval, pipeline=STAGES[stages]), 3000, None, 11, 100_000)
        for interval, stages in ((64, 2), (1, 0), (7, 1))
    ),
]


@covers("engine_lane.engines")
@pytest.mark.deep
@pytest.mark.parametrize(("unit", "config", "cases", "tests", "ran", "compared"), VOLUMES)
def test_volume(unit, config, cases, tests, ran, compared):
    bench(unit, config, "verilator", cases=cases, tests=tests, min_tests=ran, min_compared=compared)
