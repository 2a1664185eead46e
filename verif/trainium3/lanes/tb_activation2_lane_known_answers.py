"""Known answers of Activation2 through the RTL: rows as FP32, their values and reductions.

``BITPATH_KAT_DIR`` is the folder that holds them. What the RTL gives is compared with the archive, not with golden.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.golden.formats.catalogue import BF16, FP16, FP32
from bitpath.golden.scalar.fp32 import convert
from bitpath.rtl.trainium3.lanes.activation2_lane import (
    Activation2Config,
    Activation2Lane,
    Function,
    ReduceCommand,
    Reduction,
)
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.pipeline import Pipeline
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.lanes.activation2_lane import PAIRS, Value, requests, results, row

CONFIG = config_from_environment(Activation2Config)
UNIT = Activation2Lane(CONFIG)
FORMATS = {"bf16": BF16, "fp16": FP16, "fp32": FP32}
OPERATIONS = {pair: operations for operations, pair in PAIRS.items()}


@covers("activation2_lane.known_answers", "Another program computed them with fractions")
@cocotb.test(timeout_time=10, timeout_unit="ms")
async def every_row(dut):
    """30 instructions on rows of nine values: every value and every reduction."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "trn_core_act.npz") as archive:
        files = dict(archive)
    sent = []
    for number, case in enumerate(files["meta"].tolist()):
        name, op0, op1, function, reduction, *reverse, parameter = case
        data, immediates, out, reduced = (files[f"a{number}_{key}"] for key in ("data", "imm", "out", "reduce"))
        for p, codes in enumerate(data.tolist()):
            first = Value(
                0, OPERATIONS[op0, op1], Function[function.upper()], Reduction[reduction.upper()],
                ReduceCommand.RESET_REDUCE, "1" in reverse, *immediates[p].tolist(), int(parameter),
            )  # fmt: skip
            beats = row([convert(code, FORMATS[name], FP32) for code in codes], first)
            # The registers within a row are the exact tier's; the archive has the last.
            registers = [register for _, register in results(beats)]
            assert registers[-1] == reduced[p, 0]
            sent += requests(beats, list(zip(out[p].tolist(), registers, strict=True)))
    async with bench(dut, UNIT.signature, drain=False) as frame:
        await Pipeline(frame, UNIT.latency).sweep(sent)
