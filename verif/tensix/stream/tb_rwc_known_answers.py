"""Known answers of the RWCs: after every instruction of a program the unit's state is the archive's.

``BITPATH_KAT_DIR`` is the folder that holds them.
"""

import cocotb

from bitpath.rtl.tensix.stream.counters import CounterConfig, Rwc
from bitpath.verif.kit.bench import config_from_environment
from bitpath.verif.kit.testplan import covers
from bitpath.verif.tensix.stream.counters import Rwcs
from bitpath.verif.tensix.stream.known_counters import play_rwc_programs

CONFIG = config_from_environment(CounterConfig)


@covers("rwc.known_answers", "Another program counted")
@cocotb.test(timeout_time=10, timeout_unit="ms")
async def every_program(dut):
    """40 programs a chip, the state after each instruction."""
    await play_rwc_programs(dut, Rwc(CONFIG).signature, Rwcs(CONFIG))
