"""Bench of any unit with a clock: random values on its inputs in every cycle, and all outputs of each cycle in a file.

``BITPATH_PORTS`` is JSON: names of the ``inputs`` with the share of cycles in which each is all zeros, names of the
``outputs``, the ``cycles``, and the ``file``, which gets a line of hexadecimal outputs a cycle.
"""

import json
import os
from pathlib import Path

import cocotb
from cocotb.triggers import Timer

from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import PERIOD_NS
from bitpath.verif.kit.streams import resolved

PORTS = json.loads(os.environ["BITPATH_PORTS"])


@cocotb.test(timeout_time=1, timeout_unit="sec")
async def random_inputs(dut):
    """Outputs are read before the rising edge, when they follow from the registers and from the cycle's inputs."""
    rng = pauses.rng("inputs")
    with Path(PORTS["file"]).open("w") as file:
        for _ in range(PORTS["cycles"]):
            dut.clk.value = 0
            for name, zeros in PORTS["inputs"].items():
                handle = getattr(dut, name)
                handle.value = 0 if rng.random() < zeros else rng.getrandbits(len(handle))
            await Timer(PERIOD_NS // 2, unit="ns")
            file.write(" ".join(f"{resolved(getattr(dut, name)):x}" for name in PORTS["outputs"]) + "\n")
            dut.clk.value = 1
            await Timer(PERIOD_NS // 2, unit="ns")
