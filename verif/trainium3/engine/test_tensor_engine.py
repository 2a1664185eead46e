# amaranth: UnusedElaboratable=no
"""The bench of the tensor engine on both simulators, and one result from all shapes and depths."""

from dataclasses import replace
from functools import partial
from itertools import product
from random import Random

import numpy as np
import pytest
from amaranth.sim import Simulator

from bitpath.golden import trainium3
from bitpath.golden.trainium3.declarations.quad_mx import TRAINIUM3_QUAD_MX_ALIGNED, AccumulateFlag
from bitpath.rtl.common.config import PipelineConfig
from bitpath.rtl.trainium3.array.config import ArrayConfig
from bitpath.rtl.trainium3.array.systolic_array import tilings
from bitpath.rtl.trainium3.dot.config import DotConfig
from bitpath.rtl.trainium3.engine.instruction import EngineConfig, InstructionCheck, Opcode, instruction_layout
from bitpath.rtl.trainium3.engine.tensor_engine import Sequencer, load_layout, multiply_layout
from bitpath.rtl.trainium3.faults import Fault
from bitpath.sim.engine.options import SimulationError
from bitpath.sim.engine.runner import build, run, run_bench
from bitpath.sim.flows.trainium3_matmul import ENGINES, engine_for
from bitpath.verif.kit.code_mutants import mutated
from bitpath.verif.kit.exchange import write_input
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.engine.programs import Wrong, fault_of, walk

# The tensor engine's check of instructions alone: each fault, and what passes leave in the chains, against the rules in Python.


CONFIGS = {
    rows: EngineConfig(array=ArrayConfig(rows=rows, cols=2, operand_depth=16), psum_bank_depth=8, chain_depth=4)
    for rows in (2, 4)
}
CHECK_ELABORATE = "bitpath.rtl.trainium3.engine.instruction:InstructionCheck.elaborate"
SMALL = {
    "opcode": 2, "tiling": 4, "group": 4, "format": 4, "flag": 8, "bf16": 2, "stochastic": 2, "chain_in": 2, "chain_out": 2,
}  # fmt: skip


def check(config, instructions):
    """Give instructions one after the other, of which the legal ones start; compare each fault."""
    unit, layout, seen = InstructionCheck(config), instruction_layout(config), set()

    async def bench(ctx):
        chained = [0] * config.array.groups
        for values in instructions:
            group = values["group"]
            expected = fault_of(config, values, chained[group])
            ctx.set(unit.instruction.as_value(), pack(layout, Wrong(values, expected).fields()))
            assert Fault(ctx.get(unit.fault)) is expected, values
            ctx.set(unit.starts, expected is Fault.NONE)
            if expected is Fault.NONE and values["opcode"] == Opcode.MULTIPLY_MOVING.value:
                chained[group] += values["count"] * (values["chain_out"] - values["chain_in"])
            seen.add(expected)
            await ctx.tick()

    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return seen


def walked(config, more=400):
    rng = Random(f"walk {config.array.rows}")
    return walk(config, rng, more)


@covers("tensor_engine.refused")
@pytest.mark.parametrize("rows", CONFIGS)
def test_every_fault(rows):
    seen = check(CONFIGS[rows], walked(CONFIGS[rows]))
    assert seen == {Fault.NONE, Fault.OPERATION, Fault.DTYPE, Fault.START, Fault.COUNT, Fault.RANGE}


@covers("tensor_engine.refused")
@pytest.mark.deep
def test_every_set_of_small_fields():
    config = CONFIGS[4]
    rest = {"operand_address": 0, "count": 1, "index": 0, "bank": 0}
    cases = [dict(zip(SMALL, values, strict=True)) | rest for values in product(*map(range, SMALL.values()))]
    Random("order").shuffle(cases)
    assert len(check(config, cases)) == 5
    print(f"{len(cases)} instructions")


@covers("tensor_engine.refused")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(to.count == 0)", "0"),
        ("(left < 0)", "0"),
        ("(following > config.chain_depth)", "0"),
        ("(following > config.chain_depth)", "(following > config.chain_depth + 1)"),
        ("p.operand_address + words > array.operand_depth", "p.operand_address + words > array.operand_depth + 1"),
        (
            "to.address.index + to.count > config.psum_bank_depth",
            "to.address.index + to.count > config.psum_bank_depth + 1",
        ),
        ("(~starts, Fault.START)", "(starts & 0, Fault.START)"),
        ("multiplies & to_psum, mode_fault(to.mode)", "multiplies, mode_fault(to.mode)"),
        ("multiplies & to_psum, mode_fault(to.mode)", "to_psum, mode_fault(to.mode)"),
        ("self.starts & multiplies & (p.group == group)", "self.starts & multiplies"),
    ],
)
def test_a_bug_of_the_check_would_be_found(old, new):
    config = CONFIGS[4]
    with mutated(CHECK_ELABORATE, old, new), pytest.raises(AssertionError):
        check(config, walked(config))


