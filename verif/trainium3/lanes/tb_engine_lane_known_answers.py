"""Known answers through the RTL of tensor_tensor and tensor_scalar: sums of two sources of read-add-write and of dma_compute,
and activate2's operations under copy, to FP32 and BF16.

``BITPATH_KAT_DIR`` is the folder that holds them. What the RTL gives is compared with the archives, not with golden.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.rtl.trainium3.lanes.engine_lane import EngineLane, EngineLaneConfig, Operator
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.pipeline import Pipeline
from bitpath.verif.kit.testplan import covers
from bitpath.verif.trainium3.lanes.engine_lane import Instruction, beats_of, requests

CONFIG = config_from_environment(EngineLaneConfig)
WIDTH = CONFIG.width


def row(xs, ys, own, expected, scalar=0):
    """Requests of whole beats and, for what is left, of one whose other elements are computed by the exact tier."""
    values = beats_of(xs.tolist(), ys, own, WIDTH, scalar)
    spare = len(values) * WIDTH - len(xs)
    codes = [*expected.tolist(), *(values[-1].results[WIDTH - spare :] if spare else ())]
    return requests(values, [codes[at : at + WIDTH] for at in range(0, len(codes), WIDTH)])


@covers("engine_lane.known_answers", "Another program computed them with fractions")
@cocotb.test(timeout_time=10, timeout_unit="ms")
async def sums_of_two(dut):
    """1500 sums of two sources of six dtypes; the operations of activate2's six instructions under copy."""
    sent = []
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "trn_core_rmw.npz") as archive:
        for name in ("bf16", "fp32"):
            a, b, total = (archive[f"raw_{name}_{key}"] for key in ("a", "b", "sum"))
            sent += row(b, a.tolist(), Instruction(Operator.ADD, name, name, name), total)
        for key in (each for each in archive.files if each.endswith("_formats") and len(archive[each]) == 3):
            case = key.removesuffix("_formats")
            own = Instruction(Operator.ADD, *archive[key].tolist())
            sent += row(archive[f"{case}_src0"], archive[f"{case}_src1"].tolist(), own, archive[f"{case}_dst"])
    async with bench(dut, EngineLane(CONFIG).signature, drain=False) as frame:
        await Pipeline(frame, CONFIG.pipeline.stages).sweep(sent)


@covers("engine_lane.known_answers")
@cocotb.test(timeout_time=10, timeout_unit="ms")
async def two_operators(dut):
    sent = []
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / "trn_core_act.npz") as archive:
        for number, (name, op0, op1, function, _, *reverse, _) in enumerate(archive["meta"].tolist()):
            if function != "copy":
                continue
            steps = [Operator[op.upper()] for op in (op0, op1)]
            sides = [flag == "1" for flag in reverse]
            for result, key in (("fp32", "out"), ("bf16", "out_bf16")):
                own = Instruction(steps[0], name, "fp32", result, True, sides[0], steps[1], "fp32", sides[1])
                for data, (first, second), out in zip(
                    *(archive[f"a{number}_{each}"] for each in ("data", "imm", key)), strict=True
                ):
                    sent += row(data, [int(first)] * len(data), own, out, int(second))
    async with bench(dut, EngineLane(CONFIG).signature, drain=False) as frame:
        await Pipeline(frame, CONFIG.pipeline.stages).sweep(sent)
