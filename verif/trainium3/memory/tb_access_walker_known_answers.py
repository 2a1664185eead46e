"""Known answers of access patterns through the walker: the elements at its addresses.

``BITPATH_KAT_DIR`` is the folder that holds them. What the RTL gives is compared with the archive, not with golden.
"""

import os
import re
from pathlib import Path

import cocotb
import numpy as np

from bitpath.rtl.trainium3.memory.access_walker import AccessWalker, WalkConfig, walk_address
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.packing import unpack
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.memory.access_walker import Walk

CONFIG = config_from_environment(WalkConfig)


@covers("access_walker.known_answers", "Another program computed them")
@cocotb.test(timeout_time=10, timeout_unit="ms")
async def every_pattern(dut):
    """5 access patterns over a memory of 4096 words."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "trn_core_gather.npz") as archive:
        memory = archive["ap_memory"]
        cases = [name.removesuffix("_offset") for name in archive if re.fullmatch(r"ap\d+_offset", name)]
        walks = [
            (int(archive[f"{case}_offset"]), archive[f"{case}_pattern"].tolist(), archive[f"{case}_elements"].tolist())
            for case in cases
        ]
    size = memory.itemsize.bit_length() - 1
    async with bench(dut, AccessWalker(CONFIG).signature) as frame:
        driver, board = frame.driver("i"), frame.scoreboard("elements", 8 * memory.itemsize, output="o")
        frame.monitor("o", lambda bits: board.got(int(memory[unpack(walk_address(CONFIG), bits).byte >> size])))
        for offset, pattern, elements in walks:
            pairs = [*((0, 1) for _ in range(4 - len(pattern))), *map(tuple, pattern)]
            driver.send_bits(Walk(pairs, offset, size, memory.nbytes).command(CONFIG))
            for element in elements:
                board.expect(element, f"{pairs} from {offset}")