# The tensor engine's sequencer alone: which load a pass uses, and for how long one that none uses is on its way.


CONFIG = EngineConfig(array=ArrayConfig(rows=4, cols=4))
COLS, ROWS = CONFIG.array.cols, CONFIG.array.rows
CYCLES = 40
ELABORATE = "bitpath.rtl.trainium3.engine.tensor_engine:Sequencer.elaborate"


def played(loads, passes):
    """For each cycle load, swap, valid and loading, of loads and passes that all wait from the start."""
    unit = Sequencer(CONFIG)
    seen = []

    async def bench(ctx):
        waiting = {"load": list(loads), "multiply": list(passes)}
        layouts = {"load": load_layout(CONFIG), "multiply": multiply_layout(CONFIG)}
        for _ in range(CYCLES):
            for name, queue in waiting.items():
                stream = getattr(unit, name)
                ctx.set(stream.valid, bool(queue))
                ctx.set(stream.payload, layouts[name].const(queue[0] if queue else {}))
            control = ctx.get(unit.control)
            seen.append((control.load, control.swap, control.valid, ctx.get(unit.loading)))
            for name, queue in waiting.items():
                if queue and ctx.get(getattr(unit, name).ready):
                    queue.pop(0)
            await ctx.tick()
        assert not any(waiting.values())

    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    return seen


def cycles_of(seen, place):
    return [cycle for cycle, each in enumerate(seen) if each[place]]


def loads(count):
    return [{"address": COLS * index, "replace": index > 0} for index in range(count)]


def check_swap(count):
    """The swap comes behind the last load, the word behind the swap."""
    seen = played(loads(count), [{"count": 1, "swap": 1}])
    assert cycles_of(seen, 0) == list(range(count * COLS))
    assert cycles_of(seen, 1) == [count * COLS]
    assert cycles_of(seen, 2) == [count * COLS + 1]


def check_loading():
    """``loading`` is high from the first cycle of a load until it has passed the last row."""
    seen = played(loads(1), [])
    assert cycles_of(seen, 3) == list(range(1, COLS + ROWS * CONFIG.array.row_latency))


@covers("tensor_engine.passes")
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_pass_uses_the_load_before_it(count):
    check_swap(count)


@covers("tensor_engine.load_alone")
def test_a_load_that_nothing_uses_is_on_its_way_until_the_last_row_has_it():
    check_loading()


@covers("tensor_engine.passes")
@pytest.mark.parametrize(
    ("old", "new", "check"),
    [
        ("loaded & ~(load.valid & load.p.replace)", "loaded", lambda: check_swap(2)),
        ("self.loading.eq(rows_left.any())", "self.loading.eq(0)", check_loading),
    ],
    ids=["swap", "loading"],
)
def test_the_bug_would_be_found(old, new, check):
    with mutated(ELABORATE, old, new), pytest.raises(AssertionError):
        check()


SEED = 20251122
ALL = 10
"""Tests of the bench."""
PASSES = "bitpath.verif.trainium3.engine.tb_tensor_engine_passes"
PLACES = 6
"""Number of places that a program writes in each PSUM bank."""
SAME = "same_on_every_engine"
FIXED = 2 * 6 * 5
"""Results of that test, on any engine."""


def engine(rows, cols, stages, numerics=None):
    dot = DotConfig(pipeline=PipelineConfig(stages=stages))
    dot = dot if numerics is None else replace(dot, numerics=numerics)
    return EngineConfig(array=ArrayConfig(rows=rows, cols=cols, dot=dot))


bench = partial(run_bench, "tensor_engine", seed=SEED, min_tests=ALL)


# The second is built for the tests of `bitpath run` too.
ON_VERILATOR = {
    "32x8-0": engine_for("verilator", rows=32, cols=8),
    "4x4-0": engine_for("verilator", rows=4, cols=4),
    "2x2-2-aligned": engine(2, 2, 2, TRAINIUM3_QUAD_MX_ALIGNED.numerics),
}
MORE_SHAPES = {"8x2-4": engine(8, 2, 4), "2x4-2": engine(2, 4, 2)}
OF_ONE_RESULT = {
    "verilator 4x4-0": ("verilator", ON_VERILATOR["4x4-0"]),
    "icarus 2x4-2": ("icarus", MORE_SHAPES["2x4-2"]),
    "verilator 32x8-0": ("verilator", ON_VERILATOR["32x8-0"]),
    "icarus 8x2-4": ("icarus", MORE_SHAPES["8x2-4"]),
}
"""Engines of one numerics."""


