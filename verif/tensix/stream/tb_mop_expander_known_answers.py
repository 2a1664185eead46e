"""Known answers of the expanders: the words of the unit, through golden's replay expander, are the archive's.

``BITPATH_KAT_DIR`` is the folder that holds them.
"""

import cocotb

from bitpath.rtl.tensix.stream.expanders import MopExpander, MopExpanderConfig
from bitpath.verif.kit.bench import config_from_environment
from bitpath.verif.kit.testplan import covers
from bitpath.verif.tensix.stream.known_programs import Expanders, play_known_programs

SIGNATURE = MopExpander(config_from_environment(MopExpanderConfig)).signature


@covers("mop_expander.known_answers", "Another program expanded them")
@cocotb.test(timeout_time=10, timeout_unit="ms")
async def every_program(dut):
    """60 programs a chip behind golden's replay expander."""
    await play_known_programs(dut, SIGNATURE, Expanders.MOP)
