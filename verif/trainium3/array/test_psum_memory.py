"""The bench of PSUM at addresses on both simulators, with the counts that it must reach."""

from functools import partial

import pytest

from bitpath.rtl.trainium3.array.psum_memory import PsumMemoryConfig
from bitpath.sim.engine.runner import run_bench

SEED = 20261126
bench = partial(run_bench, "psum_memory", seed=SEED)


@pytest.mark.deep
@pytest.mark.simulator
def test_on_verilator():
    """Four partitions and banks; what differs with their number. `measured` has the run of `make test`."""
    config = PsumMemoryConfig(cols=4, banks=4, bank_bytes=128, step_bits=16, num_bits=12)
    tests = "lanes.*(full|both)|one_word|refused|ends"
    bench(config, "verilator", cases=30, tests=tests, min_tests=5, min_compared=1_000)


@pytest.mark.simulator
def test_on_icarus():
    tests = "engines.*both|one_word|refused|resets"
    bench(PsumMemoryConfig(), "icarus", cases=10, tests=tests, min_tests=4, min_compared=150)


@pytest.mark.deep
@pytest.mark.simulator
def test_without_checks():
    bench(PsumMemoryConfig(checks=False), "icarus", cases=20, min_tests=11, min_compared=1_000)


@pytest.mark.deep
@pytest.mark.simulator
def test_of_the_machines_depth():
    """Eight banks of 2 KiB."""
    config = PsumMemoryConfig(cols=4, banks=8, bank_bytes=2048, step_bits=16, num_bits=16, wait_bits=16)
    tests = "lanes.*both|engines.*gaps|refused|ends"
    bench(config, "verilator", cases=200, tests=tests, min_tests=4, min_compared=10_000)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"cols": 129}, "cols must be 1 to 128, not 129"),
        ({"banks": 16}, "banks must be a power of two from 2 to 8, not 16"),
        ({"bank_bytes": 4}, "bank_bytes must be a power of two from 8 to 2048, not 4"),
        ({"engines": 3}, "engines must be 1 to 2, not 3"),
        ({"wait_bits": 33}, "wait_bits must be 1 to 32, not 33"),
    ],
)
def test_configurations_that_are_refused(fields, says):
    with pytest.raises(ValueError, match=f"^psum_memory: {says}$"):
        PsumMemoryConfig(**fields)
