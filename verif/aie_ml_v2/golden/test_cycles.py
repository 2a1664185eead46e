"""The timing table and Table 7, recomputed from the cycle model."""

from dataclasses import astuple, replace

import numpy as np
import pytest

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.modes import FLAGS_AFTER_WRITE, MODES, MULTIPLIERS, TIMINGS, Datapath
from bitpath.golden.aie_ml_v2.declarations.numerics import PRESETS

TIMING_TABLE = {
    # operand reads, accumulator read, post-add, compare and shift set-up, shift and add, write
    Datapath.INTEGER: ((1,), 4, 4, None, 5, 6),
    Datapath.MX6: ((1,), 3, 4, 4, 5, 6),
    Datapath.FLOAT: ((1,), 4, 5, 5, 6, 7),
    Datapath.MX9: ((1, 2), 4, 4, 5, 6, 7),
}
TABLE_7 = {
    # lanes, bits a lane, multiply-accumulates a cycle, depth, datapath
    "int8": (64, 32, 512, 8, Datapath.INTEGER),
    "int16": (64, 32, 128, 2, Datapath.INTEGER),
    "int16_64": (32, 64, 128, 4, Datapath.INTEGER),
    "int32x16": (32, 64, 64, 2, Datapath.INTEGER),
    "float16": (32, 32, 256, 8, Datapath.FLOAT),
    "float8": (64, 32, 512, 8, Datapath.FLOAT),
    "mx6": (64, 32, 1024, 16, Datapath.MX6),
    "mx9": (64, 32, 512, 8, Datapath.MX9),
}
FORWARDING = {Datapath.INTEGER: 2, Datapath.MX6: 3, Datapath.FLOAT: 3, Datapath.MX9: 3}
NO_BYPASS = replace(PRESETS["aie_ml_v2"].numerics, accumulator_bypass=False)


def chain(mode, count, accumulators):
    """Return ``count`` instructions that use ``accumulators`` accumulators in turn."""
    turns = (i % accumulators for i in range(count))
    return [aie.MacInstruction(mode=mode, destination=each, accumulators=(each,)) for each in turns]


def steady_rate(mode, accumulators):
    """Multiply-accumulates a cycle between the results of a long chain's halves."""
    halves = [aie.total_cycles(chain(mode, count, accumulators)) for count in (60, 120)]
    return 60 * MODES[mode].lanes * MODES[mode].depth / (halves[1] - halves[0])


@pytest.mark.parametrize("kind", TIMINGS)
def test_the_timing_table(kind):
    assert astuple(TIMINGS[kind]) == TIMING_TABLE[kind]
    assert TIMINGS[kind].forwarding == FORWARDING[kind]
    assert FLAGS_AFTER_WRITE == 1


