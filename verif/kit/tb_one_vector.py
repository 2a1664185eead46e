"""Bench that plays one vector, given as words, on a unit with two streams, a unit without a clock, or a lane."""

import json
import os

import cocotb
from amaranth import Value
from cocotb.triggers import FallingEdge, Timer

from bitpath.rtl.units import find_unit
from bitpath.verif.kit.bench import Bench, bench, config_from_environment
from bitpath.verif.kit.pipeline import Pipeline, Request
from bitpath.verif.kit.streams import resolved

VECTOR = json.loads(os.environ["BITPATH_VECTOR"])
UNIT = find_unit(VECTOR["unit"])
COMPONENT = UNIT.build(config_from_environment(UNIT.config_type))
SIGNATURE = COMPONENT.signature
WORD_BITS = 32
LATE = ("acc1", "acc2")


def number(words: list[int]) -> int:
    """Return words as one integer, the first lowest."""
    return sum(word << WORD_BITS * k for k, word in enumerate(words))


@cocotb.test(timeout_time=100, timeout_unit="us")
async def one_vector(dut):
    expected, shown = number(VECTOR["answer"]), VECTOR["kind"]
    async with bench(dut, SIGNATURE) as frame:
        if hasattr(dut, "i__payload"):
            stages = int(hasattr(dut, "clk"))
            await Pipeline(frame, stages).exchange([Request(number(VECTOR["words"]), expected, shown)], "full_speed")
            return
        got = await (lane(frame) if hasattr(dut, "clk") else ports(dut))
        board = frame.scoreboard("o", len(dut.o))
        board.expect(expected, shown)
        board.got(got)


async def ports(dut) -> int:
    """Drive ports by name, each from its own words."""
    words = list(VECTOR["words"])
    for name in sorted(name for name in SIGNATURE.members if name != "o"):
        size = -(-len(Value.cast(getattr(COMPONENT, name))) // WORD_BITS)
        getattr(dut, name).value = number(words[:size])
        words = words[size:]
    await Timer(1, unit="ns")
    return resolved(dut.o)


async def lane(frame: Bench) -> int:
    """Drive one beat a cycle, and the accumulators ``lead`` cycles before the result."""
    dut, words, beats = frame.dut, VECTOR["words"], VECTOR["beats"]
    size = (len(words) - len(LATE)) // beats
    await FallingEdge(dut.clk)
    for cycle in range(VECTOR["latency"]):
        dut.valid.value = int(cycle < beats)
        if cycle < beats:
            dut.operands.value = number(words[cycle * size : (cycle + 1) * size])
        if cycle == VECTOR["latency"] - VECTOR["lead"]:
            for name, word in zip(LATE, words[-len(LATE) :], strict=True):
                getattr(dut, name).value = word
        await FallingEdge(dut.clk)
    return resolved(dut.o)
