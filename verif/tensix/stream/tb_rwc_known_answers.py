"""Known answers of the RWCs: after every instruction of a program the unit's state is the archive's.

``BITPATH_KAT_DIR`` is the folder that holds them.
"""

import cocotb

from bitpath.rtl.tensix.stream.config import CounterConfig
from bitpath.rtl.tensix.stream.rwc import Rwc
from bitpath.verif.kit.bench import config_from_environment
from bitpath.verif.tensix.stream.counters import Rwcs
from bitpath.verif.tensix.stream.known_counters import play_rwc_programs

CONFIG = config_from_environment(CounterConfig)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def every_program(dut):
    await play_rwc_programs(dut, Rwc(CONFIG).signature, Rwcs(CONFIG))