@pytest.mark.simulator
@covers("tensor_engine.formats")
@covers("tensor_engine.filled")
@pytest.mark.parametrize(
    ("name", "least"),
    [
        pytest.param("32x8-0", 28000, marks=pytest.mark.deep),
        ("4x4-0", 13500),
        pytest.param("2x2-2-aligned", 4700, marks=pytest.mark.deep),
    ],
)
def test_on_verilator(name, least):
    bench(ON_VERILATOR[name], "verilator", cases=24, min_compared=least)


@pytest.mark.simulator
@covers("tensor_engine.passes")
@pytest.mark.parametrize(
    ("name", "programs"),
    [
        ("4x4-0", 8),
        pytest.param("2x2-2-aligned", 8, marks=pytest.mark.deep),
        pytest.param("32x8-0", 30, marks=pytest.mark.deep),
        pytest.param("8x2-4", 300, marks=pytest.mark.deep),
        pytest.param("2x4-2", 300, marks=pytest.mark.deep),
    ],
)
def test_loads_and_passes_in_any_order(name, programs):
    built = build("tensor_engine", (ON_VERILATOR | MORE_SHAPES)[name], "verilator")
    places = built.config.psum_banks * built.config.array.cols * PLACES
    reads = 2 * programs * len(tilings(built.config.array)) + 1
    env = {"BITPATH_CASES": str(programs)}
    run(built, PASSES, seed=SEED, min_tests=3, min_compared=reads * places, env=env)


@pytest.mark.simulator
@covers("tensor_engine.refused")
@pytest.mark.parametrize(("flag", "fault"), [(5, "OPERATION"), (7, "OPERATION")])
def test_a_refused_program_of_a_run_is_one_sentence(tmp_path, flag, fault):
    """The run ends, and names the first refused instruction: the second, behind a load."""
    built = build("tensor_engine", ON_VERILATOR["4x4-0"], "verilator")
    ones = np.ones((32, 2), np.float32)
    program = trainium3.matmul_program(ones.T, ones)
    wrong = [replace(each, psum_accumulate_flag=AccumulateFlag(flag)) for each in program]
    env = {name: str(path) for name, path in write_input(tmp_path, wrong).items()}
    with pytest.raises(SimulationError, match=f"tensor_engine refuses instruction [0-9]+: {fault}"):
        run(built, "bitpath.verif.runs.tb_trainium3", seed=0, min_compared=0, env=env)


@pytest.mark.simulator
@pytest.mark.parametrize(
    ("tests", "count"),
    [("row_tiling|shared_bank", 2), (r"gap=0\.6|accumulation|throughput", 3)],
    ids=["tiles", "others"],
)
@pytest.mark.deep
def test_2x2_on_icarus(tests, count):
    """`make test` has the programs of `bitpath run` on Icarus."""
    bench(engine(2, 2, 2), "icarus", cases=1, tests=tests, min_tests=count, min_compared=14)


@pytest.mark.simulator
@covers("tensor_engine.row_tiles")
@pytest.mark.deep
def test_4x4_on_icarus():
    """Icarus does about a hundred cycles of it a second; the tests of `bitpath run` multiply on it too."""
    bench(ENGINES["icarus"], "icarus", cases=1, tests="row_tiling", min_tests=1, min_compared=50)


@pytest.mark.simulator
@covers("tensor_engine.one_result")
@pytest.mark.deep
def test_one_result_from_every_shape_and_depth(tmp_path):
    """Each gives golden's results, here and in `make test`."""
    engines = OF_ONE_RESULT
    results = {}
    for name, (simulator, config) in engines.items():
        file = tmp_path / f"{len(results)}.npy"
        ran = bench(
            config, simulator, cases=1, tests=SAME, min_tests=1, min_compared=FIXED, env={"BITPATH_PSUM": str(file)}
        )
        assert ran.compared == FIXED, f"{name} compared other instructions"
        results[name] = np.load(file)
    first, *others = results.values()
    assert first.size == FIXED
    assert len(np.unique(first)) > FIXED // 2
    assert len(others) == len(engines) - 1
    assert all(np.array_equal(first, other) for other in others)
