"""Runs a program on a core and writes the result's bytes, the words of each thread and their cycles; the caller compares them.

`verif.kit.exchange` defines the files.
"""

import cocotb
import numpy as np

from bitpath.rtl.tensix.core.config import TensixCoreConfig
from bitpath.rtl.tensix.core.tensix_core import TensixCore
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.exchange import read_input, write_result
from bitpath.verif.tensix.program.host import CoreHost
from bitpath.verif.tensix.program.programs import THREADS

CONFIG = config_from_environment(TensixCoreConfig)


@cocotb.test()
async def run_program(dut):
    program = read_input()
    async with bench(dut, TensixCore(CONFIG).signature, drain=False, patience=None) as frame:
        host = CoreHost(frame, CONFIG)
        run = await host.play(program)
        host.check_accepted()
        threads = range(THREADS)
        write_result(
            output=await host.read(*program.result),
            words=np.array([word for thread in threads for word in run.words[thread]], np.uint32),
            word_cycles=np.array([cycle for thread in threads for cycle in run.cycles[thread]], np.int64),
            counts=np.array([len(run.words[thread]) for thread in threads], np.int64),
            cycles=run.length,
        )
