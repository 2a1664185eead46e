"""Benches of the tile's units on both simulators, with least counts of tests and comparisons."""

from functools import partial

import pytest

from bitpath.rtl.aie_ml_v2.tile.agu import AguConfig
from bitpath.rtl.aie_ml_v2.tile.data_memory import DataMemoryConfig
from bitpath.rtl.aie_ml_v2.tile.fifos import LoadFifoConfig, StoreFifoConfig
from bitpath.rtl.aie_ml_v2.tile.registers import AccumulatorRegistersConfig, VectorRegistersConfig
from bitpath.rtl.aie_ml_v2.tile.stream_port import StreamPortConfig
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.kit.testplan import covers

pytestmark = pytest.mark.simulator
SEED = 20261127

bench = partial(run_bench, seed=SEED)


def test_agu():
    bench("agu", AguConfig(), "icarus", cases=400, min_tests=6, min_compared=1_900)


@pytest.mark.deep
def test_agu_of_few_bits():
    bench("agu", AguConfig(address_bits=4), "verilator", cases=2000, min_tests=5, min_compared=8000)


@covers("data_memory.fairness")
@pytest.mark.parametrize("round_robin", [False, True])
def test_data_memory(round_robin):
    config = DataMemoryConfig(modules=1, round_robin=round_robin)
    tests = "busy=0.3/pause=0.4|stalls|fairness|resets"
    bench("data_memory", config, "icarus", cases=60, tests=tests, min_tests=4, min_compared=400)


@pytest.mark.deep
@pytest.mark.parametrize("config", [DataMemoryConfig(round_robin=True), DataMemoryConfig(modules=4, pairs=1, words=8)])
def test_data_memory_of_other_sizes(config):
    bench("data_memory", config, "verilator", cases=1000, min_tests=10, min_compared=8_000)


@pytest.mark.parametrize(
    ("unit", "config", "cases", "compared"),
    [
        ("vector_registers", VectorRegistersConfig(pairs=1, w_bits=8), 16, 1_300),
        ("accumulator_registers", AccumulatorRegistersConfig(), 400, 2_500),
    ],
)
def test_registers(unit, config, cases, compared):
    bench(unit, config, "icarus", cases=cases, min_tests=4, min_compared=compared)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("unit", "config"),
    [
        ("vector_registers", VectorRegistersConfig(pairs=6, w_bits=256)),
        ("accumulator_registers", AccumulatorRegistersConfig(accumulators=8, bm_bits=512)),
    ],
)
def test_registers_of_the_machine(unit, config):
    bench(unit, config, "verilator", cases=200, min_tests=4, min_compared=2_000)


@pytest.mark.parametrize(
    ("unit", "config"),
    [("load_fifo", LoadFifoConfig(latency=2)), ("store_fifo", StoreFifoConfig(latency=1, late=1))],
)
def test_fifos(unit, config):
    bench(unit, config, "icarus", cases=12, min_tests=5, min_compared=60)


@pytest.mark.deep
@pytest.mark.parametrize(("unit", "config"), [("load_fifo", LoadFifoConfig()), ("store_fifo", StoreFifoConfig())])
def test_fifos_of_the_machine(unit, config):
    bench(unit, config, "verilator", cases=400, min_tests=5, min_compared=1_000)


@pytest.mark.parametrize(
    ("config", "cases", "tests"),
    [
        (StreamPortConfig(), 200, 5),
        (StreamPortConfig(inputs=2), 1000, 5),
        (StreamPortConfig(inputs=2, in_words=1, out_words=3), 200, 4),
    ],
)
def test_stream_port(config, cases, tests):
    bench("stream_port", config, "icarus", cases=cases, min_tests=tests, min_compared=cases)
