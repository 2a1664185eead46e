"""Known answers of whole programs: L1 afterwards, words of each thread in order, MVMULs, and the cycles between them.

``BITPATH_KAT_DIR`` is the folder that holds them; ``BITPATH_PROGRAMS`` are the numbers of the programs, or all.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.golden.tensix.declarations.encodings import BY_NAME
from bitpath.rtl.tensix.core.config import TensixCoreConfig
from bitpath.rtl.tensix.core.tensix_core import TensixCore
from bitpath.verif.kit.bench import ENGINE_PATIENCE_CYCLES, bench, config_from_environment
from bitpath.verif.kit.testplan import covers
from bitpath.verif.tensix.program.host import CoreHost
from bitpath.verif.tensix.program.programs import ARCHIVE, CHIPS, RESULT, THREADS, archived

CONFIG = config_from_environment(TensixCoreConfig)
NUMBERS = os.environ.get("BITPATH_PROGRAMS", "")
NOP = BY_NAME[CONFIG.chip]["NOP"].opcode << 24
MVMUL = BY_NAME[CONFIG.chip]["MVMUL"].opcode


@covers("tensix_core.known_answers", "Another program executed them")
@cocotb.test(timeout_time=100, timeout_unit="ms")
async def every_program(dut):
    """Whole programs of both chips: L1 afterwards, the words of each thread in order, the number of MVMULs and the
    cycles between them."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / ARCHIVE) as file:
        archive = dict(file)
    chip = next(prefix for prefix, chip in CHIPS.items() if chip is CONFIG.chip)
    numbers = [int(each["id"]) for each in archive["meta"] if each["chip"] == chip]
    if NUMBERS:
        numbers = [number for number in numbers if number in map(int, NUMBERS.split(","))]
    metas = {int(each["id"]): each for each in archive["meta"] if each["chip"] == chip}
    async with bench(dut, TensixCore(CONFIG).signature, drain=False, patience=ENGINE_PATIENCE_CYCLES) as frame:
        memory, words = frame.scoreboard("L1", 8, output="data"), frame.scoreboard("words", 32, output="executed_0")
        host = CoreHost(frame, CONFIG)
        for number in numbers:
            await frame.reset()
            run = await host.play(archived(archive, chip, number))
            trace, meta = archive[f"{chip}{number:02}_trace"].tolist(), metas[number]
            case = f"program {number}"
            for thread in range(THREADS):
                expected = [word for of, word in trace if of == thread]
                got = [word for word in run.words[thread] if word != NOP]
                assert len(got) == len(expected), f"{case}, thread {thread}: {len(got)} words, not {len(expected)}"
                for right, real in zip(expected, got, strict=True):
                    words.expect(right, case)
                    words.got(real)
            after = archive[f"{chip}{number:02}_after"]
            for place, (right, real) in enumerate(
                zip(after.tolist(), (await host.read(RESULT, after.size)).tolist(), strict=True)
            ):
                memory.expect(right, f"{case}, byte {place}")
                memory.got(real)
            host.check_accepted(case)
            times = run.of_opcode(1, MVMUL)
            dut._log.info("%s: %d cycles, %d MVMULs in %d", case, run.length, len(times), times[-1] - times[0])
            assert len(times) == meta["mvmuls"], case
            if meta["k_tiles"] == 1:
                # An MVMUL in as many cycles as the Matrix unit takes, from the first to the last.
                assert times[-1] - times[0] == (len(times) - 1) * CONFIG.unit.passes, case
