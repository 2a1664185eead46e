"""The slots of a core's TensorE against golden's issue: tiles of rows, the whole array, and the background slot."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from amaranth.sim import Simulator

from bitpath.golden.trainium3.tensor.issue import TensorInstruction, issue
from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.instruction import tensor_layout
from bitpath.rtl.trainium3.core.lane_reader import CHECK_CYCLES
from bitpath.rtl.trainium3.core.tensor_slots import TensorSlots
from bitpath.rtl.trainium3.tensor.core_pe import Mode
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.core.programs.instructions import Matmul, Pattern

CONFIG = CoreConfig(banks=4)
INSTRUCTIONS = 150
MOST_CYCLES = 40
"""Most cycles of an instruction in its slot, some times those of its check."""


def program(rng: Random) -> list[tuple[Matmul, int]]:
    """Return products and transposes, and the cycles that they hold their slot."""
    made = []
    for _ in range(INSTRUCTIONS):
        passes, bank = rng.random() < 0.6, rng.randrange(CONFIG.banks)
        four = Pattern(((1, 4),))
        mode = Mode.PASS if passes else Mode.NARROW
        of = Matmul(mode=mode, rows=4, columns=4, moving=four, result=four, bank=bank, bf16=passes)
        made.append((of, rng.randint(1, MOST_CYCLES)))
    return made


def tiles(rng: Random) -> list[tuple[Matmul, int]]:
    """Return the same with three of four instructions on a row tile."""
    one, made = Pattern(((1, 1),)), []
    for of, cycles in program(rng):
        on_tile = replace(of, rows=1, start=rng.randrange(4), tiled=True, moving=one, result=one)
        made.append((on_tile if rng.random() < 0.75 else of, cycles))
    return made


@covers(
    "core.issue",
    "A transpose that waits for the array loses its time; one beside a write to its bank may lose its result",
)
@pytest.mark.parametrize("make", [program, tiles])
def test_slots_are_those_of_goldens_issue(make: Callable[[Random], list[tuple[Matmul, int]]]):
    """Slots that are busy for any time: each instruction starts in golden's slot and cycle. It is ready when its check ends."""
    dut, layout, rng = TensorSlots(CONFIG), tensor_layout(CONFIG), Random(67)
    made, starts, ready = make(rng), [], []

    async def bench(ctx):
        left = [0] * len(dut.o)
        waiting, cycle = [*made], 0
        while len(starts) < len(made):
            for slot, own in zip(dut.o, left, strict=True):
                ctx.set(slot.ready, own == 0)
            if waiting:
                body = waiting[0][0].body()
                body |= {name: rng.getrandbits(field.width) for name, field in layout if name not in body}
                ctx.set(dut.i.p.as_value(), pack(layout, body))
            ctx.set(dut.i.valid, bool(waiting))
            if waiting and ctx.get(dut.i.ready):
                waiting.pop(0)
                ready.append(cycle + CHECK_CYCLES + 1)
            left = [max(0, own - 1) for own in left]
            for number, slot in enumerate(dut.o):
                if ctx.get(slot.valid) and ctx.get(slot.ready):
                    left[number] = made[len(starts)][1] - 1
                    starts.append((number, cycle))
            await ctx.tick()
            cycle += 1

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    instructions = [
        TensorInstruction(
            cycles=cycles,
            banks=(of.bank,),
            transpose=of.mode is Mode.PASS,
            ready=at,
            tile=(of.start * CONFIG.tile_rows, 0, CONFIG.tile_rows, CONFIG.size) if of.tiled else None,
        )
        for (of, cycles), at in zip(made, ready, strict=True)
    ]
    slots = issue(instructions)
    background = len(dut.o) - 1
    assert starts == [
        (background if slot.background else of.start if of.tiled else 0, slot.start)
        for slot, (of, _) in zip(slots, made, strict=True)
    ]
    beside = [sum(one.start < slot.end and slot.start < one.end for one in slots) for slot in slots]
    # A slot counts itself.
    assert max(beside) >= (2 if make is program else 4)
    if make is program:
        assert min(sum(slot.background for slot in slots), sum(not slot.background for slot in slots)) > 20
