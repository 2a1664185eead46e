"""Known answers of Blackhole's ZEROACC: which of the 1,024 rows of Dst stay defined.

``BITPATH_KAT_DIR`` is the folder that holds them.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.golden.tensix.declarations.formats import DST16_ROWS
from bitpath.rtl.tensix.core.config import TensixCoreConfig
from bitpath.rtl.tensix.core.tensix_core import TensixCore
from bitpath.verif.kit.bench import ENGINE_PATIENCE_CYCLES, bench, config_from_environment
from bitpath.verif.tensix.core.host import CoreHost
from bitpath.verif.tensix.core.programs import CONTROL
from bitpath.verif.tensix.core.zeroing import zeroing_program

CONFIG = config_from_environment(TensixCoreConfig)


@cocotb.test(timeout_time=100, timeout_unit="ms")
async def every_zeroacc(dut):
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / CONTROL) as file:
        answers = [file[name].tolist() for name in ("z_cfg", "z_in")]
        defined = np.unpackbits(file["z_defined"], axis=1, bitorder="little").tolist()
    async with bench(dut, TensixCore(CONFIG).signature, drain=False, patience=ENGINE_PATIENCE_CYCLES) as frame:
        rows, host = frame.scoreboard("rows", 1, output="data"), CoreHost(frame, CONFIG)
        for config, word, expected in zip(*answers, defined, strict=True):
            await frame.reset()
            program = zeroing_program(*config, word)
            await host.play(program)
            words = (await host.read(*program.result)).reshape(DST16_ROWS, -1)
            for row, (right, real) in enumerate(zip(expected, words.any(axis=1).tolist(), strict=True)):
                rows.expect(right, f"ZEROACC {word:#010x}, {config}, row {row}")
                rows.got(int(real))
