"""Known answers of descriptor generation from HBM to SBUF.

``BITPATH_KAT_DIR`` is the folder that holds them. What the RTL gives is compared with the archive, not with golden.
"""

import os
import re
from pathlib import Path

import cocotb
import numpy as np

from bitpath.rtl.trainium3.memory.dge import Dge, DgeConfig, dge_descriptor
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.packing import pack
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.memory.dge import Copy, Side

CONFIG = config_from_environment(DgeConfig)


@covers("dge.cut")
@covers("dge.known_answers", "Another program computed them")
@cocotb.test(timeout_time=10, timeout_unit="ms")
async def every_transfer(dut):
    """7 transfers from HBM to SBUF, 1,871 descriptors."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "trn_core_dma.npz") as archive:
        names = [name.removesuffix("_command") for name in archive if re.fullmatch(r"e\d+_command", name)]
        parts = ("command", "hbm_pattern", "sbuf_pattern", "descriptors")
        cases = [[archive[f"{name}_{part}"].tolist() for part in parts] for name in names]
    layout = dge_descriptor(CONFIG)
    async with bench(dut, Dge(CONFIG).signature) as frame:
        driver, board = frame.driver("i"), frame.check_stream("o")
        for (size, offset, start, sbuf_offset), (between, *hbm), sbuf, rows in cases:
            step, partitions = between
            source, destination = Side(hbm, offset, partition_step=step), Side(sbuf, sbuf_offset, start)
            driver.send_bits(Copy(source, destination, partitions, size.bit_length() - 1).command(CONFIG))
            for i, (engine, byte, partition, place, length) in enumerate(rows):
                fields = {
                    "engine": engine,
                    "source": {"sbuf": 0, "byte": byte},
                    "destination": {"sbuf": 1, "byte": partition << CONFIG.partition_bits | place},
                    "length": length,
                    "first": i == 0,
                    "last": i == len(rows) - 1,
                }
                board.expect(pack(layout, fields))
