"""Conversions to bfp16ebs8 that XDNA2 silicon made, through the RTL; ``BITPATH_KAT_DIR`` is the folder that holds them."""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.golden.aie_ml_v2.declarations.codes import BFP16EBS8, RoundingCode
from bitpath.rtl.aie_ml_v2.convert.mx_convert import MxConvert, MxConvertConfig
from bitpath.verif.aie_ml_v2.convert.mx_convert import Conversion, Converted
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.pipeline import Pipeline, Request
from bitpath.verif.kit.testplan import covers

UNIT = MxConvert(config_from_environment(MxConvertConfig))


@covers("mx_convert.silicon", "Silicon of the machine that the preset models")
@cocotb.test(timeout_time=1, timeout_unit="ms")
async def silicon(dut):
    """Every conversion to bfp16ebs8 that was measured on XDNA2, in ten modes."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "silicon_xdna2_convert.npz") as answers:
        columns = [answers[name].tolist() for name in ("x_bits", "mode", "exponent", "codes")]
    requests = []
    for words, mode, exponent, codes in zip(*columns, strict=True):
        given = Conversion(tuple(words), BFP16EBS8, RoundingCode(mode))
        requests.append(Request(given.payload, Converted(BFP16EBS8, exponent, 0, tuple(codes), b"").bits, given.shown))
    async with bench(dut, UNIT.signature, drain=False) as frame:
        await Pipeline(frame, UNIT.latency).sweep(requests)
