"""Benches of the units that address memories on both simulators, with least counts of tests and comparisons."""

from functools import partial

import pytest

from bitpath.rtl.trainium3.memory.access_walker import WalkConfig
from bitpath.rtl.trainium3.memory.dge import DgeConfig
from bitpath.rtl.trainium3.memory.indirect_offsets import IndirectConfig
from bitpath.rtl.trainium3.memory.sbuf import SbufConfig
from bitpath.rtl.trainium3.memory.scale_fetch import ScaleFetchConfig
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.measured import benches

pytestmark = pytest.mark.simulator
SEED = 20260821
MACHINE = WalkConfig(address_bits=18, step_bits=16, num_bits=16)
"""SBUF's partitions and the engines' limits."""

HBM = DgeConfig(hbm_bits=20, partition_bits=18, step_bits=19, num_bits=4, cut_bits=5)
"""Addresses as wide as a machine's; runs are cut early, so that nums need not be large."""


SBUF = SbufConfig(partitions=16, partition_bytes=128, banks=4, readers=1, engines=2, wait_bits=8)
"""Two DMA ports, and an engine that only reads."""

STORES = SbufConfig(partitions=4, readers=2, engines=2, adds=False, checks=False)
"""As a core has it."""

bench = partial(run_bench, seed=SEED)
BENCHES = {
    "access_walker-verilator": (MACHINE, 100, None, 12, 4_000),
    "access_walker-icarus": (WalkConfig(), 60, "every_num|reject|random|cycle|resets", 9, 3_900),
    "dge-verilator": (HBM, 120, None, 11, 3_000),
    "dge-icarus": (DgeConfig(), 120, "directed|cycle|resets|pace=both", 4, 1_000),
    "sbuf-verilator": (SBUF, 30, "busy=0.3/pause=0.5|waits|errors|resets", 4, 1_000),
    "sbuf-icarus": (SbufConfig(partitions=4), 20, "busy=0.3/pause=0.5|errors|waits", 3, 400),
    "sbuf-icarus-stores": (STORES, 20, "busy=0.3/pause=0.5|waits", 2, 300),
    "scale_fetch-verilator": (ScaleFetchConfig(), 100, None, 8, 600),
    "scale_fetch-icarus": (ScaleFetchConfig(quadrants=1), 60, None, 8, 300),
    "indirect_offsets-verilator": (IndirectConfig(offset_bits=32, count_bits=12), 60, None, 10, 5_000),
    "indirect_offsets-icarus": (IndirectConfig(), 16, "marked|random|cycle|resets", 7, 900),
}
"""Configuration, cases, names of tests, and the least tests and comparisons."""


@covers("sbuf.sizes", "Quadrants, groups and rows are scaled")
@pytest.mark.parametrize("name", benches(BENCHES))
def test_bench(name):
    """8 partitions of 64 bytes, 16 of 128 with two DMA ports, and 128 of 4 KiB with sixteen."""
    unit, simulator = name.split("-")[:2]
    config, cases, tests, ran, compared = BENCHES[name]
    bench(unit, config, simulator, cases=cases, tests=tests, min_tests=ran, min_compared=compared)


@pytest.mark.deep
def test_walks_without_checks():
    bench("access_walker", WalkConfig(checks=False), "icarus", cases=40, min_tests=8, min_compared=3_000)


@covers("sbuf.sizes")
@pytest.mark.deep
def test_sbuf_of_the_machines_width():
    """128 partitions of 4 KiB, sixteen DMA ports."""
    config = SbufConfig(partitions=128, partition_bytes=4096, banks=4, wait_bits=16)
    bench("sbuf", config, "verilator", cases=12, tests="busy=0.05/pause=0.5|waits", min_tests=2, min_compared=15_000)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (partial(WalkConfig, address_bits=2), "access_walker: address_bits must be 3 to 24, not 2"),
        (partial(WalkConfig, step_bits=17), "access_walker: step_bits must be 2 to 16, not 17"),
        (partial(WalkConfig, num_bits=0), "access_walker: num_bits must be 1 to 16, not 0"),
        (partial(ScaleFetchConfig, quadrants=5), "scale_fetch: quadrants must be 1 to 4, not 5"),
        (partial(IndirectConfig, offset_bits=33), "indirect_offsets: offset_bits must be 1 to 32, not 33"),
        *(
            (partial(DgeConfig, **{name: high + 1}), f"dge: {name} must be {low} to {high}, not {high + 1}")
            for name, low, high in (
                ("hbm_bits", 3, 38),
                ("partition_bits", 3, 18),
                ("step_bits", 2, 38),
                ("num_bits", 1, 18),
                ("cut_bits", 2, 16),
            )
        ),
        (partial(SbufConfig, partitions=2), "sbuf: partitions must be a power of two from 4 to 128, not 2"),
        (
            partial(SbufConfig, partition_bytes=8192),
            "sbuf: partition_bytes must be a power of two from 64 to 4096, not 8192",
        ),
        (partial(SbufConfig, banks=1), "sbuf: banks must be a power of two from 2 to 4, not 1"),
        (partial(SbufConfig, engines=7), "sbuf: engines must be 1 to 6, not 7"),
        (partial(SbufConfig, readers=5), "sbuf: readers must be 0 to 4, not 5"),
        (partial(SbufConfig, wait_bits=0), "sbuf: wait_bits must be 1 to 32, not 0"),
        (partial(WalkConfig, tag_bits=257), "access_walker: tag_bits must be 0 to 256, not 257"),
        (partial(IndirectConfig, count_bits=0), "indirect_offsets: count_bits must be 1 to 16, not 0"),
    ],
)
def test_configurations_refuse(make, says):
    with pytest.raises(ValueError, match=f"^{says}$"):
        make()