@pytest.mark.parametrize("name", MODES)
def test_table_7(name):
    """Lanes, bits a lane, multiply-accumulates a cycle, and the depth that follows: MX9's 16 take two cycles."""
    mode, steps = MODES[name], aie.timing(name)
    lanes, bits, macs, depth, datapath = TABLE_7[name]
    assert (mode.lanes, mode.lane_bits, mode.macs_per_cycle, mode.datapath) == (lanes, bits, macs, datapath)
    assert steps is TIMINGS[datapath]
    assert mode.depth == depth * steps.issue_interval
    assert aie.macs_per_cycle(name) == macs
    assert mode.multipliers * macs == MULTIPLIERS
    for shape in mode.shapes:
        assert shape.m * shape.n <= 64
        products = shape.k // (2 if shape.sparse else 1)
        assert shape.m * shape.n * products in (mode.lanes * mode.depth, mode.lanes * mode.depth // 2)
        assert shape.m * shape.n in (mode.lanes, mode.lanes // 2)
        is_mx = mode.datapath in (Datapath.MX6, Datapath.MX9)
        assert not (shape.sparse and is_mx)
        assert shape.transposed is (shape.sparse or is_mx)
    for outputs, depth_each in mode.elementwise:
        assert outputs * depth_each <= mode.lanes * mode.depth


@pytest.mark.parametrize("mode", MODES)
def test_cycles_of_one_mode(mode):
    """Alone, chained through one accumulator, and over enough accumulators not to wait, which gives Table 7's figure."""
    *_, macs, _, kind = TABLE_7[mode]
    (reads, *_, latency), forwarding = TIMING_TABLE[kind], FORWARDING[kind]
    assert aie.total_cycles(chain(mode, 1, 1)) == latency
    assert aie.issue_cycles(chain(mode, 3, 1)) == [0, forwarding, 2 * forwarding]
    late = forwarding + 1
    assert aie.issue_cycles(chain(mode, 3, 1), numerics=NO_BYPASS) == [0, late, 2 * late]
    assert aie.total_cycles(chain(mode, 3, 1), numerics=NO_BYPASS) == 2 * late + latency
    assert aie.issue_cycles(chain(mode, 6, 4)) == [len(reads) * i for i in range(6)]
    assert steady_rate(mode, 4) == macs
    assert steady_rate(mode, 1) == MODES[mode].lanes * MODES[mode].depth / forwarding


@pytest.mark.parametrize(
    ("first", "second", "gap"), [("int8", "int16", 2), ("float16", "mx9", 3), ("mx9", "float8", 3)]
)
def test_the_bypass_joins_modes_of_one_path(first, second, gap):
    pair = [aie.MacInstruction(mode=each, destination=0, accumulators=(0,)) for each in (first, second)]
    assert aie.issue_cycles(pair) == [0, gap]
    assert aie.issue_cycles(pair, numerics=NO_BYPASS) == [0, gap + 1]


@pytest.mark.parametrize(("first", "second", "gap"), [("int8", "mx6", 4), ("mx6", "int8", 3), ("float16", "int8", 4)])
def test_paths_wait_for_each_others_writes(first, second, gap):
    pair = [aie.MacInstruction(mode=each, destination=0, accumulators=(0,)) for each in (first, second)]
    assert aie.issue_cycles(pair) == aie.issue_cycles(pair, numerics=NO_BYPASS) == [0, gap]


def test_one_write_port():
    """A float writes in its seventh cycle, an MX6 product in its sixth: an MX6 product issued one cycle later stalls."""
    pair = [aie.MacInstruction(mode=mode, destination=i) for i, mode in enumerate(("float16", "mx6"))]
    assert aie.issue_cycles(pair) == [0, 2]
    assert aie.issue_cycles(pair[::-1]) == [0, 1]
    after_mx9 = [aie.MacInstruction(mode=mode, destination=i) for i, mode in enumerate(("mx9", "mx6", "mx6"))]
    assert aie.issue_cycles(after_mx9) == [0, 2, 3]
    assert aie.total_cycles([]) == 0


@pytest.mark.parametrize("first", MODES)
@pytest.mark.parametrize("second", MODES)
def test_no_two_results_are_written_in_one_cycle(first, second):
    """Any two kinds in turn, on accumulators of their own: in order, one write a cycle, no cycle lost without reason."""
    names = [first, second] * 4
    issued = aie.issue_cycles([aie.MacInstruction(mode=name, destination=i) for i, name in enumerate(names)])
    writes = [cycle + aie.timing(name).write for cycle, name in zip(issued, names, strict=True)]
    assert len(set(writes)) == len(writes)
    gaps = np.diff(issued)
    least = [aie.timing(name).issue_interval for name in names[:-1]]
    assert all(gap >= interval for gap, interval in zip(gaps, least, strict=True))
    for i, (gap, interval) in enumerate(zip(gaps, least, strict=True), 1):
        # Each cycle of waiting has another instruction's write.
        assert all(writes[i] - waited in writes[:i] for waited in range(1, gap - interval + 1))


@pytest.mark.parametrize(
    ("fmt", "instructions", "cycles"),
    [
        ("mx9", 24 * 1024, 49_157),
        ("mx6", 24 * 1024, 24_581),
        ("bf16", 48 * 2048, 98_310),
        ("fp8_e4m3fn", 48 * 1024, 49_158),
    ],
)
def test_cycles_of_the_layer(fmt, instructions, cycles):
    """[128, 384] @ [384, 512] on one core without accumulator stalls takes the issue intervals and one latency."""
    program = aie.matmul_program(np.zeros((128, 384), np.float32), np.zeros((384, 512), np.float32), fmt=fmt)
    assert program.instruction_count == instructions
    assert program.mac_count == 128 * 384 * 512
    assert aie.total_cycles(chain(program.mode.name, instructions, 4)) == cycles
    steps = aie.timing(program.mode.name)
    assert cycles == (instructions - 1) * steps.issue_interval + steps.write


def test_the_path_of_mx4_halves_its_rate():
    """The contradiction of manual and compiler: 1024 a cycle as MX6, 512 as MX9."""
    assert aie.mx_mode("mx4") is MODES["mx6"]
    assert aie.mx_mode("mx4", PRESETS["aie_ml_v2_documented"].numerics) is MODES["mx9"]
    assert [aie.mx_mode(fmt).name for fmt in ("mx9", "mx6")] == ["mx9", "mx6"]
