"""Known answers of the expanders: the words of golden's MOP expander, through the unit, are the archive's.

``BITPATH_KAT_DIR`` is the folder that holds them.
"""

import cocotb

from bitpath.rtl.tensix.stream.expanders import ReplayExpander, ReplayExpanderConfig
from bitpath.verif.kit.bench import config_from_environment
from bitpath.verif.kit.testplan import covers
from bitpath.verif.tensix.stream.known_programs import Expanders, play_known_programs

SIGNATURE = ReplayExpander(config_from_environment(ReplayExpanderConfig)).signature


@covers("replay_expander.known_answers", "Another program expanded them")
@cocotb.test(timeout_time=10, timeout_unit="ms")
async def every_program(dut):
    """60 programs a chip behind golden's MOP expander."""
    await play_known_programs(dut, SIGNATURE, Expanders.REPLAY)
