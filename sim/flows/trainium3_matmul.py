"""One matmul through Trainium3: quantise, multiply in golden and on the RTL tensor engine, compare."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from bitpath.golden import trainium3
from bitpath.rtl.trainium3.array.config import ArrayConfig
from bitpath.rtl.trainium3.engine.config import EngineConfig
from bitpath.sim.flows.matmul import MatmulJob
from bitpath.verif.trainium3.engine.lowering import check_fits
from bitpath.verif.trainium3.engine.plan_file import save_plan

FORMATS = {
    "mxfp8_e4m3": ("mxfp8_e4m3", "mxfp8_e4m3"),
    "mxfp8_e5m2": ("mxfp8_e5m2", "mxfp8_e5m2"),
    "mxfp4": ("mxfp8_e4m3", "mxfp4"),
}
"""Formats of activations and weights; with mxfp4 the weights alone have it, since QuantizeMX makes FP8 only."""
FORMAT_NAMES = ", ".join(FORMATS)
SIZES = ("rows", "cols")
"""What `engine_for` takes."""

ENGINES = {
    # A whole instruction in operand memory and PSUM at once.
    "verilator": EngineConfig(
        array=ArrayConfig(rows=32, cols=8, operand_depth=4096), psum_bank_depth=2048, chain_depth=512
    ),
    "icarus": EngineConfig(array=ArrayConfig(rows=4, cols=4)),
}
"""The engine that each simulator runs: Icarus is some hundred times slower."""


def formats_of(format_name: str) -> tuple[str, str]:
    """Formats of activations and weights; ValueError names the known ones."""
    if format_name not in FORMATS:
        raise ValueError(f"format is {format_name!r}; trainium3 has {FORMAT_NAMES}")
    return FORMATS[format_name]


def engine_for(simulator: str, *, rows: int | None = None, cols: int | None = None) -> EngineConfig:
    """The engine that the simulator runs, with another array where a size is given."""
    engine = ENGINES[simulator]
    sizes = {name: size for name, size in (("rows", rows), ("cols", cols)) if size is not None}
    return replace(engine, array=replace(engine.array, **sizes))


class Matmul(MatmulJob):
    """A product quantised and cut into instructions; made at once, so that mistakes show before any simulation.

    Raises
    ------
    ValueError : an unknown format, operands that `trainium3.plan_matmul` refuses, or an engine too small for them.
    """

    machine = "trainium3"
    unit = "tensor_engine"
    bench = "bitpath.verif.trainium3.engine.tb_tensor_engine_run"

    def __init__(self, a: np.ndarray, b: np.ndarray, format_name: str, engine: EngineConfig, simulator: str):
        super().__init__(a, b, format_name, engine, simulator)
        self.formats = formats_of(format_name)
        self.instructions = trainium3.plan_matmul(a, b, a_format=self.formats[0], b_format=self.formats[1])
        for each in self.instructions:
            check_fits(engine, each.stationary.shape[0], (each.stationary.shape[1], each.moving.shape[1]))

    @property
    def peak(self) -> float:
        array = self.engine.array
        return array.rows * array.cols * array.dot.numerics.terms

    def settings(self) -> dict[str, Any]:
        return dict(zip(("a_format", "b_format"), self.formats, strict=True))

    def save_plan(self, path: Path) -> None:
        save_plan(path, self.instructions)

    def golden(self) -> np.ndarray:
        return trainium3.run_plan(self.instructions, numerics=self.engine.array.dot.numerics)

    def matrix(self, output: np.ndarray) -> np.ndarray:
        return output.view(np.float32)
