"""Known answers of Blackhole's ZEROACC, which rows of Dst stay defined, and of MVMUL with formats that banks imply.

``BITPATH_KAT_DIR`` is the folder that holds them.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.golden.tensix.declarations.formats import DST16_ROWS
from bitpath.rtl.tensix.core.config import TensixCoreConfig
from bitpath.rtl.tensix.core.tensix_core import TensixCore
from bitpath.verif.kit.bench import ENGINE_PATIENCE_CYCLES, Bench, bench, config_from_environment
from bitpath.verif.kit.testplan import covers
from bitpath.verif.tensix.program.host import CoreHost
from bitpath.verif.tensix.program.instruction_programs import implied_program, zeroing_program
from bitpath.verif.tensix.program.programs import CONTROL, CoreProgram

CONFIG = config_from_environment(TensixCoreConfig)
LIMIT = {"timeout_time": 100, "timeout_unit": "ms"}


def answers(*names: str) -> list[np.ndarray]:
    """Return arrays of the archive."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / CONTROL) as file:
        return [file[name] for name in names]


def opened(dut) -> object:
    """Return the bench frame of a core."""
    return bench(dut, TensixCore(CONFIG).signature, drain=False, patience=ENGINE_PATIENCE_CYCLES)


async def played(frame: Bench, host: CoreHost, program: CoreProgram) -> np.ndarray:
    """Play a program from a reset; return the bytes of its result."""
    await frame.reset()
    await host.play(program)
    return await host.read(*program.result)


@covers(
    "tensix_core.known_instructions",
    "Another program executed them; a 32-bit row's lower half stays, and a bank's format need not be the "
    "configuration's",
)
@cocotb.test(**LIMIT)
async def every_zeroacc(dut):
    """Which rows of Dst each of Blackhole's known ZEROACCs leaves defined, in every mode; MVMULs whose formats the
    banks imply."""
    configs, words, defined = answers("z_cfg", "z_in", "z_defined")
    async with opened(dut) as frame:
        rows, host = frame.scoreboard("rows", 1, output="data"), CoreHost(frame, CONFIG)
        for config, word, flags in zip(configs.tolist(), words.tolist(), defined, strict=True):
            found = (await played(frame, host, zeroing_program(*config, word))).reshape(DST16_ROWS, -1).any(axis=1)
            expected = np.unpackbits(flags, bitorder="little").tolist()
            for row, (right, real) in enumerate(zip(expected, found.tolist(), strict=True)):
                rows.expect(right, f"ZEROACC {word:#010x}, {config}, row {row}")
                rows.got(int(real))


@covers("tensix_core.known_instructions")
@cocotb.test(**LIMIT)
async def every_implied_format(dut):
    configs, src_a, src_b, dst, after = answers("i_cfg", "i_srcA", "i_srcB", "i_dst", "i_out")
    async with opened(dut) as frame:
        words, host = frame.scoreboard("words", 32, output="data"), CoreHost(frame, CONFIG)
        for case, config in enumerate(configs.tolist()):
            found = await played(frame, host, implied_program(config, src_a[case], src_b[case], dst[case]))
            host.check_accepted(str(config))
            for place, (right, real) in enumerate(
                zip(after[case].reshape(-1).tolist(), found.view("<u4").tolist(), strict=True)
            ):
                words.expect(right, f"formats {config}, word {place}")
                words.got(real)
