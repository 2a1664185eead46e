"""Conversions of FP32 to BF16 that were measured on first-generation silicon, in ten rounding codes, through the RTL.

``BITPATH_KAT_DIR`` is the folder that holds them. Codes of the RTL are compared with the archive's, flags with golden's.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import RoundingCode
from bitpath.golden.formats.catalogue import BF16
from bitpath.verif.aie_ml_v2.floats.tb_float_narrow import BENCH, NarrowAsk
from bitpath.verif.kit.testplan import covers


@covers("float_narrow.silicon", "Silicon decides the rounding codes")
@cocotb.test(timeout_time=10, timeout_unit="ms")
async def silicon(dut):
    """96 conversions to BF16 that were measured on first-generation silicon, in ten rounding codes."""
    requests = []
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "aie_silicon.npz") as archive:
        codes = archive["f32_bits"]
        for rounding in RoundingCode:
            ask = NarrowAsk(BF16, rounding)
            _, flags = ask.golden(codes)
            requests += ask.expecting(codes, archive[f"bf16_bits_rnd{rounding.value}"], flags, BENCH.config.lanes)
    await BENCH.send(dut, requests)
