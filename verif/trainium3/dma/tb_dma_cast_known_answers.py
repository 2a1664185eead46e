"""Known answers of all pairs of dtypes through the RTL's cast; results are compared with the archive, not with golden.

``BITPATH_KAT_DIR`` is the folder that holds them.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.rtl.trainium3.dma.dma_cast import DmaCast, DmaCastConfig
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.pipeline import Pipeline
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.dma.dma_cast import PAIRS, requests

CONFIG = config_from_environment(DmaCastConfig)


@covers("dma_cast.known_answers", "Another author derived them independently")
@cocotb.test(timeout_time=10, timeout_unit="ms")
async def every_pair(dut):
    """30 codes in each of the 169 pairs."""
    sent = []
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "trn_core_rmw.npz") as archive:
        for pair in PAIRS:
            codes, expected = archive[f"cast_{pair[0]}"], archive["cast_{}_{}".format(*pair)]
            sent += requests(codes, pair, CONFIG.beat_bytes, expected)
    async with bench(dut, DmaCast(CONFIG).signature, drain=False) as frame:
        await Pipeline(frame, CONFIG.pipeline.stages).sweep(sent)
