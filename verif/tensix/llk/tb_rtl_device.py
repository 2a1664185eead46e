"""The unpacker, the Matrix unit and the packer as parts of a device: they are driven, and what they answer is written down.

Nothing is compared here. ``BITPATH_REQUESTS`` is a JSON file of what to drive, ``BITPATH_ANSWERS`` the one to write; the caller
selects the test of its unit.
"""

import json
import os
from pathlib import Path

import cocotb
from cocotb.triggers import RisingEdge

from bitpath.rtl.tensix.matrix.instruction import MatrixUnitConfig
from bitpath.rtl.tensix.matrix.matrix_unit import MatrixUnit
from bitpath.rtl.tensix.pack.packer import Packer
from bitpath.rtl.tensix.unpack.layouts import ConversionConfig
from bitpath.rtl.tensix.unpack.unpacker import Unpacker
from bitpath.verif.kit.bench import bench, config_from_environment

LIMIT = {"timeout_time": 100, "timeout_unit": "ms"}


def requests():
    return json.loads(Path(os.environ["BITPATH_REQUESTS"]).read_text())


def answer(results: list[int]) -> None:
    Path(os.environ["BITPATH_ANSWERS"]).write_text(json.dumps(results))


async def convert(dut, unit: type) -> None:
    """Send payloads to ``i`` and write those of ``o``."""
    payloads, results = requests(), []
    async with bench(dut, unit(config_from_environment(ConversionConfig)).signature) as frame:
        frame.monitor("o", results.append)
        driver = frame.driver("i")
        for payload in payloads:
            driver.send_bits(payload)
        while len(results) < len(payloads):
            await RisingEdge(dut.clk)
    answer(results)


@cocotb.test(**LIMIT)
async def unpacked(dut):
    await convert(dut, Unpacker)


@cocotb.test(**LIMIT)
async def packed(dut):
    await convert(dut, Packer)


@cocotb.test(**LIMIT)
async def computed(dut):
    """Programs: payloads by input port; a program's reads follow its instructions, and the next one follows its reads."""
    results, wanted = [], 0
    async with bench(dut, MatrixUnit(config_from_environment(MatrixUnitConfig)).signature) as frame:
        frame.monitor("dst", results.append)
        drivers = {name: frame.driver(name) for name in ("write_a", "write_b", "instruction", "read_dst")}
        for program in requests():
            wanted += len(program["read_dst"])
            for name, driver in drivers.items():
                for payload in program[name]:
                    driver.send_bits(payload)
                while name == "instruction" and driver.pending:
                    await RisingEdge(dut.clk)
            while len(results) < wanted:
                await RisingEdge(dut.clk)
    answer(results)
