"""Runs programs on a core, one after the other, and writes the bytes that each leaves in HBM; the caller compares them.

`verif.kit.exchange` has the files.
"""

import cocotb
import numpy as np

from bitpath.rtl.trainium3.core.config import CoreConfig
from bitpath.rtl.trainium3.core.core import Core
from bitpath.rtl.trainium3.faults import Fault
from bitpath.verif.kit.bench import ENGINE_PATIENCE_CYCLES, bench, config_from_environment
from bitpath.verif.kit.exchange import read_input, show_share, write_result
from bitpath.verif.trainium3.core.core_host import Host

CONFIG = config_from_environment(CoreConfig)


@cocotb.test()
async def run_programs(dut):
    """``images`` are the bytes of HBM that the longest program uses, behind each; ``cycles`` those of the instructions."""
    programs = read_input()
    used = max(each.hbm_used for each in programs)
    images, cycles = [], 0
    async with bench(dut, Core(CONFIG).signature, patience=ENGINE_PATIENCE_CYCLES) as frame:
        host = Host(frame, CONFIG, compares=False)
        await host.clear()
        for number, program in enumerate(programs):
            host.memories.hbm[:] = program.hbm
            await host.write_hbm(used)
            for each in program.instructions:
                host.send(each)
            cycles += await host.finish()
            fault, place = host.fault()
            assert fault is Fault.NONE, f"program {number}: instruction {place} is refused, {fault.name}"
            words = await host.read_hbm(used // host.word)
            images.append(b"".join(word.to_bytes(host.word, "little") for word in words))
            show_share((number + 1) / len(programs))
        image = np.frombuffer(b"".join(images), np.uint8).reshape(len(programs), -1)
        write_result(images=image, cycles=cycles)
