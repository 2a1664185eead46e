"""Known answers of the Tensix Matrix unit through the dot product: MVMUL and ELWMUL, ELWADD, ELWSUB.

``BITPATH_KAT_DIR`` is their folder. ``BITPATH_CASES`` is the number of outputs to compare for each instruction.
"""

import os
from pathlib import Path

import cocotb
import numpy as np

from bitpath.golden.tensix.declarations.formats import BLOCK_ROWS, COLUMNS, Format, Style
from bitpath.rtl.tensix.dot.dot16 import Dot16
from bitpath.rtl.tensix.dot.layouts import Dot16Config
from bitpath.verif.kit import pauses
from bitpath.verif.kit.bench import bench, config_from_environment
from bitpath.verif.kit.pipeline import Pipeline, Request
from bitpath.verif.kit.testplan import covers
from bitpath.verif.tensix.dot.dot import DotCase, Mode, Operation, block_payloads, lone

CONFIG = config_from_environment(Dot16Config)
STAGES = CONFIG.pipeline.stages
SIGNATURE = Dot16(CONFIG).signature
SAMPLE = int(os.environ.get("BITPATH_CASES", "8"))
OUTPUTS = BLOCK_ROWS * COLUMNS
LIMIT = {"timeout_time": 100, "timeout_unit": "ms"}


def archive(name: str) -> dict[str, np.ndarray]:
    """Return the arrays of one archive."""
    with np.load(Path(os.environ["BITPATH_KAT_DIR"]) / name) as file:
        return dict(file)


def mode_of(arrays: dict[str, np.ndarray], case: int) -> Mode:
    """Return style and width of Dst of an instruction."""
    return Mode(Style(str(arrays["style_names"][arrays["style"][case]])), bool(arrays["use32"][case]))


def sampled(case: int) -> list[int]:
    """Return the outputs of an instruction to compare, row by row."""
    return sorted(pauses.rng(f"sample of {case}").sample(range(OUTPUTS), min(SAMPLE, OUTPUTS)))


@covers("dot16.known_answers", "Golden and RTL may share a misreading; the answers come from neither")
@cocotb.test(**LIMIT)
async def mvmul(dut):
    """A sample of the simulator's known answers for MVMUL, ELWMUL, ELWADD and ELWSUB."""
    arrays = archive("tensix_mvmul.npz")
    sent = []
    for case in range(len(arrays["style"])):
        payloads = block_payloads(
            CONFIG.numerics,
            mode_of(arrays, case),
            int(arrays["phase"][case]),
            arrays["dst_in"][case].tolist(),
            arrays["srcB"][case].tolist(),
            arrays["srcA"][case].T.tolist(),
            (Format(arrays["fmtA"][case]), Format(arrays["fmtB"][case])),
        )
        answers = arrays["dst_out"][case].ravel().tolist()
        kind = str(arrays["kind_names"][arrays["kind"][case]])
        sent += [Request(payloads[k], answers[k], f"case {case}, output {k}: {kind}") for k in sampled(case)]
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, STAGES).sweep(sent)


@covers("dot16.known_answers")
@cocotb.test(**LIMIT)
async def elementwise(dut):
    arrays = archive("tensix_elw.npz")
    operations = {"ELWMUL": Operation.MULTIPLY, "ELWADD": Operation.ADD, "ELWSUB": Operation.SUBTRACT}
    sent = []
    for case in range(len(arrays["style"])):
        name = str(arrays["op_names"][arrays["op"][case]])
        if name not in operations:
            continue
        phase = int(arrays["phase"][case])
        # Without accumulation, which ELWMUL always has, Dst counts as 0.
        accumulates = name == "ELWMUL" or bool(arrays["accum"][case])
        for k in sampled(case):
            where = (case, *divmod(k, COLUMNS))
            dst, b, a = (int(arrays[each][where]) for each in ("dst_in", "srcB", "srcA"))
            dst = dst if accumulates else 0
            request = DotCase(mode_of(arrays, case), phase, lone(a), lone(b), dst, operations[name])
            payload = request.payload(CONFIG.numerics)
            sent.append(Request(payload, int(arrays["dst_out"][where]), f"{name}, case {case}, output {k}"))
    async with bench(dut, SIGNATURE, drain=False) as frame:
        await Pipeline(frame, STAGES).sweep(sent)
