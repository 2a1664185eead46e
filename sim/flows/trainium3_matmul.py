"""One matmul through Trainium3: quantise, multiply in golden and on the RTL tensor engine, compare."""

import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from bitpath.golden import trainium3
from bitpath.rtl.config import to_dict
from bitpath.rtl.trainium3.config import ArrayConfig, EngineConfig
from bitpath.sim import paths
from bitpath.sim.errors import SimulationError
from bitpath.sim.flows.accuracy import accuracy
from bitpath.sim.flows.progress import shown_progress
from bitpath.sim.runner import Built, build, run
from bitpath.verif.host.trainium3_lowering import check_fits
from bitpath.verif.host.trainium3_plan_file import save_plan

FORMATS = {
    "mxfp8_e4m3": ("mxfp8_e4m3", "mxfp8_e4m3"),
    "mxfp8_e5m2": ("mxfp8_e5m2", "mxfp8_e5m2"),
    "mxfp4": ("mxfp8_e4m3", "mxfp4"),
}
"""Formats of activations and weights; with mxfp4 the weights alone have it, since QuantizeMX makes FP8 only."""

ENGINES = {
    # A whole instruction in operand memory and PSUM at once.
    "verilator": EngineConfig(
        array=ArrayConfig(rows=32, cols=8, operand_depth=4096), psum_bank_depth=2048, chain_depth=512
    ),
    "icarus": EngineConfig(array=ArrayConfig(rows=4, cols=4)),
}
"""The engine that each simulator runs: Icarus is some hundred times slower."""

RUN_SECONDS = 3600


@dataclass(frozen=True, eq=False)
class Outcome:
    """Both results, float32 [M, N], and the record for the report."""

    rtl: np.ndarray
    golden: np.ndarray
    record: dict[str, Any]


def formats_of(format_name: str) -> tuple[str, str]:
    """Formats of activations and weights; ValueError names the known ones."""
    if format_name not in FORMATS:
        raise ValueError(f"format is {format_name!r}; {', '.join(FORMATS)} are allowed")
    return FORMATS[format_name]


def engine_for(simulator: str, *, rows: int | None = None, cols: int | None = None) -> EngineConfig:
    """The engine that the simulator runs, with another array where a size is given."""
    engine = ENGINES[simulator]
    sizes = {name: size for name, size in (("rows", rows), ("cols", cols)) if size is not None}
    return replace(engine, array=replace(engine.array, **sizes))


def plan(a: np.ndarray, b: np.ndarray, format_name: str, engine: EngineConfig) -> list[trainium3.MatmulInstruction]:
    """The instructions that multiply float32 [M, K] by [K, N] on the engine; quick, so that mistakes show at once.

    Raises
    ------
    ValueError : an unknown format, operands that `trainium3.plan_matmul` refuses, or an engine too small for them.
    """
    a_format, b_format = formats_of(format_name)
    instructions = trainium3.plan_matmul(a, b, a_format=a_format, b_format=b_format)
    for each in instructions:
        check_fits(engine, each.stationary.shape[0], (each.stationary.shape[1], each.moving.shape[1]))
    return instructions


def run_matmul(
    console: Console,
    a: np.ndarray,
    b: np.ndarray,
    format_name: str,
    instructions: list[trainium3.MatmulInstruction],
    simulator: str,
    engine: EngineConfig,
) -> Outcome:
    """Multiply float32 [M, K] by [K, N] both ways, by the instructions of :func:`plan`.

    Raises
    ------
    SimulationError : the simulation failed.
    """
    a_format, b_format = formats_of(format_name)
    with console.status(f"building the engine for {simulator}, once"):
        built = build("tensor_engine", engine, simulator)
    start = time.monotonic()
    with console.status("golden"):
        golden = trainium3.run_plan(instructions, numerics=engine.array.dot.numerics)
    rtl, cycles = _simulate(console, built, instructions, format_name)
    golden, rtl = (result[: a.shape[0], : b.shape[1]] for result in (golden, rtl))
    if not cycles:
        raise SimulationError(f"{built.top} was never busy: it did not take the instructions")
    with np.errstate(invalid="ignore", over="ignore"):  # infinities are operands like others
        reference = a.astype(np.float64) @ b.astype(np.float64)
    macs = a.shape[0] * a.shape[1] * b.shape[1]
    record = {
        "machine": "trainium3",
        "flow": "matmul",
        "format": format_name,
        "config": to_dict(engine) | {"a_format": a_format, "b_format": b_format, "shape": [*a.shape, b.shape[1]]},
        "digest": built.digest,
        "sim": simulator,
        "outputs_compared": rtl.size,
        "mismatches": int((rtl.view(np.uint32) != golden.view(np.uint32)).sum()),
        "macs": macs,
        "cycles": cycles,
        "mac_per_cycle": round(macs / cycles, 1),
        "wall_seconds": round(time.monotonic() - start, 2),
        "build_seconds": round(built.seconds, 2),
        **accuracy(rtl, reference),
    }
    return Outcome(rtl, golden, record)


def _simulate(
    console: Console, built: Built, instructions: list[trainium3.MatmulInstruction], format_name: str
) -> tuple[np.ndarray, int]:
    """What PSUM held, float32, padded as the plan is, and the cycles for which the engine was busy."""
    paths.runs().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=paths.runs(), prefix="plan-") as folder:
        files = {name: Path(folder) / file for name, file in _FILES.items()}
        save_plan(files["BITPATH_PLAN"], instructions)
        with shown_progress(console, f"{format_name} on {built.top}", files["BITPATH_PROGRESS"]):
            run(
                built,
                "bitpath.verif.tb.tb_tensor_engine_run",
                seed=0,
                # What comes out is compared here, with all of the plan's results.
                min_compared=0,
                env={name: str(path) for name, path in files.items()},
                timeout=RUN_SECONDS,
            )
        with np.load(files["BITPATH_RESULT"]) as result:
            return result["output"].view(np.float32), int(result["cycles"])


_FILES = {"BITPATH_PLAN": "plan.npz", "BITPATH_RESULT": "result.npz", "BITPATH_PROGRESS": "progress.json"}
"""Files between this process and the simulator's."""
