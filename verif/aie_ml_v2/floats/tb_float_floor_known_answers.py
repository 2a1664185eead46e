"""Known answers of BF16 to INT32 through the RTL.

``BITPATH_KAT_DIR`` is the folder that holds them. Results of the RTL are compared with the archive's, not with golden; flags
follow from the archive's numbers.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.verif.aie_ml_v2.floats.tb_float_floor import BENCH, FloorAsk
from bitpath.verif.kit.testplan import covers


@covers("float_floor.known_answers", "Another program computed them with fractions")
@cocotb.test(timeout_time=10, timeout_unit="ms")
async def every_code_and_shift(dut):
    """Every code of the archive with eight shifts."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "aie_tile_convert.npz") as archive:
        codes, shifts, integers = (archive[f"bf16_{name}"] for name in ("bits", "shift", "int32"))
    requests = []
    for shift, results in zip(shifts.tolist(), integers, strict=True):
        ask = FloorAsk(shift)
        _, flags = ask.golden(codes)
        requests += ask.expecting(codes, results, flags, BENCH.config.lanes)
    await BENCH.send(dut, requests)
