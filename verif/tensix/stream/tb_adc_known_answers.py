"""Known answers of the ADCs: after every instruction of a program the unit's state is the archive's.

``BITPATH_KAT_DIR`` is the folder that holds them.
"""

import cocotb

from bitpath.rtl.tensix.stream.counters import Adc, CounterConfig
from bitpath.verif.kit.bench import config_from_environment
from bitpath.verif.kit.testplan import covers
from bitpath.verif.tensix.stream.counters import AddressCounters
from bitpath.verif.tensix.stream.known_counters import play_adc_programs

CONFIG = config_from_environment(CounterConfig)


@covers("adc.known_answers", "Another program counted; the archive has neither UNPACR nor PACR")
@cocotb.test(timeout_time=10, timeout_unit="ms")
async def every_program(dut):
    """20 programs a chip, the state after each instruction."""
    await play_adc_programs(dut, Adc(CONFIG).signature, AddressCounters(CONFIG))
