"""Bench of any unit: replay recorded inputs and compare each output in every cycle in which it matters.

``BITPATH_REPLAY`` names the file with the inputs and another simulator's outputs.
"""

import json
import os
from itertools import count
from pathlib import Path

import cocotb
from amaranth.lib import wiring
from cocotb.triggers import Timer

from bitpath.verif.kit.bench import PERIOD_NS, Bench
from bitpath.verif.kit.streams import resolved

REPLAY = json.loads(Path(os.environ["BITPATH_REPLAY"]).read_text())


@cocotb.test(timeout_time=1, timeout_unit="sec")
async def same_outputs(dut):
    """Toggle the clock by hand: the rising edge follows the comparison of the outputs."""
    clock = getattr(dut, "clk", None)
    inputs = [getattr(dut, name) for name in REPLAY["inputs"]]
    outputs = [getattr(dut, name) for name in REPLAY["outputs"]]
    frame = Bench(dut, wiring.Signature({}))
    boards = [
        # Outputs without recorded values are not compared.
        frame.scoreboard(name, len(handle)) if any(counts != "0" for _, counts in values) else None
        for name, handle, values in zip(REPLAY["outputs"], outputs, zip(*REPLAY["steps"][1], strict=True), strict=True)
    ]
    last = [None] * len(inputs)
    for step, given, expected in zip(count(), *REPLAY["steps"]):
        if clock is not None:
            clock.value = 0
        for handle, value, before in zip(inputs, given, last, strict=True):
            if value != before:
                handle.value = int(value, 16)
        last = given
        await Timer(PERIOD_NS // 2, unit="ns")
        for board, handle, (value, counts) in zip(boards, outputs, expected, strict=True):
            if counts != "0":
                board.expect(int(value, 16), f"step {step}")
                board.got(resolved(handle) & int(counts, 16))
        if clock is not None:
            clock.value = 1
            await Timer(PERIOD_NS // 2, unit="ns")
    frame.leave_record()
    frame.finish()
