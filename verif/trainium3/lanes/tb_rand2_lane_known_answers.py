"""Known answers of rand2 through the RTL: words of two partitions to FP32, BF16 and INT8.

``BITPATH_KAT_DIR`` is the folder that holds them. What the RTL gives is compared with the archive, not with golden.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.rtl.trainium3.lanes.rand2_lane import Rand2Config, Rand2Lane
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.pipeline import Pipeline
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.lanes.rand2_lane import beats_of, requests

CONFIG = config_from_environment(Rand2Config)
LIMITS = {"fp32": "rand2_min_max", "bf16": "rand2_min_max", "int8": "rand2_int8_min_max"}


@covers("rand2_lane.known_answers", "Another program computed them with fractions")
@cocotb.test(timeout_time=1, timeout_unit="ms")
async def every_word(dut):
    """48 words to FP32, BF16 and INT8."""
    sent = []
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "trn_core_act.npz") as archive:
        for dtype, limits in LIMITS.items():
            values = beats_of(archive["rand2_words"], *archive[limits].tolist(), dtype)
            sent += requests(values, CONFIG.width, archive[f"rand2_{dtype}"].reshape(-1, 4))
    async with bench(dut, Rand2Lane(CONFIG).signature, drain=False) as frame:
        await Pipeline(frame, CONFIG.pipeline.stages).sweep(sent)
