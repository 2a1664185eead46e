"""The timing table and Table 7, recomputed from the cycle model."""

import numpy as np
import pytest

from bitpath.golden import aie_ml_v2 as aie
from bitpath.golden.aie_ml_v2.declarations.modes import FLAGS_AFTER_WRITE, INTEGER_MODES, MODES, TIMINGS, Datapath
from bitpath.golden.aie_ml_v2.declarations.numerics import PRESETS

TIMING_TABLE = {
    # operand reads, accumulator read, post-add, compare and shift set-up, shift and add, write
    Datapath.INTEGER: ((1,), 4, 4, None, 5, 6),
    Datapath.MX6: ((1,), 3, 4, 4, 5, 6),
    Datapath.FLOAT: ((1,), 4, 5, 5, 6, 7),
    Datapath.MX9: ((1, 2), 4, 4, 5, 6, 7),
}
MACS_PER_CYCLE = {
    "int8": 512,
    "int16": 128,
    "int16_64": 128,
    "int32x16": 64,
    "float16": 256,
    "float8": 512,
    "mx6": 1024,
    "mx9": 512,
}
FORWARDING = {Datapath.INTEGER: 3, Datapath.MX6: 4, Datapath.FLOAT: 4, Datapath.MX9: 4}


def chain(mode, count, accumulators):
    """Return ``count`` instructions that use ``accumulators`` accumulators in turn."""
    turns = (i % accumulators for i in range(count))
    return [aie.MacInstruction(mode=mode, destination=each, accumulators=(each,)) for each in turns]


def steady_rate(mode, accumulators):
    """Multiply-accumulates a cycle between the results of a long chain's halves."""
    halves = [aie.total_cycles(chain(mode, count, accumulators)) for count in (60, 120)]
    return 60 * MODES[mode].lanes * MODES[mode].depth / (halves[1] - halves[0])


@pytest.mark.parametrize("kind", Datapath)
def test_the_timing_table(kind):
    steps = TIMINGS[kind]
    row = (
        *(steps.operand_reads, steps.accumulator_read, steps.post_add),
        *(steps.compare, steps.accumulate, steps.write),
    )
    assert row == TIMING_TABLE[kind]
    assert steps.forwarding == FORWARDING[kind]
    assert FLAGS_AFTER_WRITE == 1


@pytest.mark.parametrize("mode", MODES)
def test_macs_per_cycle_come_out_of_the_issue(mode):
    """Enough accumulators give Table 7's figure; one accumulator, a product for each forwarding."""
    assert steady_rate(mode, 4) == MACS_PER_CYCLE[mode]
    each = MODES[mode].lanes * MODES[mode].depth
    assert steady_rate(mode, 1) == each / FORWARDING[MODES[mode].datapath]


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
    rates = [
        steady_rate(aie.mx_mode("mx4", PRESETS[name].numerics).name, 4)
        for name in ("aie_ml_v2", "aie_ml_v2_documented")
    ]
    assert rates == [1024, 512]


def test_integers_have_no_exponents_to_compare():
    assert all(aie.timing(name).compare is None for name in INTEGER_MODES)
