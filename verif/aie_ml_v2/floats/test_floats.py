"""AIE-ML v2's conversions of floats: the benches on both simulators with the counts to reach, and known answers."""

import pytest

from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode
from bitpath.rtl.aie_ml_v2.floats.layouts import FloatLanesConfig
from bitpath.sim.engine.runner import run_bench
from bitpath.verif.kit.testplan import covers

pytestmark = pytest.mark.simulator
SEED = 20261127
CORNERS = {"float_narrow": 960, "float_widen": 16, "float_floor": 43, "fix_float": 17, "float_fix": 24}
TESTS = {name: 8 + (name in ("float_narrow", "fix_float", "float_fix")) for name in CORNERS}
"""Of a bench; those of operators that round ask the boundaries of their results too."""
ALL = 1 << 16
SWEPT = {
    "float_widen": 2 * ALL,
    "float_floor": 7 * ALL,
    "float_narrow": 700_000,
    "fix_float": 4000,
    "float_fix": 20_000,
}
"""Operands that the whole sweep has at least."""
UNITS = tuple(CORNERS)


@pytest.mark.parametrize("name", UNITS)
def test_bench(name):
    """Samples of the sweep, corners, every kind at every pace, latency, resets."""
    compared = CORNERS[name] + 4 * 20 + 20
    config = FloatLanesConfig(lanes=2)
    run_bench(name, config, "icarus", cases=20, seed=SEED, min_tests=TESTS[name], min_compared=compared)


@covers("float_floor.sweep")
@covers("float_narrow.sweep")
@covers("float_widen.sweep")
@pytest.mark.deep
@pytest.mark.parametrize("name", UNITS)
def test_every_operand(name):
    """All 65,536 codes of the widen and the floor, the latter with seven shifts; every tie of each narrow format in ten
    rounding codes."""
    run_bench(
        name,
        FloatLanesConfig(lanes=32),
        "verilator",
        cases=2000,
        seed=SEED,
        env={"BITPATH_EVERY": "1"},
        min_tests=TESTS[name],
        min_compared=SWEPT[name] // 32 + 4 * 2000,
    )


@covers("float_narrow.silicon")
def test_silicon(replay, kat):
    """Every conversion to BF16 of first-generation silicon, in ten rounding codes."""
    count = len(kat("aie_silicon.npz")["f32_bits"]) * len(RoundingCode)
    bench = "aie_ml_v2.floats.tb_float_narrow_known_answers"
    replay("float_narrow", FloatLanesConfig(lanes=4), bench, seed=SEED, min_tests=1, min_compared=count // 4)


@covers("float_floor.known_answers")
def test_known_integers(replay, kat):
    """Every BF16 code of the archive at each of its shifts."""
    count = kat("aie_tile_convert.npz")["bf16_int32"].size
    bench = "aie_ml_v2.floats.tb_float_floor_known_answers"
    replay("float_floor", FloatLanesConfig(lanes=4), bench, seed=SEED, min_tests=1, min_compared=count // 4)


@covers("fix_float.known_answers")
@covers("float_fix.known_answers")
@pytest.mark.parametrize(("unit", "array"), [("fix_float", "fix_n"), ("float_fix", "float_bits")])
def test_known_answers_of_integers(replay, kat, unit, array):
    """Integers with a binary point to FP32, and back."""
    count = len(kat("aie_tile_convert.npz")[array])
    bench = f"aie_ml_v2.floats.tb_{unit}_known_answers"
    replay(unit, FloatLanesConfig(lanes=4), bench, seed=SEED, min_tests=1, min_compared=count // 4)
