# amaranth: UnusedElaboratable=no
"""The tensor engine's check of instructions alone: each fault, and what passes leave in the chains, against the rules in Python."""

from itertools import product
from random import Random

import pytest
from amaranth.sim import Simulator

from bitpath.rtl.trainium3.array.config import ArrayConfig
from bitpath.rtl.trainium3.engine.instruction import EngineConfig, InstructionCheck, Opcode, instruction_layout
from bitpath.rtl.trainium3.faults import Fault
from bitpath.verif.kit.code_mutants import mutated
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.engine.programs import Wrong, fault_of, walk

CONFIGS = {
    rows: EngineConfig(array=ArrayConfig(rows=rows, cols=2, operand_depth=16), psum_bank_depth=8, chain_depth=4)
    for rows in (2, 4)
}
ELABORATE = "bitpath.rtl.trainium3.engine.instruction:InstructionCheck.elaborate"
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
def test_the_bug_would_be_found(old, new):
    config = CONFIGS[4]
    with mutated(ELABORATE, old, new), pytest.raises(AssertionError):
        check(config, walked(config))
