"""Writes results to PSUM and reads them back; the caller compares them.

`verif.kit.exchange` has the files.
"""

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, RisingEdge

from bitpath.golden.formats.catalogue import FP32
from bitpath.rtl.trainium3.array.psum import Psum, PsumConfig, host_layout, write_layout
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.exchange import read_input, show_share, write_result
from bitpath.verif.kit.packing import pack
from bitpath.verif.trainium3.refusals import no_fault

CONFIG = config_from_environment(PsumConfig)
PLACES = CONFIG.banks * CONFIG.bank_depth
SETTLE = 4
"""Cycles until a write is in place."""


def address(place: int) -> dict[str, int]:
    return {"index": place % CONFIG.bank_depth, "bank": place // CONFIG.bank_depth}


@cocotb.test()
async def run_writes(dut):
    """Write each group's results, uint32 [places, columns] with a flag, a place a cycle; read the places of the group."""
    groups = read_input()
    left, cycles = [], 0
    async with bench(dut, Psum(CONFIG).signature, drain=False, patience=2 * PLACES * max(map(len, groups))) as frame:
        host = frame.driver("host")
        frame.start("faults", no_fault(dut, "psum"))
        answers: list[int] = []
        frame.monitor("data", answers.append)
        for number, group in enumerate(groups):
            for flag, results in group:
                for place, values in enumerate(results):
                    fields = {"address": address(place), "mode": {"flag": flag}, "valid": 1}
                    vector = int.from_bytes(values.astype("<u4").tobytes(), "little")
                    dut.write.value = pack(write_layout(CONFIG), fields | {"values": vector})
                    await RisingEdge(dut.clk)
                cycles += len(results)
            dut.write.value = 0
            await ClockCycles(dut.clk, SETTLE)
            count = len(group[0][1])
            for place in range(count):
                host.send_bits(pack(host_layout(CONFIG), {"address": address(place)}))
            while len(answers) < count:
                await RisingEdge(dut.clk)
            size = CONFIG.cols * FP32.width // 8
            words = b"".join(answer.to_bytes(size, "little") for answer in answers)
            left.append(np.frombuffer(words, "<u4").reshape(count, CONFIG.cols))
            answers.clear()
            show_share((number + 1) / len(groups))
        write_result(**{f"group_{number}": words for number, words in enumerate(left)}, cycles=cycles)
