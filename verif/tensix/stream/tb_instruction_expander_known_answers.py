"""Known answers of the expanders: what leaves both of them is the archive's.

``BITPATH_KAT_DIR`` is the folder that holds them.
"""

import cocotb

from bitpath.rtl.tensix.stream.expanders import InstructionExpander, InstructionExpanderConfig
from bitpath.verif.kit.bench import config_from_environment
from bitpath.verif.kit.testplan import covers
from bitpath.verif.tensix.stream.known_programs import Expanders, play_known_programs

SIGNATURE = InstructionExpander(config_from_environment(InstructionExpanderConfig)).signature


@covers("instruction_expander.known_answers", "Another program expanded them")
@cocotb.test(timeout_time=10, timeout_unit="ms")
async def every_program(dut):
    """60 programs a chip."""
    await play_known_programs(dut, SIGNATURE, Expanders.INSTRUCTION)
