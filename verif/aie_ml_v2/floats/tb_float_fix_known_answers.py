"""Known answers of FP32 to integers with a binary point through the RTL.

``BITPATH_KAT_DIR`` is the folder that holds them. Results of the RTL are compared with the archive's, flags with golden's.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.verif.aie_ml_v2.floats.tb_float_fix import BENCH, FloatFixAsk
from bitpath.verif.kit.testplan import covers


@covers("float_fix.known_answers", "Another program computed them with fractions")
@cocotb.test(timeout_time=10, timeout_unit="ms")
async def every_shift(dut):
    """Every number of the archive, at its shift."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "aie_tile_convert.npz") as archive:
        given, shifts, results = (archive[f"float_{part}"] for part in ("bits", "shift", "int32"))
    requests = []
    for shift in np.unique(shifts).tolist():
        here, ask = shifts == shift, FloatFixAsk(shift)
        codes = given[here].view(np.uint32)
        requests += ask.expecting(codes, results[here], ask.golden(codes)[1], BENCH.config.lanes)
    await BENCH.send(dut, requests)
