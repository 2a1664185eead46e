"""Known answers of all pairs of dtypes through the copy lanes of both engines; words are compared with the archive, not with
golden.

``BITPATH_KAT_DIR`` is the folder that holds them.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.rtl.trainium3.lanes.copy_lanes import CopyConfig, CopyLanes, Engine
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.dma.dma_cast import PAIRS
from bitpath.verif.trainium3.lanes.copy_lanes import Lanes, Row

CONFIG = config_from_environment(CopyConfig)


@covers("copy_lanes.known_answers", "Another author derived them independently")
@cocotb.test(timeout_time=10, timeout_unit="ms")
async def every_pair(dut):
    """30 codes in each of the 169 pairs, on both engines."""
    async with bench(dut, CopyLanes(CONFIG).signature) as frame:
        lanes = Lanes(frame)
        with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "trn_core_rmw.npz") as archive:
            for pair in PAIRS:
                codes, expected = archive[f"cast_{pair[0]}"], archive["cast_{}_{}".format(*pair)]
                for engine in Engine:
                    lanes.send(Row(codes, pair, engine, expected=expected))
        await lanes.all_taken()
