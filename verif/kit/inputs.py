"""What a bench gives its design, step by step, in a file from which any other simulator can be given the same."""

import json
import os
from pathlib import Path
from typing import Any

from amaranth.lib import wiring
from amaranth.lib.wiring import In
from cocotb.triggers import Event, FallingEdge, ReadOnly, Timer

from bitpath.verif.kit.streams import resolved

INPUTS = "BITPATH_INPUTS"
"""The environment variable that names the file, of JSON lines: one for each time that a bench was entered."""
INPUT_STEPS = "BITPATH_INPUT_STEPS"
"""And the one that says how many steps of each are kept."""


class InputRecorder:
    """The values of all inputs, the reset among them, at each falling edge, where the next rising edge finds them; of a
    design without a clock at each ns, the step of benches that drive by hand.

    Parameters
    ----------
    dut, signature : the design and its ports.
    """

    def __init__(self, dut: Any, signature: wiring.Signature):
        members = [(port, member) for port, member, _ in signature.flatten(signature.create()) if member.flow is In]
        names = ["rst", *("__".join(map(str, port)) for port, _ in members)]
        # Constant members and those of no bits are no ports; a design without a clock has no reset.
        self._handles = {name: getattr(dut, name) for name in names if hasattr(dut, name)}
        self._clock = getattr(dut, "clk", None)
        self._limit = int(os.environ[INPUT_STEPS])
        self._steps: list[list[str]] = []

    async def run(self) -> None:
        """Record, for ever; of what is beyond the limit nothing."""
        while len(self._steps) < self._limit:
            if self._clock is not None:
                await FallingEdge(self._clock)
            await ReadOnly()
            self._steps.append([f"{resolved(handle):x}" for handle in self._handles.values()])
            if self._clock is None:
                await Timer(1, unit="ns")
        await Event().wait()

    def save(self) -> None:
        """Add a line to the file."""
        line = {"inputs": list(self._handles), "steps": self._steps}
        with Path(os.environ[INPUTS]).open("a") as file:
            file.write(json.dumps(line) + "\n")
