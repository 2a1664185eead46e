"""Known answers through one lane of the multiply-accumulate: BF16 matmuls measured on first-generation AIE2 silicon.

``BITPATH_KAT_DIR`` names their folder.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.golden.formats.catalogue import BF16, FP32
from bitpath.rtl.aie_ml_v2.mac.config import MacLaneConfig, MacMode
from bitpath.rtl.aie_ml_v2.mac.mac_lane import MacLane
from bitpath.verif.aie_ml_v2.mac.mac import LaneCase
from bitpath.verif.aie_ml_v2.mac.mac_lane_player import play
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.testplan import covers

CONFIG = config_from_environment(MacLaneConfig)
SIGNATURE = MacLane(CONFIG).signature


def expected(code: int) -> int:
    """NaN results are canonical here; on silicon their payload depends on the datapath."""
    return FP32.nan_code if code & FP32.sign_mask - 1 > FP32.infinity_code else code


@covers("mac_lane.known_answers", "Golden and RTL may share a misreading; silicon is independent of both")
@cocotb.test(timeout_time=1, timeout_unit="ms")
async def silicon_lanes(dut):
    """All 288 BF16 lanes measured on first-generation silicon."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "aie_silicon.npz") as archive:
        a = archive["mac_a"].reshape(-1, 4, 8).astype(int).tolist()
        b = archive["mac_b"].reshape(-1, 8, 4).astype(int).swapaxes(1, 2).tolist()
        out = archive["mac_out"].reshape(-1, 4, 4).astype(int).tolist()
    sent = [
        (LaneCase(mode=MacMode.FLOAT16, x=tuple(x), y=tuple(y), formats=(BF16, BF16)), expected(code))
        for rows, columns, results in zip(a, b, out, strict=True)
        for x, codes in zip(rows, results, strict=True)
        for y, code in zip(columns, codes, strict=True)
    ]
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await play(frame, CONFIG.numerics, sent, pauses.never(), pauses.rng("junk"))
