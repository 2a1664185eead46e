"""Plays a schedule on the tile and writes its memory, registers and counters; the caller compares them.

`verif.kit.exchange` has the files.
"""

import cocotb
import numpy as np

from bitpath.rtl.aie_ml_v2.core.aie_tile import AieTile
from bitpath.rtl.aie_ml_v2.core.config import AieTileConfig
from bitpath.rtl.aie_ml_v2.core.run_counters import STALLS
from bitpath.verif.aie_ml_v2.core.encoding import register_reads
from bitpath.verif.aie_ml_v2.core.host import TileHost
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.exchange import read_input, write_result
from bitpath.verif.kit.streams import resolved

CONFIG = config_from_environment(AieTileConfig)


@cocotb.test()
async def run_program(dut):
    program = read_input()
    async with bench(dut, AieTile(CONFIG).signature, drain=False, patience=None) as frame:
        host = TileHost(frame, CONFIG)
        await host.load(program)
        await host.play(program.bundles)
        host.check_accepted()
        stalls = STALLS.from_bits(resolved(dut.stalls))
        registers = await host.registers(register_reads(CONFIG))
        write_result(
            memory=await host.image(),
            registers=np.array(registers, object).astype(str),
            cycles=resolved(dut.cycles),
            products=resolved(dut.products),
            banks_stalls=stalls.banks,
            bundles_stalls=stalls.bundles,
        )
